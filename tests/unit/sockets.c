/* What sockets did, from wire records to events, and which of them are open. */
#include "../../supervisor/capture/sockets.h"

#include "capture_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#define PID 4711
#define START_NS 0xabc

/* The event begins with who acted; this is what follows. */
static void expect(struct capture_world *w, const char *kind, const char *fields)
{
	char start[128];

	snprintf(start, sizeof(start),
		 "\"kind\":\"%s\",\"proc\":\"4711-abc\",\"pid\":7,\"host_pid\":4711,", kind);
	expect_one(w, start, fields);
}

/* ---- records ---- */

struct ends {
	int family, type, protocol;
	const char *src, *dst; /* NULL: not known */
	int src_port, dst_port;
};

static const struct ends tcp4 = {AF_INET,    SOCK_STREAM, IPPROTO_TCP, "127.0.0.1",
				 "10.1.2.3", 40000,	  443};

static void put_address(int family, const char *text, __u64 *high)
{
	if (text)
		assert_int_equal(inet_pton(family, text, high), 1);
}

static void fill_head(struct wire_head *head, uint16_t kind, uint32_t length)
{
	*head = (struct wire_head){.kind = kind,
				   .class = WIRE_CLASS_net,
				   .length = length,
				   .pid = PID,
				   .tid = PID,
				   .ns_pid = 7,
				   .start_ns = START_NS};
}

static int translate(struct capture_world *f, const void *data, size_t size)
{
	struct wire_record record;
	const char *why;

	assert_int_equal(wire_decode(data, size, &record, &why), 0);
	return capture_record(f->capture, &record);
}

static int call(struct capture_world *f, uint64_t cookie, enum socket_act act,
		const struct ends *ends, const struct wire_socket_call *more)
{
	struct wire_socket_call r = *more;

	fill_head(&r.head, WIRE_KIND_socket_call, sizeof(r));
	r.cookie = cookie;
	r.call = act;
	r.family = (uint32_t)ends->family;
	r.type = (uint32_t)ends->type;
	r.protocol = (uint32_t)ends->protocol;
	put_address(ends->family, ends->src, &r.src_high);
	put_address(ends->family, ends->dst, &r.dst_high);
	r.src_port = (uint32_t)ends->src_port;
	r.dst_port = (uint32_t)ends->dst_port;
	r.known |= (ends->src ? SOCKET_KNOWN_SRC : 0) | (ends->dst ? SOCKET_KNOWN_DST : 0);
	return translate(f, &r, sizeof(r));
}

static int closed(struct capture_world *f, uint64_t cookie, const struct ends *ends, uint32_t known)
{
	struct wire_socket_close r = {
		.cookie = cookie,
		.family = (uint32_t)ends->family,
		.type = (uint32_t)ends->type,
		.protocol = (uint32_t)ends->protocol,
		.src_port = (uint32_t)ends->src_port,
		.dst_port = (uint32_t)ends->dst_port,
		.bytes_sent = 12,
		.bytes_received = 34,
		.known = known | (ends->src ? SOCKET_KNOWN_SRC : 0) |
			 (ends->dst ? SOCKET_KNOWN_DST : 0),
	};

	fill_head(&r.head, WIRE_KIND_socket_close, sizeof(r));
	put_address(ends->family, ends->src, &r.src_high);
	put_address(ends->family, ends->dst, &r.dst_high);
	return translate(f, &r, sizeof(r));
}

static const struct wire_socket_call nothing;
static const struct wire_socket_call success = {.known = SOCKET_KNOWN_RESULT};

static struct wire_socket_call failure(int error)
{
	return (struct wire_socket_call){.known = SOCKET_KNOWN_RESULT, .result = (uint32_t)-error};
}

#define TCP4 "\"socket\":5,\"family\":\"inet\",\"protocol\":\"tcp\","
#define SRC4 "\"src\":{\"address\":\"127.0.0.1\",\"port\":40000},"
#define DST4 "\"dst\":{\"address\":\"10.1.2.3\",\"port\":443}"

/* ---- calls ---- */

static void a_connection_has_its_ends_and_its_result(void **state)
{
	struct wire_socket_call refused = failure(ECONNREFUSED), interrupted = failure(512);
	struct ends asked = tcp4;

	assert_int_equal(call(*state, 5, SOCKET_CONNECT, &tcp4, &success), 0);
	expect(*state, "net.connect", TCP4 SRC4 DST4 ",\"result\":0}\n");
	asked.src = NULL;
	assert_int_equal(call(*state, 5, SOCKET_CONNECT, &asked, &refused), 0);
	expect(*state, "net.connect", TCP4 DST4 ",\"result\":-111,\"error\":\"ECONNREFUSED\"}\n");
	assert_int_equal(call(*state, 5, SOCKET_CONNECT, &asked, &interrupted), 0);
	expect(*state, "net.connect", TCP4 DST4 ",\"result\":-4,\"error\":\"EINTR\"}\n");
}

