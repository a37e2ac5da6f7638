// SPDX-License-Identifier: GPL-2.0
/*
 * DNS as it passes the client's socket: everything to port 53 on the way out, everything from port
 * 53 on the way in. A server inside the session has the ports the other way round, so an exchange
 * on loopback is seen once. Joining and parsing are left to user space.
 */
#include "packet.h"

#define PASS 1
#define DNS_PORT 53
#define PIECE_MAX 4096
#define PIECES_MAX 64 /* of one TCP segment as the stack hands it over */
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

/* One record in the making. */
struct dns_piece {
	struct wire_head who; /* the fields that say who acted */
	struct socket_ends ends;
	__u64 cookie;
	__u32 protocol;
	__u32 egress;
	__u32 at;   /* in the packet */
	__u32 left; /* bytes from there to the end of what is to be sent */
	__u32 full_length;
	__u32 sequence, tcp_flags;
	__u32 reserved;
};

struct dns_walk {
	struct __sk_buff *skb;
	struct session_slot *slot;
	struct dns_piece piece;
};

static __always_inline void copy_who(struct wire_head *to, const struct wire_head *who)
{
	to->start_ns = who->start_ns;
	to->cgroup = who->cgroup;
	to->pid = who->pid;
	to->tid = who->tid;
	to->ns_pid = who->ns_pid;
	to->flags = who->flags;
}

/* Send what is left, @room bytes at most; a constant, because a ring gives room in constants. */
static __always_inline void emit_piece(struct __sk_buff *skb, const struct session_slot *slot,
				       const struct dns_piece *piece, const __u32 room)
{
	struct wire_dns_packet *r;
	__u32 length = piece->left, last;

	r = emit_small(slot, WIRE_KIND_dns_packet, WIRE_CLASS_dns, sizeof(*r) + room);
	if (!r)
		return;
	ZERO_FIXED(r);
	copy_who(&r->head, &piece->who);
	r->cookie = piece->cookie;
	PUT_ENDS(r, &piece->ends);
	r->protocol = piece->protocol;
	r->egress = piece->egress;
	r->tcp_sequence = piece->sequence;
	r->tcp_flags = piece->tcp_flags;
	r->full_length = piece->full_length;
	if (length > room)
		length = room;
	last = length - 1;
	BARRIER_VAR(last); /* so that the verifier of 6.1 sees both bounds */
	if (last >= room) {
		length = 0;
	} else if (bpf_skb_load_bytes(skb, piece->at, r->tails, last + 1)) {
		r->head.flags |= WIRE_FLAG_FAULT;
		length = 0;
	}
	r->payload_length = length;
	r->padding_length = room - length;
	emit_small_end(slot, r);
}

SHARED int emit_sized(struct __sk_buff *skb, const struct session_slot *slot,
		      const struct dns_piece *piece)
{
	if (!slot || !piece)
		return 0;
	if (piece->left <= 64)
		emit_piece(skb, slot, piece, 64);
	else if (piece->left <= 256)
		emit_piece(skb, slot, piece, 256);
	else if (piece->left <= 1280)
		emit_piece(skb, slot, piece, 1280);
	else
		emit_piece(skb, slot, piece, PIECE_MAX);
	return 0;
}

/*
 * A datagram is one record, cut if need be; a segment as many as it takes. Of a segment's flags SYN
 * belongs to its first piece, FIN and RST to its last.
 */
static long next_piece(__u32 index, void *context)
{
	struct dns_walk *walk = context;
	struct dns_piece *piece = &walk->piece;
	__u32 flags = piece->tcp_flags, length = piece->left;

	if (piece->protocol == IPPROTO_TCP && length > PIECE_MAX) {
		length = PIECE_MAX;
		piece->tcp_flags = flags & ~(TCP_FIN | TCP_RST);
	}
	piece->full_length = length;
	emit_sized(walk->skb, walk->slot, piece);
	piece->tcp_flags = flags & ~TCP_SYN;
	piece->at += length;
	piece->sequence += length + (flags & TCP_SYN ? 1 : 0);
	piece->left -= length;
	return piece->left == 0;
}

/* Who asks, where that is certain: a datagram leaves in the context of its sender, who owns the
 * socket from now on. All else can happen while any process runs and is the owner's. */
static __always_inline void fill_asker(struct dns_walk *walk, struct socket_state *state,
				       __u64 session)
{
	struct dns_piece *piece = &walk->piece;

	if (piece->egress && piece->protocol == IPPROTO_UDP) {
		fill_sender(walk->slot, &piece->who);
		if (state)
			own_socket(state, &piece->who, session);
	} else if (state) {
		fill_owner(state, &piece->who);
	}
}

static __always_inline void fill_piece(struct dns_piece *piece, const struct packet *p,
				       struct bpf_sock *sk)
{
	bool egress = piece->egress;

	piece->protocol = p->protocol;
	piece->at = p->at;
	piece->left = p->length;
	piece->sequence = p->sequence;
	piece->tcp_flags = p->tcp_flags;
	piece->ends.family = sk->family;
	packet_address(p, egress ? p->from : p->to, sk->family, piece->ends.src);
	packet_address(p, egress ? p->to : p->from, sk->family, piece->ends.dst);
	piece->ends.src_port = egress ? p->from_port : p->to_port;
	piece->ends.dst_port = DNS_PORT;
}

static __always_inline int take_packet(struct __sk_buff *skb, bool egress)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;
	struct dns_walk walk = {.skb = skb, .piece.egress = egress};
	struct packet p = {};
	__u64 session;

	if (!sk)
		return PASS;
	/* Most packets are TCP to other ports; the socket says so without a look inside. */
	if (is_tcp(sk) && sk->dst_port != bpf_htons(DNS_PORT))
		return PASS;
	if (!packet_read(skb, &p) || (egress ? p.to_port : p.from_port) != DNS_PORT)
		return PASS;
	if (p.protocol != IPPROTO_UDP &&
	    (p.protocol != IPPROTO_TCP ||
	     (p.length == 0 && !(p.tcp_flags & (TCP_FIN | TCP_SYN | TCP_RST)))))
		return PASS;
	session = bpf_skb_ancestor_cgroup_id(skb, session_level);
	walk.slot = bpf_map_lookup_elem(&sessions, &session);
	if (!walk.slot)
		return PASS;
	walk.piece.cookie = bpf_get_socket_cookie(skb);
	fill_piece(&walk.piece, &p, sk);
	fill_asker(&walk, bpf_sk_storage_get(&socket_states, sk, 0, 0), session);
	bpf_loop(PIECES_MAX, next_piece, &walk, 0);
	return PASS;
}

/* Since 4.10, and in one go with a socket's cookie since 4.12. */
SEC("cgroup_skb/egress")
int on_dns_out(struct __sk_buff *skb)
{
	return take_packet(skb, true);
}

SEC("cgroup_skb/ingress")
int on_dns_in(struct __sk_buff *skb)
{
	return take_packet(skb, false);
}
