// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: what went through their sockets, and one record for each that goes to a peer which the
 * socket is not connected to. TCP counts its own bytes.
 */
#include "packet.h"

#define PASS 1

/* Whose packet it is; NULL: not a session's, or TCP. */
static __always_inline struct session_slot *session_of_datagram(struct __sk_buff *skb,
								struct bpf_sock *sk)
{
	__u64 session;

	if (!sk || is_tcp(sk))
		return NULL;
	session = bpf_skb_ancestor_cgroup_id(skb, session_level);
	return bpf_map_lookup_elem(&sessions, &session);
}

/* The sendmsg programs have seen it. */
static __always_inline bool is_announced(const struct bpf_sock *sk)
{
	return sk->type != SOCK_RAW &&
	       (sk->protocol == IPPROTO_UDP || sk->protocol == IPPROTO_UDPLITE);
}

/* What the sender passed: who writes to a raw socket writes the transport's header too. */
static __always_inline __u32 size_of(const struct bpf_sock *sk, const struct packet *p)
{
	return sk->type == SOCK_RAW ? p->body : p->length;
}

/* What the running thread asked for, if it was a datagram on this socket. */
static __always_inline struct asked *asked_to_send(__u64 thread, __u64 cookie)
{
	struct asked *asked = bpf_map_lookup_elem(&asked_by_thread, &thread);

	return asked && asked->call == SOCKET_SEND && asked->cookie == cookie ? asked : NULL;
}

static __always_inline void emit_send(struct session_slot *slot, const struct packet *p,
				      struct bpf_sock *sk, __u64 cookie)
{
	struct wire_socket_call *r =
		emit_small(slot, WIRE_KIND_socket_call, WIRE_CLASS_net, sizeof(*r));

	if (!r)
		return;
	ZERO_FIXED(r);
	fill_sender(slot, &r->head);
	r->call = SOCKET_SEND;
	r->cookie = cookie;
	r->family = sk->family;
	r->type = sk->type;
	r->protocol = sk->protocol;
	packet_address(p, p->from, sk->family, (__u8 *)&r->src_high);
	packet_address(p, p->to, sk->family, (__u8 *)&r->dst_high);
	r->src_port = p->from_port;
	r->dst_port = p->to_port;
	r->size = size_of(sk, p);
	r->known = SOCKET_KNOWN_SRC | SOCKET_KNOWN_DST | SOCKET_KNOWN_SIZE | SOCKET_KNOWN_RESULT;
	emit_small_end(slot, r);
}

/*
 * Since 4.10. A datagram leaves in the context of who sends it. UDP is announced by the sendmsg
 * programs; a raw or ping socket is not, so there the packet alone says it.
 */
SEC("cgroup_skb/egress")
int on_datagram_out(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;
	struct session_slot *slot = session_of_datagram(skb, sk);
	__u64 thread = current_thread(), cookie;
	struct socket_state *state;
	struct packet p = {};

	if (!slot || !packet_read(skb, &p))
		return PASS;
	state = bpf_sk_storage_get(&socket_states, sk, 0, 0);
	if (state)
		__sync_fetch_and_add(&state->sent, size_of(sk, &p));
	cookie = bpf_get_socket_cookie(skb);
	if (asked_to_send(thread, cookie)) {
		bpf_map_delete_elem(&asked_by_thread, &thread);
		emit_send(slot, &p, sk, cookie);
	} else if (!is_announced(sk) && sk->state != BPF_TCP_ESTABLISHED) {
		if (state)
			state->acted = 1;
		emit_send(slot, &p, sk, cookie);
	}
	return PASS;
}

/* Since 4.10: a datagram that has found its socket. */
SEC("cgroup_skb/ingress")
int on_datagram_in(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : NULL;
	struct session_slot *slot = session_of_datagram(skb, sk);
	struct socket_state *state;
	struct packet p = {};

	if (!slot || !packet_read(skb, &p))
		return PASS;
	state = bpf_sk_storage_get(&socket_states, sk, 0, 0);
	if (state)
		__sync_fetch_and_add(&state->received, size_of(sk, &p));
	return PASS;
}
