// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of v4 and v6 from birth to death: whose they are, what they are asked to do (in the
 * kernel's own copy of the address, which the caller cannot change any more), and what went through
 * them. All programs sit on the daemon's cgroup, above all sessions, and let everything pass.
 */
#include "net.h"

#define PASS 1
#define INTAKE_TRIES 256 /* some 50 us, where another CPU takes in packet after packet */

static __always_inline struct socket_state *state_of(const struct session_slot *slot,
						     struct bpf_sock *sk)
{
	struct socket_state *state =
		bpf_sk_storage_get(&socket_states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct wire_head head = {};

	if (!state)
		return NULL;
	fill_current_head(slot, &head);
	own_socket(state, &head, bpf_get_current_ancestor_cgroup_id(session_level));
	return state;
}

/* ---- what is asked for ---- */

/* A peer that the socket is connected to anyway. */
static __always_inline bool is_own_peer(struct bpf_sock *sk, const struct socket_ends *asked)
{
	const __u32 *words = (const __u32 *)asked->dst;
	__u32 v4;

	if (sk->state != BPF_TCP_ESTABLISHED || bpf_ntohs(sk->dst_port) != asked->dst_port)
		return false;
	v4 = sk->dst_ip4;
	BARRIER_VAR(v4); /* no arithmetic on a socket's pointer, as the verifier wants it */
	if (asked->family == AF_INET)
		return v4 == words[0];
	return sk->dst_ip6[0] == words[0] && sk->dst_ip6[1] == words[1] &&
	       sk->dst_ip6[2] == words[2] && sk->dst_ip6[3] == words[3];
}

/* Remember it for the program that sees how the call ended. If no room is left for it, that is
 * counted: what the call asked for is then missing in its record. */
static __always_inline int remember(struct session_slot *slot, struct bpf_sock_addr *ctx,
				    struct asked *asked)
{
	__u64 thread = current_thread();
	struct bpf_sock *sk = ctx->sk;
	struct socket_state *state;

