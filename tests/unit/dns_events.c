/* DNS packets as events, and what they teach about addresses. */
#include "../../supervisor/capture/sockets.h"
#include "capture_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#define BYTES(literal) (literal), sizeof(literal) - 1
#define WWW_A "\3www\4test\0\0\1\0\1"
#define QUERY "\0\x07\1\0\0\1\0\0\0\0\0\0" WWW_A
#define ANSWER "\0\x07\x81\x80\0\1\0\1\0\0\0\0" WWW_A "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\1\2\3"

#define ENDS(protocol)                                                                             \
	"\"transport\":\"" protocol "\",\"socket\":5,\"family\":\"inet\",\"protocol\":\"" protocol \
	"\",\"src\":{\"address\":\"10.0.0.1\",\"port\":40000},"                                    \
	"\"dst\":{\"address\":\"10.0.0.2\",\"port\":53}"
#define WWW "\"id\":7,\"name\":\"www.test\",\"type\":\"A\","

/* The one event since: its kind, and what follows who acted. NULL: there was none. */
static void expect(struct capture_world *w, const char *kind, const char *fields)
{
	char start[64];

	snprintf(start, sizeof(start), "\"kind\":\"%s\",", kind ? kind : "");
	expect_one(w, kind ? start : NULL, fields);
}

struct passing {
	bool ingress, tcp;
	uint32_t sequence, flags, src_port, missing;
};

static int pass(struct capture_world *f, const struct passing *p, const void *data, size_t size)
{
	const size_t padding = 3;
	size_t record_size = sizeof(struct wire_dns_packet) + size + padding;
	struct wire_dns_packet *r = calloc(1, record_size);
	struct wire_record record;
	const char *why;

	r->head.kind = WIRE_KIND_dns_packet;
	r->head.class = WIRE_CLASS_dns;
	r->head.length = (uint32_t)record_size;
	r->cookie = 5;
	r->family = AF_INET;
	r->protocol = p->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	inet_pton(AF_INET, "10.0.0.1", &r->src_high);
	inet_pton(AF_INET, "10.0.0.2", &r->dst_high);
	r->src_port = p->src_port ? p->src_port : 40000;
	r->dst_port = 53;
	r->egress = !p->ingress;
	r->tcp_sequence = p->sequence;
	r->tcp_flags = p->flags;
	r->full_length = (uint32_t)size + p->missing;
	r->payload_length = (uint32_t)size;
	r->padding_length = padding;
	memcpy(r->tails, data, size);
	assert_int_equal(wire_decode(r, record_size, &record, &why), 0);
	int e = capture_record(f->capture, &record);
	free(r);
	return e;
}

static const struct passing query = {0}, answer = {.ingress = true};

static void a_question_and_its_answer(void **state)
{
	assert_int_equal(pass(*state, &query, BYTES(QUERY)), 0);
	expect(*state, "dns.query", WWW ENDS("udp") "}\n");
	assert_int_equal(pass(*state, &answer, BYTES(ANSWER)), 0);
	expect(*state, "dns.answer",
	       WWW "\"rcode\":\"NOERROR\",\"answers\":[\"A 10.1.2.3\"]," ENDS("udp") "}\n");
}

static void an_answer_names_its_addresses(void **state)
{
	struct capture_world *f = *state;
	struct socket_ends ends = {.family = AF_INET, .has_dst = true, .dst = {10, 1, 2, 3}};

	assert_int_equal(pass(f, &query, BYTES(ANSWER)), 0);
	assert_int_equal(sockets_find_name(f->capture->sockets, &ends), 0);
	assert_int_equal(pass(f, &answer, BYTES(ANSWER)), 0);
	assert_int_not_equal(sockets_find_name(f->capture->sockets, &ends), 0);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct passing cut = {.ingress = true, .missing = 10};

	assert_int_equal(pass(*state, &query, BYTES("junk")), 0);
	expect(*state, "dns.query",
	       ENDS("udp") ",\"malformed\":\"4 bytes, shorter than a head\"}\n");
	assert_int_equal(pass(*state, &query, BYTES(ANSWER)), 0);
	expect(*state, "dns.query",
	       WWW ENDS("udp") ",\"malformed\":\"an answer where a question belongs\"}\n");
	assert_int_equal(pass(*state, &answer, BYTES(QUERY)), 0);
	expect(*state, "dns.answer",
	       WWW "\"rcode\":\"NOERROR\",\"answers\":[]," ENDS(
		       "udp") ",\"malformed\":\"a question where an answer belongs\"}\n");
	assert_int_equal(pass(*state, &cut, ANSWER, sizeof(ANSWER) - 11), 0);
	expect(*state, "dns.answer",
	       WWW "\"rcode\":\"NOERROR\",\"answers\":[]," ENDS(
		       "udp") ",\"malformed\":\"longer than what is kept of a datagram\"}\n");
}

static void between_two_ports_53_the_message_tells_client_from_server(void **state)
{
	static const struct passing client_asks = {.src_port = 53};
	static const struct passing server_is_asked = {.ingress = true, .src_port = 53};
	struct capture_world *f = *state;

	assert_int_equal(pass(f, &client_asks, BYTES(QUERY)), 0);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_dns], 0);
	assert_int_equal(f->events, 1);
	f->events = 0;
	assert_int_equal(pass(f, &server_is_asked, BYTES(QUERY)), 0);
	expect(f, NULL, NULL);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_dns], 1);
	assert_int_equal(pass(f, &client_asks, BYTES(ANSWER)), 0);
	expect(f, NULL, NULL);
	assert_int_equal(pass(f, &server_is_asked, BYTES(ANSWER)), 0);
	assert_int_equal(f->events, 1);
}

static void tcp_is_put_together(void **state)
{
	static const struct passing syn = {.tcp = true, .sequence = 99, .flags = 2};
	struct passing byte = {.tcp = true, .sequence = 100};
	static const char stream[] = "\0\x1a" QUERY;
	struct capture_world *f = *state;

	assert_int_equal(sizeof(QUERY) - 1, 0x1a);
	assert_int_equal(pass(f, &syn, "", 0), 0);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_dns], 1);
	for (size_t i = 0; i < sizeof(stream) - 1; i++, byte.sequence++)
		assert_int_equal(pass(f, &byte, stream + i, 1), 0);
	expect(f, "dns.query", WWW ENDS("tcp") "}\n");
	assert_int_equal(pass(f, &byte, stream, 7), 0);
	assert_int_equal(dns_streams_finish(f->capture), 0);
	expect(f, "dns.query",
	       ENDS("tcp") ",\"malformed\":\"ends after 5 of 26 bytes of a message\"}\n");
	assert_int_equal(f->capture->filtered[WIRE_CLASS_dns], 1);
}

static void a_record_that_contradicts_itself_is_refused(void **state)
{
	struct passing too_long = {.missing = UINT32_MAX};

	assert_int_equal(pass(*state, &too_long, BYTES(QUERY)), -EBADMSG);
	expect(*state, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, capture_world_set_up, capture_world_tear_down)
		TEST(a_question_and_its_answer),
		TEST(an_answer_names_its_addresses),
		TEST(what_is_wrong_is_said),
		TEST(between_two_ports_53_the_message_tells_client_from_server),
		TEST(tcp_is_put_together),
		TEST(a_record_that_contradicts_itself_is_refused),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