static void each_family_shows_its_addresses(void **state)
{
	static const struct {
		struct ends ends;
		const char *fields;
	} sockets[] = {
		{{AF_INET6, SOCK_STREAM, IPPROTO_TCP, "::1", "2001:db8::7", 1, 2},
		 "\"socket\":5,\"family\":\"inet6\",\"protocol\":\"tcp\",\"src\":{\"address\":\"::"
		 "1\","
		 "\"port\":1},\"dst\":{\"address\":\"2001:db8::7\",\"port\":2},\"result\":0}\n"},
		{{AF_INET6, SOCK_DGRAM, IPPROTO_UDP, NULL, "::ffff:10.0.0.1", 0, 53},
		 "\"socket\":5,\"family\":\"inet6\",\"protocol\":\"udp\",\"dst\":{\"address\":"
		 "\"::ffff:10.0.0.1\",\"port\":53},\"result\":0}\n"},
		{{AF_INET, SOCK_DGRAM, IPPROTO_ICMP, NULL, "10.0.0.1", 0, 77},
		 "\"socket\":5,\"family\":\"inet\",\"protocol\":\"icmp\",\"dst\":{\"address\":"
		 "\"10.0.0.1\"},\"result\":0}\n"},
		{{AF_INET, SOCK_RAW, IPPROTO_ICMP, NULL, "10.0.0.1", 1, 0},
		 "\"socket\":5,\"family\":\"inet\",\"protocol\":\"raw\",\"dst\":{\"address\":"
		 "\"10.0.0.1\"},\"result\":0}\n"},
		{{AF_VSOCK, SOCK_STREAM, 0, NULL, NULL, 0, 0},
		 "\"socket\":5,\"family\":\"vsock\",\"protocol\":\"stream\",\"result\":0}\n"},
		{{AF_INET, SOCK_STREAM, 199, NULL, NULL, 0, 0},
		 "\"socket\":5,\"family\":\"inet\",\"result\":0}\n"},
		{{99, 99, 0, NULL, NULL, 0, 0}, "\"socket\":5,\"result\":0}\n"},
	};

	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		assert_int_equal(call(*state, 5, SOCKET_CONNECT, &sockets[i].ends, &success), 0);
		expect(*state, "net.connect", sockets[i].fields);
	}
}

static void servers_and_datagrams_are_told(void **state)
{
	const struct wire_socket_call listening = {.backlog = 128};
	const struct wire_socket_call sent = {.known = SOCKET_KNOWN_RESULT | SOCKET_KNOWN_SIZE,
					      .size = 99};
	struct wire_socket_call in_use = failure(EADDRINUSE);
	struct ends own = tcp4, peer = tcp4;

	own.dst = NULL;
	peer.src = NULL;
	assert_int_equal(call(*state, 5, SOCKET_BIND, &own, &success), 0);
	expect(*state, "net.bind",
	       TCP4 "\"src\":{\"address\":\"127.0.0.1\",\"port\":40000},\"result\":0}\n");
	assert_int_equal(call(*state, 6, SOCKET_BIND, &own, &in_use), 0);
	expect(*state, "net.bind",
	       "\"socket\":6,\"family\":\"inet\",\"protocol\":\"tcp\",\"src\":{\"address\":"
	       "\"127.0.0.1\",\"port\":40000},\"result\":-98,\"error\":\"EADDRINUSE\"}\n");
	assert_int_equal(call(*state, 5, SOCKET_LISTEN, &own, &listening), 0);
	expect(*state, "net.listen",
	       TCP4 "\"src\":{\"address\":\"127.0.0.1\",\"port\":40000},\"backlog\":128}\n");
	assert_int_equal(call(*state, 5, SOCKET_ACCEPT, &tcp4, &nothing), 0);
	expect(*state, "net.accept", TCP4 SRC4 DST4 "}\n");
	assert_int_equal(call(*state, 5, SOCKET_SEND, &peer, &sent), 0);
	expect(*state, "net.send", TCP4 DST4 ",\"size\":99,\"result\":0}\n");
	assert_int_equal(call(*state, 5, SOCKET_SEND, &peer, &nothing), 0);
	expect(*state, "net.send", TCP4 DST4 "}\n");
}

