/*
 * The sockets of a session: what their ends are, which are open, and what names the session asked
 * for before it reached for an address.
 */
#pragma once

#include "../../bpf/wire.h"
#include "../record/event.h"
#include "hosts.h"

struct capture;
struct sockets;

#define SOCKETS_MAX 16384 /* open ones that are remembered */

struct socket_ends {
	uint64_t cookie; /* 0: not known */
	uint32_t family, type, protocol;
	bool has_src, has_dst;
	uint8_t src[16], dst[16]; /* in network order; v4: the first 4 */
	uint16_t src_port, dst_port;
};

/* A socket that acted and was not closed yet. */
struct open_socket {
	struct socket_ends ends;
	uint32_t next; /* in its bucket: index + 1 */
	uint32_t pid, ns_pid;
	uint64_t start_ns, cgroup;
	host_ref name;
};

/* Put what is known of @ends into the event being made. */
void sockets_put_ends(struct capture *c, const struct socket_ends *ends);

/* What @now knows is put into @ends. */
void sockets_merge_ends(struct socket_ends *ends, const struct socket_ends *now);
bool sockets_same_peer(const struct socket_ends *one, const struct socket_ends *other);

/* Put FIELD_name, if the session asked for the name of that address. */
void sockets_put_name(struct capture *c, host_ref name);
host_ref sockets_find_name(const struct sockets *s, const struct socket_ends *ends);
void sockets_learn_name(struct sockets *s, const uint8_t *address, size_t size, struct bytes name);

/*
 * A socket acted: it is open. Ends that were known before and are not now are kept. @name is what
 * its peer was asked for by, 0 if it was not. Not remembered without a cookie, without memory, or
 * past SOCKETS_MAX.
 */
void sockets_opened(struct sockets *s, const struct wire_head *head, const struct socket_ends *ends,
		    host_ref name);

/* The socket with @cookie was closed: forget it. False if it was not known; else @ret_socket is
 * what was. */
bool sockets_closed(struct sockets *s, uint64_t cookie, struct open_socket *ret_socket);