	if (!sk)
		return PASS;
	asked->ends.family = ctx->family;
	asked->ends.type = ctx->type;
	asked->ends.protocol = ctx->protocol;
	if (asked->call == SOCKET_SEND && is_own_peer(sk, &asked->ends))
		return PASS;
	state = state_of(slot, sk);
	if (state) {
		state->acted = 1;
		bpf_spin_lock(&state->lock);
		if (asked->call == SOCKET_CONNECT)
			state->folded = 0;
		bpf_spin_unlock(&state->lock);
	}
	asked->cookie = bpf_get_socket_cookie(ctx);
	if (bpf_map_update_elem(&asked_by_thread, &thread, asked, BPF_ANY))
		count_loss(slot, WIRE_CLASS_net, LOSS_MAP_FULL);
	return PASS;
}

static __always_inline int remember_v4(struct bpf_sock_addr *ctx, __u32 call)
{
	struct session_slot *slot = session_of_current();
	struct asked asked = {.call = call};

	if (!slot)
		return PASS;
	if (call == SOCKET_BIND) {
		put_v4(asked.ends.src, ctx->user_ip4, ctx->family);
		asked.ends.src_port = bpf_ntohs((__u16)ctx->user_port);
		asked.ends.known = SOCKET_KNOWN_SRC;
	} else {
		put_v4(asked.ends.dst, ctx->user_ip4, ctx->family);
		asked.ends.dst_port = bpf_ntohs((__u16)ctx->user_port);
		asked.ends.known = SOCKET_KNOWN_DST;
	}
	return remember(slot, ctx, &asked);
}

static __always_inline int remember_v6(struct bpf_sock_addr *ctx, __u32 call)
{
	struct session_slot *slot = session_of_current();
	struct asked asked = {.call = call};
	__u32 *words = (__u32 *)(call == SOCKET_BIND ? asked.ends.src : asked.ends.dst);

	if (!slot)
		return PASS;
	words[0] = ctx->user_ip6[0];
	words[1] = ctx->user_ip6[1];
	words[2] = ctx->user_ip6[2];
	words[3] = ctx->user_ip6[3];
	if (call == SOCKET_BIND) {
		asked.ends.src_port = bpf_ntohs((__u16)ctx->user_port);
		asked.ends.known = SOCKET_KNOWN_SRC;
	} else {
		asked.ends.dst_port = bpf_ntohs((__u16)ctx->user_port);
		asked.ends.known = SOCKET_KNOWN_DST;
	}
	return remember(slot, ctx, &asked);
}

/* Since 4.17: the address that the kernel copied, before anything is done with it. */
SEC("cgroup/connect4")
int on_connect4(struct bpf_sock_addr *ctx)
{
	return remember_v4(ctx, SOCKET_CONNECT);
}

SEC("cgroup/connect6")
int on_connect6(struct bpf_sock_addr *ctx)
{
	return remember_v6(ctx, SOCKET_CONNECT);
}

SEC("cgroup/bind4")
int on_bind4(struct bpf_sock_addr *ctx)
{
	return remember_v4(ctx, SOCKET_BIND);
}

SEC("cgroup/bind6")
int on_bind6(struct bpf_sock_addr *ctx)
{
	return remember_v6(ctx, SOCKET_BIND);
}

/* Since 4.18: UDP that is given a peer, each datagram of sendmmsg on its own. */
SEC("cgroup/sendmsg4")
int on_sendmsg4(struct bpf_sock_addr *ctx)
{
	return remember_v4(ctx, SOCKET_SEND);
}

SEC("cgroup/sendmsg6")
int on_sendmsg6(struct bpf_sock_addr *ctx)
{
	return remember_v6(ctx, SOCKET_SEND);
}

/* ---- birth and death ---- */

/* Since 4.10: who made it owns it until somebody else acts on it. Gives it its cookie. */
SEC("cgroup/sock_create")
int on_socket_create(struct bpf_sock *ctx)
{
	struct session_slot *slot = session_of_current();

	if (!slot)
		return PASS;
	bpf_get_socket_cookie(ctx);
	state_of(slot, ctx);
	return PASS;
}

/* Received, and whether the peer's FIN is among them. */
struct tcp_intake {
	struct tcp_sock *tp;
	__u64 bytes;
	bool has_fin;
};

static __always_inline bool is_taking_in(struct sock *sk)
{
	__u32 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word),
			      (void *)sk + bpf_core_field_offset(struct sock, sk_lock));
	return word & LOCK_HELD;
}

/* Read both as they belong together: another CPU, which holds the socket's lock meanwhile, counts a
 * FIN first and notes it then. */
static long read_intake(__u32 index, void *context)
{
	struct tcp_intake *intake = context;
	struct tcp_sock *tp = intake->tp;
	struct sock *sk = (struct sock *)tp;
	bool was_busy = is_taking_in(sk);

	intake->bytes = BPF_CORE_READ(tp, bytes_received);
	intake->has_fin = BPF_CORE_READ(sk, __sk_common.skc_flags) & (1 << SOCK_DONE_BIT);
	return !was_busy && !is_taking_in(sk) && BPF_CORE_READ(tp, bytes_received) == intake->bytes;
}

/* Bytes of a TCP connection so far: sent are those given to the network. The kernel counts the
 * peer's FIN as one received. @tries: 1 where the caller holds the socket's lock. */
static __always_inline void tcp_bytes(struct sock *sk, __u32 tries, __u64 *sent, __u64 *received)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tcp_intake intake = {.tp = tp};

	bpf_loop(tries, read_intake, &intake, 0);
	*received = intake.bytes - (intake.bytes && intake.has_fin);
	*sent = BPF_CORE_READ(tp, bytes_sent) - BPF_CORE_READ(tp, bytes_retrans);
}

/* Bytes that a connection will still send when it is closed now, without the FIN that may wait. */
static __always_inline __u64 tcp_waiting(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);
	__u32 waiting = BPF_CORE_READ(tp, write_seq) - BPF_CORE_READ(tp, snd_nxt);

	if (state == BPF_TCP_CLOSE || state == BPF_TCP_LISTEN || state == BPF_TCP_SYN_SENT)
		return 0;
	if (waiting && (BPF_CORE_READ(sk, sk_shutdown) & SEND_SHUTDOWN))
		waiting--;
	return waiting;
}

