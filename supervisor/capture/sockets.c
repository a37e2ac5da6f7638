/* Open sockets in a hash table by cookie, and their ends as fields of an event. */
#include "sockets.h"

#include "capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_ROOM 64
#define BUCKETS 4096

struct sockets {
	struct hosts *hosts;
	struct open_socket *items;
	uint32_t count, room;
	uint32_t free_item;	   /* first of those given back: index + 1, chained by `next` */
	uint32_t buckets[BUCKETS]; /* index + 1 */
};

int sockets_new(struct sockets **ret)
{
	struct sockets *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;

	int r = hosts_new(&s->hosts);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sockets_free(struct sockets *s)
{
	if (!s)
		return;
	hosts_free(s->hosts);
	free(s->items);
	free(s);
}

/* ---- open sockets ---- */

/* Cookies are given out by the kernel, in order for each CPU: they spread by themselves. */
static uint32_t *find_link(struct sockets *s, uint64_t cookie)
{
	uint32_t *link = &s->buckets[cookie % BUCKETS];

	while (*link && s->items[*link - 1].ends.cookie != cookie)
		link = &s->items[*link - 1].next;
	return link;
}

static int grow(struct sockets *s)
{
	uint32_t room = s->room ? 2 * s->room : FIRST_ROOM;
	struct open_socket *items;

	if (room > SOCKETS_MAX)
		return -ENOSPC;
	items = realloc(s->items, room * sizeof(*items));
	if (!items)
		return -ENOMEM;
	s->items = items;
	s->room = room;
	return 0;
}

/* A place for a socket; 0 if there is none. */
static uint32_t take_place(struct sockets *s)
{
	uint32_t i = s->free_item;

	if (i) {
		s->free_item = s->items[i - 1].next;
		return i;
	}
	if (s->count == s->room && grow(s) < 0)
		return 0;
	return ++s->count;
}

void sockets_merge_ends(struct socket_ends *ends, const struct socket_ends *now)
{
	if (now->has_src) {
		ends->has_src = true;
		ends->src_port = now->src_port;
		memcpy(ends->src, now->src, sizeof(ends->src));
	}
	if (now->has_dst) {
		ends->has_dst = true;
		ends->dst_port = now->dst_port;
		memcpy(ends->dst, now->dst, sizeof(ends->dst));
	}
}

bool sockets_same_peer(const struct socket_ends *one, const struct socket_ends *other)
{
	return one->has_dst && other->has_dst && one->dst_port == other->dst_port &&
	       memcmp(one->dst, other->dst, sizeof(one->dst)) == 0;
}

void sockets_opened(struct sockets *s, const struct wire_head *head, const struct socket_ends *ends,
		    host_ref name)
{
	uint32_t i;

	if (ends->cookie == 0)
		return;
	i = *find_link(s, ends->cookie);
	if (!i) {
		i = take_place(s);
		if (!i)
			return;
		uint32_t *link = find_link(s, ends->cookie);
		s->items[i - 1] = (struct open_socket){.ends = *ends};
		*link = i;
	}
	struct open_socket *socket = &s->items[i - 1];
	sockets_merge_ends(&socket->ends, ends);
	socket->pid = head->pid;
	socket->ns_pid = head->ns_pid;
	socket->start_ns = head->start_ns;
	socket->cgroup = head->cgroup;
	if (ends->has_dst)
		socket->name = name;
}

bool sockets_closed(struct sockets *s, uint64_t cookie, struct open_socket *ret_socket)
{
	uint32_t *link = find_link(s, cookie), i = *link;

	if (cookie == 0 || !i)
		return false;
	struct open_socket *socket = &s->items[i - 1];
	*ret_socket = *socket;
	*link = socket->next;
	socket->ends.cookie = 0;
	socket->next = s->free_item;
	s->free_item = i;
	return true;
}

static int emit_still_open(struct capture *c, const struct open_socket *socket)
{
	struct wire_head head = {
		.pid = socket->pid,
		.tid = socket->pid,
		.ns_pid = socket->ns_pid,
		.start_ns = socket->start_ns,
		.cgroup = socket->cgroup,
	};
	struct wire_record owner = {.head = &head};
	struct event *e = capture_begin(c, NULL, EVENT_net_close);

	head.boot_ns = e->boot_ns;
	e = capture_begin(c, &owner, EVENT_net_close);
	sockets_put_ends(c, &socket->ends);
	sockets_put_name(c, socket->name);
	event_put_bool(e, FIELD_still_open, true);
	return capture_send(c);
}

int sockets_finish(struct capture *c)
{
	struct sockets *s = c->sockets;

	for (uint32_t i = 0; i < s->count; i++) {
		if (s->items[i].ends.cookie == 0)
			continue;
		int r = emit_still_open(c, &s->items[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- names ---- */

static size_t address_size(uint32_t family)
{
	return family == AF_INET6 ? 16 : 4;
}

host_ref sockets_find_name(const struct sockets *s, const struct socket_ends *ends)
{
	if (!ends->has_dst)
		return 0;
	return hosts_find(s->hosts, ends->dst, address_size(ends->family));
}

void sockets_learn_name(struct sockets *s, const uint8_t *address, size_t size, struct bytes name)
{
	hosts_learn(s->hosts, address, size, name);
}

void sockets_put_name(struct capture *c, host_ref name)
{
	struct bytes text = hosts_name(c->sockets->hosts, name);

	if (text.data)
		event_put_bytes(&c->event, FIELD_name, text.data, text.size);
}

/* ---- ends ---- */

static const char *family_name(uint32_t family)
{
	switch (family) {
	case AF_UNIX:
		return "unix";
	case AF_INET:
		return "inet";
	case AF_INET6:
		return "inet6";
	case AF_VSOCK:
		return "vsock";
	case AF_PACKET:
		return "packet";
	case AF_ALG:
		return "alg";
	default:
		return NULL;
	}
}

static const char *type_name(uint32_t type)
{
	switch (type) {
	case SOCK_STREAM:
		return "stream";
	case SOCK_DGRAM:
		return "datagram";
	case SOCK_SEQPACKET:
		return "seqpacket";
	case SOCK_RAW:
		return "raw";
	default:
		return NULL;
	}
}

static const char *protocol_name(const struct socket_ends *ends)
{
	if ((ends->family != AF_INET && ends->family != AF_INET6) || ends->type == SOCK_RAW)
		return type_name(ends->type);
	switch (ends->protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_MPTCP:
		return "mptcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_UDPLITE:
		return "udplite";
	case IPPROTO_SCTP:
		return "sctp";
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return "icmp";
	default:
		return NULL;
	}
}

/* What raw and ping sockets keep in place of a port is a protocol or an echo id. */
static bool has_ports(const struct socket_ends *ends)
{
	return ends->type != SOCK_RAW && ends->protocol != IPPROTO_ICMP &&
	       ends->protocol != IPPROTO_ICMPV6;
}

static void put_end(struct capture *c, const struct socket_ends *ends, bool is_src)
{
	const uint8_t *address = is_src ? ends->src : ends->dst;
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop((int)ends->family, address, text, sizeof(text)))
		event_put_text(&c->event, is_src ? FIELD_src_address : FIELD_dst_address,
			       capture_text(c, "%s", text));
	if (has_ports(ends))
		event_put_u64(&c->event, is_src ? FIELD_src_port : FIELD_dst_port,
			      is_src ? ends->src_port : ends->dst_port);
}

void sockets_put_ends(struct capture *c, const struct socket_ends *ends)
{
	if (ends->cookie)
		event_put_u64(&c->event, FIELD_socket, ends->cookie);
	event_put_text(&c->event, FIELD_family, family_name(ends->family));
	event_put_text(&c->event, FIELD_protocol, protocol_name(ends));
	if (ends->has_src)
		put_end(c, ends, true);
	if (ends->has_dst)
		put_end(c, ends, false);
}
