/*
 * What sockets did, as events. Addresses and results are the kernel's; a unix name that the kernel
 * has no object for (a peer that was not reached, or of a datagram) is what the caller passed, and
 * is marked so.
 */
#include "capture.h"
#include "sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define PATH_DETACHED 2 /* enum path_flag of bpf/path.h */
#define ERESTARTSYS 512 /* results that only the kernel sees: the call was interrupted */
#define ERESTART_RESTARTBLOCK 516

enum { TAIL_UNIX_NAME, TAIL_UNIX_PATH };

/* A port that is known without an address, or the other way round, does not occur. */
static struct socket_ends ends_of_call(const struct wire_socket_call *call)
{
	struct socket_ends ends = {
		.cookie = call->cookie,
		.family = call->family,
		.type = call->type,
		.protocol = call->protocol,
		.has_src = call->known & SOCKET_KNOWN_SRC,
		.has_dst = call->known & SOCKET_KNOWN_DST,
		.src_port = (uint16_t)call->src_port,
		.dst_port = (uint16_t)call->dst_port,
	};

	memcpy(ends.src, &call->src_high, sizeof(ends.src));
	memcpy(ends.dst, &call->dst_high, sizeof(ends.dst));
	return ends;
}

static void put_result(struct event *e, const struct wire_socket_call *call)
{
	int32_t result = (int32_t)call->result;

	if (!(call->known & SOCKET_KNOWN_RESULT))
		return;
	if (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK)
		result = -EINTR;
	event_put_i64(e, FIELD_result, result);
	event_put_text(e, FIELD_error, capture_errno_name(-result));
}

/* ---- unix ---- */

static const char *unix_act(uint32_t call)
{
	static const char *const names[] = {
		[SOCKET_CONNECT] = "connect", [SOCKET_BIND] = "bind", [SOCKET_LISTEN] = "listen",
		[SOCKET_ACCEPT] = "accept",   [SOCKET_SEND] = "send", [SOCKET_PAIR] = "pair",
	};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}

/* An abstract name is all of its bytes behind the leading NUL; a path ends at its NUL. */
static void put_unix_name(struct capture *c, struct bytes name)
{
	const char *text = name.data;

	if (name.size > 1 && text[0] == 0)
		event_put_bytes(&c->event, FIELD_unix_abstract, text + 1, name.size - 1);
	else if (name.size > 0 && text[0] != 0)
		event_put_bytes(&c->event, FIELD_unix_path, text, strnlen(text, name.size));
}

static int translate_unix(struct capture *c, const struct wire_record *record,
			  const struct socket_ends *ends)
{
	const struct wire_socket_call *call = (const void *)record->head;
	bool from_memory = call->known & SOCKET_FROM_MEMORY;
	struct event *e = capture_begin(c, record, EVENT_net_unix);

	event_put_text(e, FIELD_act, unix_act(call->call));
	sockets_put_ends(c, ends);
	if (record->tails[TAIL_UNIX_PATH].size > 0)
		capture_put_path(c, FIELD_unix_path, record->tails[TAIL_UNIX_PATH],
				 record->missing[TAIL_UNIX_PATH]);
	else
		put_unix_name(c, record->tails[TAIL_UNIX_NAME]);
	if (record->tails[TAIL_UNIX_NAME].size > 0)
		event_put_text(e, FIELD_path_source, from_memory ? "args" : "kernel");
	if (call->path_flags & PATH_DETACHED)
		event_put_bool(e, FIELD_path_detached, true);
	if (call->known & SOCKET_KNOWN_SIZE)
		event_put_u64(e, FIELD_size, call->size);
	put_result(e, call);
	return capture_send(c);
}

/* ---- v4, v6 and what else there is ---- */

static int translate_connect(struct capture *c, const struct wire_record *record,
			     const struct socket_ends *ends)
{
	struct event *e = capture_begin(c, record, EVENT_net_connect);

	sockets_put_ends(c, ends);
	sockets_put_name(c, sockets_find_name(c->sockets, ends));
	put_result(e, (const void *)record->head);
	return capture_send(c);
}