static void an_unknown_call_is_refused(void **state)
{
	struct capture_world *f = *state;

	assert_int_equal(call(f, 5, 0, &tcp4, &success), -EBADMSG);
	assert_int_equal(call(f, 5, SOCKET_PAIR, &tcp4, &success), -EBADMSG);
	assert_int_equal(call(f, 5, 77, &tcp4, &success), -EBADMSG);
	assert_int_equal(f->events, 0);
}

/* ---- unix ---- */

static void unix_call(struct capture_world *f, const struct wire_socket_call *more,
		      const char *name, size_t name_size, const char *path, size_t path_size)
{
	size_t size = sizeof(*more) + name_size + path_size;
	struct wire_socket_call *r = calloc(1, size);

	*r = *more;
	fill_head(&r->head, WIRE_KIND_socket_call, (uint32_t)size);
	r->cookie = 5;
	r->family = AF_UNIX;
	r->type = SOCK_STREAM;
	r->unix_name_length = (uint32_t)name_size;
	r->unix_path_length = (uint32_t)path_size;
	memcpy(r->tails, name, name_size);
	memcpy(r->tails + name_size, path, path_size);
	assert_int_equal(translate(f, r, size), 0);
	free(r);
}

#define UNIX "\"socket\":5,\"family\":\"unix\",\"protocol\":\"stream\""

static void unix_names_say_where_they_come_from(void **state)
{
	struct wire_socket_call connect = success, missing = failure(ENOENT);

	connect.call = missing.call = SOCKET_CONNECT;
	missing.known |= SOCKET_FROM_MEMORY;
	unix_call(*state, &connect, "rel.sock\0", 9, "rel.sock\0tmp\0", 13);
	expect(*state, "net.unix",
	       "\"act\":\"connect\"," UNIX ",\"unix\":{\"path\":\"/tmp/rel.sock\"},\"path_source\":"
	       "\"kernel\",\"result\":0}\n");
	unix_call(*state, &missing, "/no/such\0junk", 13, "", 0);
	expect(*state, "net.unix",
	       "\"act\":\"connect\"," UNIX
	       ",\"unix\":{\"path\":\"/no/such\"},\"path_source\":\"args\","
	       "\"result\":-2,\"error\":\"ENOENT\"}\n");
	connect.path_flags = 2;
	unix_call(*state, &connect, "/host.sock", 10, "host.sock\0", 10);
	expect(*state, "net.unix",
	       "\"act\":\"connect\"," UNIX ",\"unix\":{\"path\":\"/host.sock\"},\"path_source\":"
	       "\"kernel\",\"path_detached\":true,\"result\":0}\n");
}

static void abstract_names_keep_all_their_bytes(void **state)
{
	struct wire_socket_call bind = success, pair = {.call = SOCKET_PAIR};

	bind.call = SOCKET_BIND;
	unix_call(*state, &bind, "\0a\0b", 4, "", 0);
	expect(*state, "net.unix",
	       "\"act\":\"bind\"," UNIX ",\"unix\":{\"abstract\":\"a\\u0000b\"},\"path_source\":"
	       "\"kernel\",\"result\":0}\n");
	unix_call(*state, &pair, "", 0, "", 0);
	expect(*state, "net.unix", "\"act\":\"pair\"," UNIX "}\n");
}

/* ---- closing ---- */

static void a_closed_socket_says_what_went_through_it(void **state)
{
	assert_int_equal(closed(*state, 5, &tcp4, SOCKET_KNOWN_BYTES), 0);
	expect(*state, "net.close", TCP4 SRC4 DST4 ",\"bytes_sent\":12,\"bytes_received\":34}\n");
	assert_int_equal(closed(*state, 5, &tcp4, 0), 0);
	expect(*state, "net.close", TCP4 SRC4 DST4 "}\n");
}

static void a_broken_connection_keeps_the_peer_that_it_had(void **state)
{
	struct capture_world *f = *state;
	struct ends bare = tcp4;

	bare.src = bare.dst = NULL;
	bare.src_port = bare.dst_port = 0;
	assert_int_equal(call(f, 5, SOCKET_CONNECT, &tcp4, &success), 0);
	f->events = 0;
	assert_int_equal(closed(f, 5, &bare, SOCKET_KNOWN_BYTES), 0);
	expect(f, "net.close", TCP4 SRC4 DST4 ",\"bytes_sent\":12,\"bytes_received\":34}\n");
	/* It is forgotten then. */
	assert_int_equal(closed(f, 5, &bare, SOCKET_KNOWN_BYTES), 0);
	expect(f, "net.close",
	       "\"socket\":5,\"family\":\"inet\",\"protocol\":\"tcp\",\"bytes_sent\":12,"
	       "\"bytes_received\":34}\n");
}

