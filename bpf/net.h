/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs of the network share: whose a socket is, what a thread has asked for, and the
 * ends of a socket as the kernel has them.
 */
#pragma once

#include "emit.h"
#include "kernel_net.h"

#include <bpf/bpf_endian.h>
#include <linux/in.h>

struct socket_ends {
	__u8 src[16], dst[16];
	__u32 src_port, dst_port;
	__u32 family, type, protocol;
	__u32 known; /* enum socket_known */
};

/* Who acted last on a socket. */
struct socket_owner {
	__u64 start_ns, cgroup;
	__u32 pid, tid, ns_pid, reserved;
};

/* Lives and dies with its socket; a connection that is accepted starts with the listener's. */
struct socket_state {
	struct bpf_spin_lock lock; /* of `owner` and `folded` */
	__u32 folded; /* TCP: the connection is over, its bytes are in sent, received */
	__u32 acted;  /* it has a record, so its end gets one */
	__u32 reserved;
	__u64 session; /* cgroup id of the session */
	__u64 sent, received;
	struct socket_owner owner;
};

struct socket_states_map {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct socket_state);
};
MAP struct socket_states_map socket_states SEC(".maps");

/* What the call that a thread is in has asked for, in the kernel's own copy. Key: pid and tid. */
struct asked {
	__u64 cookie;
	struct socket_ends ends;
	__u32 call; /* enum socket_act */
	__u32 reserved;
};

struct asked_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct asked);
};
MAP struct asked_map asked_by_thread SEC(".maps");

/* ---- who ---- */

static __always_inline __u64 current_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (__u64)task->tgid << 32 | (__u32)task->pid;
}

/* Who @head says acts, owns the socket. */
static __always_inline void own_socket(struct socket_state *state, const struct wire_head *head,
				       __u64 session)
{
	struct socket_owner owner = {
		.start_ns = head->start_ns,
		.cgroup = head->cgroup,
		.pid = head->pid,
		.tid = head->tid,
		.ns_pid = head->ns_pid,
	};

	bpf_spin_lock(&state->lock);
	state->owner = owner;
	bpf_spin_unlock(&state->lock);
	state->session = session;
}

/* Whatever task runs here acts for the owner of the socket. */
static __always_inline void fill_owner(struct socket_state *state, struct wire_head *head)
{
	struct socket_owner owner;

	bpf_spin_lock(&state->lock);
	owner = state->owner;
	bpf_spin_unlock(&state->lock);
	head->start_ns = owner.start_ns;
	head->cgroup = owner.cgroup;
	head->pid = owner.pid;
	head->tid = owner.tid;
	head->ns_pid = owner.ns_pid;
	head->flags = WIRE_FLAG_SOFTIRQ;
}

/* ---- ends ---- */

/* A v4 address on a v6 socket is what it is: ::ffff:a.b.c.d. @to is zeroed. */
static __always_inline void put_v4(__u8 *to, __u32 address, __u32 family)
{
	__u32 *words = (__u32 *)to;

	if (family != AF_INET6) {
		words[0] = address;
		return;
	}
	words[2] = bpf_htonl(0xffff);
	words[3] = address;
}

/* The ends of @sk as the kernel has them now; @ends is zeroed. For v4 and v6 sockets. */
static __always_inline void read_ends(struct sock *sk, struct socket_ends *ends)
{
	__u32 number = 0, *src = (__u32 *)ends->src;

	ends->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	ends->type = BPF_CORE_READ(sk, sk_type);
	ends->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (ends->family != AF_INET && ends->family != AF_INET6)
		return;
	ends->src_port = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	ends->dst_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	number = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (ends->family == AF_INET) {
		put_v4(ends->src, BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr), AF_INET);
		put_v4(ends->dst, BPF_CORE_READ(sk, __sk_common.skc_daddr), AF_INET);
	} else {
		bpf_core_read(ends->src, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(ends->dst, 16, &sk->__sk_common.skc_v6_daddr);
	}
	/* A connection that failed leaves a port behind that it does not hold any more. */
	if (ends->src_port && (number || src[0] || src[1] || src[2] || src[3]))
		ends->known |= SOCKET_KNOWN_SRC;
	if (ends->dst_port || (ends->type == SOCK_RAW && ends->dst[0]))
		ends->known |= SOCKET_KNOWN_DST;
}

static __always_inline __u64 cookie_of(struct sock *sk)
{
	__u64 cookie = 0;

	bpf_core_read(&cookie, sizeof(cookie), &sk->__sk_common.skc_cookie);
	return cookie;
}

/* Every field of a record that has ends. */
#define PUT_ENDS(r, ends)                                                                          \
	do {                                                                                       \
		__builtin_memcpy(&(r)->src_high, (ends)->src, 16);                                 \
		__builtin_memcpy(&(r)->dst_high, (ends)->dst, 16);                                 \
		(r)->src_port = (ends)->src_port;                                                  \
		(r)->dst_port = (ends)->dst_port;                                                  \
		(r)->family = (ends)->family;                                                      \
		(r)->protocol = (ends)->protocol;                                                  \
	} while (0)

/* Zero what a reserve or the scratch hands out, behind the head. */
#define ZERO_FIXED(r)                                                                              \
	__builtin_memset((__u8 *)(r) + sizeof(struct wire_head), 0,                                \
			 sizeof(*(r)) - sizeof(struct wire_head))