/* What went through the socket in all. Returns what is known. */
static __always_inline __u32 count_bytes(struct sock *sk, struct socket_state *state,
					 const struct socket_ends *ends, __u64 *sent,
					 __u64 *received)
{
	__u32 protocol = ends->type == SOCK_STREAM ? ends->protocol : 0;
	__u64 now_sent = 0, now_received = 0;
	struct mptcp_sock *mp = (struct mptcp_sock *)sk;

	if (protocol == IPPROTO_TCP) {
		tcp_bytes(sk, INTAKE_TRIES, &now_sent, &now_received);
		now_sent += tcp_waiting(sk);
	} else if (protocol == IPPROTO_MPTCP) {
		if (!bpf_core_field_exists(mp->bytes_sent))
			return 0;
		now_sent = BPF_CORE_READ(mp, bytes_sent);
		now_received = BPF_CORE_READ(mp, bytes_received);
	}
	bpf_spin_lock(&state->lock);
	if (state->folded)
		now_sent = now_received = 0;
	now_sent += state->sent;
	now_received += state->received;
	bpf_spin_unlock(&state->lock);
	*sent = now_sent;
	*received = now_received;
	return SOCKET_KNOWN_BYTES;
}

static __always_inline bool is_current_in(__u64 session)
{
	return bpf_get_current_ancestor_cgroup_id(session_level) == session;
}

/* Since 5.9: the last descriptor is gone, the addresses still stand. The kernel's socket itself is
 * the context of this program type. */
SEC("cgroup/sock_release")
int on_socket_release(struct bpf_sock *ctx)
{
	struct socket_state *state = bpf_sk_storage_get(&socket_states, ctx, 0, 0);
	struct sock *sk = (struct sock *)ctx;
	struct socket_ends ends = {};
	struct wire_socket_close *r;
	struct session_slot *slot;
	__u64 sent = 0, received = 0;

	if (!state)
		return PASS;
	slot = bpf_map_lookup_elem(&sessions, &state->session);
	if (!slot)
		return PASS;
	read_ends(sk, &ends);
	ends.known |= count_bytes(sk, state, &ends, &sent, &received);
	if (!state->acted && !sent && !received && (ends.type == SOCK_RAW || !ends.src_port))
		return PASS;
	r = emit_small(slot, WIRE_KIND_socket_close, WIRE_CLASS_net, sizeof(*r));
	if (!r)
		return PASS;
	ZERO_FIXED(r);
	if (is_current_in(state->session))
		fill_current_head(slot, &r->head);
	else
		fill_owner(state, &r->head);
	r->cookie = cookie_of(sk);
	PUT_ENDS(r, &ends);
	r->type = ends.type;
	r->known = ends.known;
	r->bytes_sent = sent;
	r->bytes_received = received;
	emit_small_end(slot, r);
	return PASS;
}

static __always_inline void fold_bytes(struct socket_state *state, __u64 sent, __u64 received)
{
	bpf_spin_lock(&state->lock);
	if (!state->folded) {
		state->sent += sent;
		state->received += received;
		state->folded = 1;
	}
	bpf_spin_unlock(&state->lock);
}

/*
 * TCP, since 4.13 (states since 4.16). A socket can be connected again after connect(AF_UNSPEC),
 * and the kernel then counts from 0: when a connection is over its bytes are taken over.
 */
SEC("sockops")
int on_tcp(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct socket_state *state;
	__u64 sent, received;
	struct tcp_sock *tp;

	if (!sk)
		return PASS;
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
		bpf_get_socket_cookie(ctx);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		state = bpf_sk_storage_get(&socket_states, sk, 0, 0);
		tp = bpf_skc_to_tcp_sock(sk);
		if (ctx->args[1] != BPF_TCP_CLOSE || !state || !tp)
			break;
		tcp_bytes((struct sock *)tp, 1, &sent, &received);
		fold_bytes(state, sent, received);
		break;
	}
	return PASS;
}