static void what_nobody_closed_is_told_at_the_end(void **state)
{
	struct wire_socket_call refused = failure(EADDRINUSE), bad = failure(EINVAL);
	struct capture_world *f = *state;
	struct ends own = tcp4, bare = tcp4;

	own.dst = NULL;
	bare.src = bare.dst = NULL;
	assert_int_equal(call(f, 5, SOCKET_CONNECT, &tcp4, &success), 0);
	assert_int_equal(call(f, 6, SOCKET_CONNECT, &tcp4, &success), 0);
	assert_int_equal(call(f, 7, SOCKET_BIND, &own, &refused), 0);
	assert_int_equal(call(f, 8, SOCKET_CONNECT, &bare, &bad), 0);
	assert_int_equal(closed(f, 6, &tcp4, 0), 0);
	f->events = 0;
	assert_int_equal(sockets_finish(f->capture), 0);
	expect(f, "net.close", TCP4 SRC4 DST4 ",\"still_open\":true}\n");
}

/* ---- names ---- */

static void learn(struct capture_world *f, const char *address, const char *name)
{
	uint8_t bytes[16];
	int family = strchr(address, ':') ? AF_INET6 : AF_INET;

	assert_int_equal(inet_pton(family, address, bytes), 1);
	sockets_learn_name(f->capture->sockets, bytes, family == AF_INET ? 4 : 16,
			   (struct bytes){name, strlen(name)});
}

static void a_connection_carries_the_name_that_was_asked_for(void **state)
{
	struct capture_world *f = *state;

	learn(f, "10.1.2.3", "www.test");
	assert_int_equal(call(f, 5, SOCKET_CONNECT, &tcp4, &success), 0);
	expect(f, "net.connect", TCP4 SRC4 DST4 ",\"name\":\"www.test\",\"result\":0}\n");
	assert_int_equal(closed(f, 5, &tcp4, 0), 0);
	expect(f, "net.close", TCP4 SRC4 DST4 ",\"name\":\"www.test\"}\n");
	/* Another name since: the close does not know which one it was. */
	assert_int_equal(call(f, 5, SOCKET_CONNECT, &tcp4, &success), 0);
	learn(f, "10.1.2.3", "other.test");
	f->events = 0;
	assert_int_equal(closed(f, 5, &tcp4, 0), 0);
	expect(f, "net.close", TCP4 SRC4 DST4 "}\n");
	/* Who is accepted was not asked for. */
	assert_int_equal(call(f, 5, SOCKET_ACCEPT, &tcp4, &nothing), 0);
	expect(f, "net.accept", TCP4 SRC4 DST4 "}\n");
	assert_int_equal(closed(f, 5, &tcp4, 0), 0);
	expect(f, "net.close", TCP4 SRC4 DST4 "}\n");
}

static void many_sockets_come_and_go(void **state)
{
	struct capture_world *f = *state;

	for (uint64_t cookie = 1; cookie <= SOCKETS_MAX + 10; cookie++)
		assert_int_equal(call(f, cookie, SOCKET_CONNECT, &tcp4, &success), 0);
	for (uint64_t cookie = 1; cookie <= SOCKETS_MAX + 10; cookie += 2)
		assert_int_equal(closed(f, cookie, &tcp4, 0), 0);
	f->events = 0;
	assert_int_equal(sockets_finish(f->capture), 0);
	assert_int_equal(f->events, SOCKETS_MAX / 2);
	for (uint64_t cookie = 100000; cookie < 100000 + SOCKETS_MAX / 2 + 10; cookie++)
		assert_int_equal(call(f, cookie, SOCKET_CONNECT, &tcp4, &success), 0);
	f->events = 0;
	assert_int_equal(sockets_finish(f->capture), 0);
	assert_int_equal(f->events, SOCKETS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, capture_world_set_up, capture_world_tear_down)
		TEST(a_connection_has_its_ends_and_its_result),
		TEST(each_family_shows_its_addresses),
		TEST(servers_and_datagrams_are_told),
		TEST(an_unknown_call_is_refused),
		TEST(unix_names_say_where_they_come_from),
		TEST(abstract_names_keep_all_their_bytes),
		TEST(a_closed_socket_says_what_went_through_it),
		TEST(a_broken_connection_keeps_the_peer_that_it_had),
		TEST(what_nobody_closed_is_told_at_the_end),
		TEST(a_connection_carries_the_name_that_was_asked_for),
		TEST(many_sockets_come_and_go),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
