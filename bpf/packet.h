/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet of v4 or v6 as a cgroup_skb program meets it: before fragmentation on the way out, after
 * reassembly on the way in.
 */
#pragma once

#include "net.h"

#define PACKET_HEADERS_MAX                                                                         \
	8 /* of v6, before the transport's; the kernel itself makes five at most */

enum next_header {
	NEXT_HOP_BY_HOP = 0,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_DESTINATION = 60,
};

struct packet {
	__u8 from[16], to[16];
	__u32 version;
	__u32 protocol;
	__u32 at;     /* where the transport's header begins, then where the payload does */
	__u32 length; /* of the payload */
	__u32 body;   /* of what follows the IP headers */
	__u32 from_port, to_port;
	__u32 sequence, tcp_flags;
};

static __always_inline bool packet_v4(struct __sk_buff *skb, struct packet *p)
{
	__u8 head[20];

	if (bpf_skb_load_bytes(skb, 0, head, sizeof(head)))
		return false;
	__builtin_memcpy(p->from, head + 12, 4);
	__builtin_memcpy(p->to, head + 16, 4);
	p->protocol = head[9];
	p->at = (head[0] & 15) * 4;
	return (head[0] & 15) >= 5;
}

static __always_inline bool packet_v6(struct __sk_buff *skb, struct packet *p)
{
	__u8 head[40], next[2];

	if (bpf_skb_load_bytes(skb, 0, head, sizeof(head)))
		return false;
	__builtin_memcpy(p->from, head + 8, 16);
	__builtin_memcpy(p->to, head + 24, 16);
	p->protocol = head[6];
	p->at = sizeof(head);
	for (int i = 0; i < PACKET_HEADERS_MAX; i++) {
		if (p->protocol != NEXT_HOP_BY_HOP && p->protocol != NEXT_ROUTING &&
		    p->protocol != NEXT_DESTINATION && p->protocol != NEXT_FRAGMENT)
			return true;
		if (bpf_skb_load_bytes(skb, p->at, next, sizeof(next)))
			return false;
		p->at += p->protocol == NEXT_FRAGMENT ? 8 : (next[1] + 1) * 8;
		p->protocol = next[0];
	}
	return false;
}

static __always_inline bool packet_ports(struct __sk_buff *skb, struct packet *p)
{
	__u8 head[14];
	__u32 size = 8;

	if (p->protocol != IPPROTO_UDP && p->protocol != IPPROTO_UDPLITE &&
	    p->protocol != IPPROTO_TCP)
		return true;
	if (bpf_skb_load_bytes(skb, p->at, head, 8))
		return false;
	p->from_port = head[0] << 8 | head[1];
	p->to_port = head[2] << 8 | head[3];
	if (p->protocol == IPPROTO_TCP) {
		if (bpf_skb_load_bytes(skb, p->at, head, sizeof(head)))
			return false;
		p->sequence = (__u32)head[4] << 24 | head[5] << 16 | head[6] << 8 | head[7];
		size = (head[12] >> 4) * 4;
		p->tcp_flags = head[13];
	}
	p->at += size;
	return true;
}

/* A socket of the kernel's TCP, not a raw one that speaks it by itself. */
static __always_inline bool is_tcp(const struct bpf_sock *sk)
{
	return sk->type == SOCK_STREAM && sk->protocol == IPPROTO_TCP;
}

/* Fill @p, which is zeroed. 0: it is not a whole packet. */
SHARED int packet_read(struct __sk_buff *skb, struct packet *p)
{
	__u8 first;

	if (!p || bpf_skb_load_bytes(skb, 0, &first, 1))
		return 0;
	p->version = first >> 4;
	if (p->version == 4 ? !packet_v4(skb, p) : p->version != 6 || !packet_v6(skb, p))
		return 0;
	p->body = skb->len - p->at;
	if (p->at > skb->len || !packet_ports(skb, p) || p->at > skb->len)
		return 0;
	p->length = skb->len - p->at;
	return 1;
}

/* An address of the packet as the socket's family has it: v4 on a v6 socket is ::ffff:a.b.c.d. */
static __always_inline void packet_address(const struct packet *p, const __u8 *address,
					   __u32 family, __u8 *to)
{
	if (p->version == 4)
		put_v4(to, *(const __u32 *)address, family);
	else
		__builtin_memcpy(to, address, 16);
}

/* The running task sends. Programs on packets have no call for its cgroup before 6.10. */
SHARED int fill_sender(const struct session_slot *slot, struct wire_head *head)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!slot || !head)
		return 0;
	fill_head(slot, head, task);
	head->cgroup = ancestor_of(BPF_CORE_READ(task, cgroups, dfl_cgrp), session_level + 1);
	return 0;
}
