/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's structures of the network, as far as our programs read them (see kernel.h).
 */
#pragma once

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

typedef struct {
	long long counter;
} atomic64_t;

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_num;
	__u16 skc_dport;
	__u16 skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
	unsigned long skc_flags;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_type;
	__u16 sk_protocol;
	__u8 sk_shutdown;
	struct {
		__u32 word; /* of its spin lock: the first in it, whose low byte says that it is
			       held */
	} sk_lock;
};

struct socket {
	struct sock *sk;
};

struct inet_sock {
	struct sock sk;
	__u16 inet_sport;
};

struct tcp_sock {
	__u32 write_seq;
	__u32 snd_nxt;
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u64 bytes_received;
};

/* The byte counts came with 6.5. */
struct mptcp_sock {
	__u64 bytes_sent;
	__u64 bytes_received;
};

struct sockaddr_un {
	__u16 sun_family;
	char sun_path[108];
};

struct unix_address {
	int len; /* of the whole sockaddr_un */
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct path path; /* the file that it is bound to */
	struct sock *peer;
};

#pragma clang attribute pop

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16

#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3

#define LOCK_HELD 0xff
#define SOCK_DONE_BIT 1 /* in sk_flags: the peer's FIN was taken in */
#define SEND_SHUTDOWN 2

#define SOCKFS_MAGIC 0x534F434B