static int translate_bind(struct capture *c, const struct wire_record *record,
			  const struct socket_ends *ends)
{
	struct event *e = capture_begin(c, record, EVENT_net_bind);

	sockets_put_ends(c, ends);
	put_result(e, (const void *)record->head);
	return capture_send(c);
}

static int translate_listen(struct capture *c, const struct wire_record *record,
			    const struct socket_ends *ends)
{
	const struct wire_socket_call *call = (const void *)record->head;
	struct event *e = capture_begin(c, record, EVENT_net_listen);

	sockets_put_ends(c, ends);
	/* The call takes an int and the kernel an unsigned one: below 0 is as long as it can be. */
	event_put_u64(e, FIELD_backlog, call->backlog);
	return capture_send(c);
}

static int translate_accept(struct capture *c, const struct wire_record *record,
			    const struct socket_ends *ends)
{
	capture_begin(c, record, EVENT_net_accept);
	sockets_put_ends(c, ends);
	return capture_send(c);
}

static int translate_send(struct capture *c, const struct wire_record *record,
			  const struct socket_ends *ends)
{
	const struct wire_socket_call *call = (const void *)record->head;
	struct event *e = capture_begin(c, record, EVENT_net_send);

	sockets_put_ends(c, ends);
	sockets_put_name(c, sockets_find_name(c->sockets, ends));
	if (call->known & SOCKET_KNOWN_SIZE)
		event_put_u64(e, FIELD_size, call->size);
	put_result(e, call);
	return capture_send(c);
}

int translate_socket_call(struct capture *c, const struct wire_record *record)
{
	typedef int translate_call(struct capture *, const struct wire_record *,
				   const struct socket_ends *);
	static translate_call *const calls[] = {
		[SOCKET_CONNECT] = translate_connect, [SOCKET_BIND] = translate_bind,
		[SOCKET_LISTEN] = translate_listen,   [SOCKET_ACCEPT] = translate_accept,
		[SOCKET_SEND] = translate_send,
	};
	const struct wire_socket_call *call = (const void *)record->head;
	struct socket_ends ends = ends_of_call(call);

	if (call->family == AF_UNIX)
		return translate_unix(c, record, &ends);
	if (call->call >= sizeof(calls) / sizeof(calls[0]) || !calls[call->call])
		return -EBADMSG;

	/* The peer of a single datagram is not the socket's, nor an address that it did not get. */
	struct socket_ends own = ends;
	own.has_dst = own.has_dst && call->call != SOCKET_SEND;
	own.has_src = own.has_src && !(call->call == SOCKET_BIND && (int32_t)call->result < 0);
	host_ref name = call->call == SOCKET_CONNECT ? sockets_find_name(c->sockets, &ends) : 0;
	if (own.has_src || own.has_dst || call->call == SOCKET_SEND)
		sockets_opened(c->sockets, record->head, &own, name);
	return calls[call->call](c, record, &ends);
}

int translate_socket_close(struct capture *c, const struct wire_record *record)
{
	const struct wire_socket_close *close = (const void *)record->head;
	struct socket_ends ends = {
		.cookie = close->cookie,
		.family = close->family,
		.type = close->type,
		.protocol = close->protocol,
		.has_src = close->known & SOCKET_KNOWN_SRC,
		.has_dst = close->known & SOCKET_KNOWN_DST,
		.src_port = (uint16_t)close->src_port,
		.dst_port = (uint16_t)close->dst_port,
	};
	struct open_socket known = {0};

	memcpy(ends.src, &close->src_high, sizeof(ends.src));
	memcpy(ends.dst, &close->dst_high, sizeof(ends.dst));
	if (sockets_closed(c->sockets, close->cookie, &known)) {
		/* A connection that failed or broke leaves no peer behind in the kernel. */
		struct socket_ends all = known.ends;
		sockets_merge_ends(&all, &ends);
		ends = all;
	}

	struct event *e = capture_begin(c, record, EVENT_net_close);
	sockets_put_ends(c, &ends);
	if (sockets_same_peer(&ends, &known.ends))
		sockets_put_name(c, known.name);
	if (close->known & SOCKET_KNOWN_BYTES) {
		event_put_u64(e, FIELD_bytes_sent, close->bytes_sent);
		event_put_u64(e, FIELD_bytes_received, close->bytes_received);
	}
	return capture_send(c);
}
