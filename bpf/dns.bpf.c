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
	struct __sk_buff *skb;
	struct session_slot *slot;
	struct socket_state *state;
	struct socket_ends ends;
	__u64 cookie;
	__u32 protocol;
	__u32 egress;
	__u32 at;   /* in the packet */
	__u32 left; /* bytes from there to the end of what is to be sent */
	__u32 full_length;
	__u32 sequence, tcp_flags;
};

/* Who asks, where that is certain: a datagram leaves in the context of its sender. All else can
 * happen while any process runs and is the socket's owner's. */
static __always_inline void fill_asker(const struct dns_piece *piece, struct wire_head *head)
{
	struct session_slot *slot = piece->slot;
	struct socket_state *state = piece->state;

	if (piece->egress && piece->protocol == IPPROTO_UDP)
		fill_sender(slot, head);
	else if (state)
		fill_owner(state, head);
}

/* Send what is left, @room bytes at most; a constant, because a ring gives room in constants. */
static __always_inline void emit_piece(const struct dns_piece *piece, const __u32 room)
{
	struct wire_dns_packet *r;
	__u32 length = piece->left, last;

	r = emit_small(piece->slot, WIRE_KIND_dns_packet, WIRE_CLASS_dns, sizeof(*r) + room);
	if (!r)
		return;
	ZERO_FIXED(r);
	fill_asker(piece, &r->head);
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
	} else if (bpf_skb_load_bytes(piece->skb, piece->at, r->tails, last + 1)) {
		r->head.flags |= WIRE_FLAG_FAULT;
		length = 0;
	}
	r->payload_length = length;
	r->padding_length = room - length;
	emit_small_end(piece->slot, r);
}

static __always_inline void emit_sized(const struct dns_piece *piece)
{
	if (piece->left <= 64)
		emit_piece(piece, 64);
	else if (piece->left <= 256)
		emit_piece(piece, 256);
	else if (piece->left <= 1280)
		emit_piece(piece, 1280);
	else
		emit_piece(piece, PIECE_MAX);
}

/* Of a segment's flags SYN belongs to its first piece, FIN and RST to its last. */
static long next_piece(__u32 index, void *context)
{
	struct dns_piece *piece = context;
	__u32 flags = piece->tcp_flags;

	piece->full_length = piece->left;
	if (piece->left > PIECE_MAX) {
		piece->full_length = PIECE_MAX;
		piece->tcp_flags = flags & ~(TCP_FIN | TCP_RST);
	}
	emit_sized(piece);
	piece->tcp_flags = flags & ~TCP_SYN;
	piece->at += piece->full_length;
	piece->sequence += piece->full_length + (flags & TCP_SYN ? 1 : 0);
	piece->left -= piece->full_length;
	return piece->left == 0;
}

/* A datagram is one record, cut if need be; a segment as many as it takes. */
static __always_inline void emit_packet(struct dns_piece *piece)
{
	if (piece->protocol == IPPROTO_UDP)
		emit_sized(piece);
	else if (piece->left || (piece->tcp_flags & (TCP_FIN | TCP_SYN | TCP_RST)))
		bpf_loop(PIECES_MAX, next_piece, piece, 0);
}

static __always_inline int take_packet(struct __sk_buff *skb, bool egress)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;
	struct dns_piece piece = {.skb = skb, .egress = egress};
	struct packet p = {};
	__u64 session;

	if (!sk)
		return PASS;
	/* Most packets are TCP to other ports; the socket says so without a look inside. */
	if (is_tcp(sk) && sk->dst_port != bpf_htons(DNS_PORT))
		return PASS;
	if (!packet_read(skb, &p) || (egress ? p.to_port : p.from_port) != DNS_PORT ||
	    p.protocol == IPPROTO_UDPLITE)
		return PASS;
	session = bpf_skb_ancestor_cgroup_id(skb, session_level);
	piece.slot = bpf_map_lookup_elem(&sessions, &session);
	if (!piece.slot)
		return PASS;
	piece.state = bpf_sk_storage_get(&socket_states, sk, 0, 0);
	piece.cookie = bpf_get_socket_cookie(skb);
	piece.protocol = p.protocol;
	piece.at = p.at;
	piece.left = piece.full_length = p.length;
	piece.sequence = p.sequence;
	piece.tcp_flags = p.tcp_flags;
	piece.ends.family = sk->family;
	packet_address(&p, egress ? p.from : p.to, sk->family, piece.ends.src);
	packet_address(&p, egress ? p.to : p.from, sk->family, piece.ends.dst);
	piece.ends.src_port = egress ? p.from_port : p.to_port;
	piece.ends.dst_port = DNS_PORT;
	if (egress && p.protocol == IPPROTO_UDP && piece.state) {
		struct wire_head sender = {};

		fill_sender(piece.slot, &sender);
		own_socket(piece.state, &sender, session);
	}
	emit_packet(&piece);
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
