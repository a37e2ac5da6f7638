/* The DNS parser: what messages say, and that nothing in a hostile one leads astray. */
#include "../../supervisor/capture/dns.h"
#include "../../supervisor/capture/dns_value.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 4096

/* Bytes of a string literal that may contain NULs. */
#define BYTES(literal) (literal), sizeof(literal) - 1

#define HEAD(flags, questions, answers, authorities, additionals)                                  \
	"\x12\x34" flags "\x00" questions "\x00" answers "\x00" authorities "\x00" additionals
#define QUERY HEAD("\x01\x00", "\x01", "\x00", "\x00", "\x00")
#define ANSWER(count) HEAD("\x81\x80", "\x01", count, "\x00", "\x00")
#define WWW_TEST "\3www\4test\0"
#define ASK_A WWW_TEST "\0\1\0\1"
/* Owner (the question's name), type, class IN, TTL, length. */
#define RECORD(type, length) "\xc0\x0c" type "\0\1\0\0\0\x3c" length

static char room[ROOM];

/* Parse a copy that is exactly as large as it is, so that a sanitizer sees what reads beyond. */
static int parse(const void *data, size_t size, size_t full_size, struct dns_message *m)
{
	void *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	int r = dns_parse(copy, size, full_size, room, sizeof(room), m);
	free(copy);
	return r;
}

static void expect_name(const struct dns_message *m, const char *name)
{
	assert_int_equal(m->name_length, strlen(name));
	assert_memory_equal(m->name, name, m->name_length);
}

static void expect_answers(const struct dns_message *m, const char *packed, size_t size)
{
	assert_int_equal(m->answers.size, size);
	assert_memory_equal(m->answers.data, packed, size);
}

static void reads_a_question(void **state)
{
	(void)state;
	struct dns_message m;

	assert_int_equal(parse(BYTES(QUERY ASK_A), sizeof(QUERY ASK_A) - 1, &m), 0);
	assert_true(m.has_head && m.has_question);
	assert_false(m.is_answer || m.is_truncated || m.is_cut);
	assert_int_equal(m.id, 0x1234);
	assert_int_equal(m.type, DNS_TYPE_A);
	assert_int_equal(m.answers.size, 0);
	expect_name(&m, "www.test");
}

static void reads_answers_and_their_addresses(void **state)
{
	(void)state;
	static const char message[] =
		ANSWER("\x03") ASK_A RECORD("\0\5", "\0\7") "\4real\xc0\x10" RECORD(
			"\0\1", "\0\4") "\x7f\0\0\1" RECORD("\0\x1c", "\0\x10") "\0\0\0\0\0\0\0\0"
										"\0\0\0\0\0\0\0\1";
	struct dns_message m;

	assert_int_equal(parse(BYTES(message), sizeof(message) - 1, &m), 0);
	assert_true(m.is_answer);
	expect_answers(&m, BYTES("CNAME real.test\0A 127.0.0.1\0AAAA ::1\0"));
	assert_int_equal(m.answers_size, m.answers.size);
	assert_int_equal(m.address_count, 2);
	assert_int_equal(m.addresses[0].size, 4);
	assert_memory_equal(m.addresses[0].bytes, "\x7f\0\0\1", 4);
	assert_int_equal(m.addresses[1].size, 16);
}

static void reads_codes_of_answers(void **state)
{
	(void)state;
	static const char nxdomain[] = HEAD("\x81\x83", "\x01", "\0", "\0", "\0") ASK_A;
	static const char truncated[] = HEAD("\x83\x80", "\x01", "\x02", "\0", "\0") ASK_A;
	/* OPT with the upper bits of the code: 1 << 4 | 0 is BADVERS. */
	static const char edns[] =
		HEAD("\x81\x80", "\x01", "\0", "\0", "\x01") ASK_A "\0\0\x29\4\xd0\1\0\0\0\0\0";
	struct dns_message m;

	assert_int_equal(parse(BYTES(nxdomain), sizeof(nxdomain) - 1, &m), 0);
	assert_int_equal(m.rcode, 3);
	assert_int_equal(parse(BYTES(truncated), sizeof(truncated) - 1, &m), 0);
	assert_true(m.is_truncated);
	assert_int_equal(parse(BYTES(edns), sizeof(edns) - 1, &m), 0);
	assert_int_equal(m.rcode, 16);
}

/* ---- names ---- */

/* The name that begins at @at of @message, which ends where it ends. */
static int read_name(const void *message, size_t size, size_t at, char *ret_name, size_t *ret_next)
{
	char *copy = malloc(size);
	struct dns_reader r = {.message = (uint8_t *)copy, .size = size, .at = at, .end = size};
	struct dns_text text = {.data = ret_name, .room = DNS_NAME_TEXT_MAX};

	memcpy(copy, message, size);
	int e = dns_read_name(&r, &text);
	assert_true(text.length <= DNS_NAME_TEXT_MAX);
	ret_name[text.length < DNS_NAME_TEXT_MAX ? text.length : 0] = 0;
	*ret_next = r.at;
	free(copy);
	return e;
}

static void writes_names_with_escapes(void **state)
{
	(void)state;
	static const struct {
		const char *wire;
		size_t size, at;
		const char *name;
	} names[] = {
		{BYTES("\0"), 0, "."},
		{BYTES("\1a\0"), 0, "a"},
		{BYTES("\3a.b\2c\\\0"), 0, "a\\.b.c\\\\"},
		{BYTES("\6 \x01\x7f\xff\n-\0"), 0, "\\032\\001\\127\\255\\010-"},
		{BYTES("\2\0\0\0"), 0, "\\000\\000"},
		{BYTES("\4test\0\3www\xc0\0"), 6, "www.test"},
		{BYTES("\4test\0\xc0\0\1x\xc0\6"), 8, "x.test"},
	};
	char name[DNS_NAME_TEXT_MAX];
	size_t next;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(read_name(names[i].wire, names[i].size, names[i].at, name, &next),
				 0);
		assert_string_equal(name, names[i].name);
		assert_int_equal(next, names[i].size);
	}
}

static void writes_the_longest_name(void **state)
{
	(void)state;
	char wire[256], name[DNS_NAME_TEXT_MAX];
	size_t at = 0, next;

	/* 63 + 63 + 63 + 61 bytes, each shown as four, and three dots: 1,003. */
	for (int label = 0; label < 4; label++) {
		int length = label == 3 ? 61 : 63;
		wire[at++] = (char)length;
		memset(wire + at, 0xff, length);
		at += length;
	}
	wire[at++] = 0;
	assert_int_equal(at, 255);
	assert_int_equal(read_name(wire, at, 0, name, &next), 0);
	assert_int_equal(strlen(name), 1003);
}

static void refuses_names_that_lead_astray(void **state)
{
	(void)state;
	static const struct {
		const char *wire;
		size_t size, at;
	} names[] = {
		{BYTES("\3ab"), 0},	    /* past the end in a label */
		{BYTES("\1a"), 0},	    /* no end */
		{BYTES("\xc0"), 0},	    /* half a pointer */
		{BYTES("\xc0\0"), 0},	    /* to itself */
		{BYTES("\xc0\2\xc0\0"), 0}, /* to one that leads back to it */
		{BYTES("\xc0\2\xc0\0"), 2}, /* the same from the other side */
		{BYTES("\1a\xc0\0"), 0},    /* to its own beginning */
		{BYTES("\1a\xc0\4\0"), 0},  /* forward */
		{BYTES("\xff\xff\0"), 0},   /* far beyond the end */
		{BYTES("\x40"
		       "a\0"),
		 0}, /* labels of unknown kinds */
		{BYTES("\x80"
		       "a\0"),
		 0},
	};
	char name[DNS_NAME_TEXT_MAX];
	size_t next;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(read_name(names[i].wire, names[i].size, names[i].at, name, &next),
				 -EBADMSG);
}

static void refuses_names_that_are_too_long(void **state)
{
	(void)state;
	char name[DNS_NAME_TEXT_MAX];
	uint8_t wire[4096];
	size_t next;

	/* A root, and pointers each to the one before: 127 of them are read, 128 are not. */
	wire[0] = 0;
	for (size_t i = 0; i < 200; i++) {
		size_t target = i == 0 ? 0 : 1 + 2 * (i - 1);
		wire[1 + 2 * i] = (uint8_t)(0xc0 | target >> 8);
		wire[2 + 2 * i] = (uint8_t)target;
	}
	assert_int_equal(read_name(wire, 401, 1 + 2 * 126, name, &next), 0);
	assert_int_equal(read_name(wire, 401, 1 + 2 * 127, name, &next), -EBADMSG);

	/* 256 bytes, where 255 are the most. */
	memset(wire, 'a', sizeof(wire));
	wire[0] = wire[64] = wire[128] = 63;
	wire[192] = 62;
	wire[255] = 0;
	assert_int_equal(read_name(wire, 256, 0, name, &next), -EBADMSG);
}

/* ---- values ---- */

static void writes_values_by_type(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		const char *wire;
		size_t size;
		const char *text;
	} values[] = {
		{1, BYTES("\x7f\0\0\1"), "127.0.0.1"},
		{28, BYTES("\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1"), "2001:db8::1"},
		{2, BYTES("\2ns\0"), "ns"},
		{12, BYTES("\0"), "."},
		{15, BYTES("\0\xa\2mx\0"), "10 mx"},
		{16, BYTES("\2hi\3\"\\\n\0"), "\"hi\" \"\\\"\\\\\\010\" \"\""},
		{16, BYTES("\3a b"), "\"a b\""},
		{33, BYTES("\0\1\0\2\0\x35\1s\0"), "1 2 53 s"},
		{6, BYTES("\1m\0\1r\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\xff\xff\xff\xff"),
		 "m r 1 2 3 4 4294967295"},
		{257, BYTES("\0\5issueca.test"), "0 \"issue\" \"ca.test\""},
		{43, BYTES("\0\1\x8\2\xab\xcd"), "1 8 2 abcd"},
		{48, BYTES("\1\1\3\xd\xff"), "257 3 13 ff"},
		{52, BYTES("\3\1\1\xaa"), "3 1 1 aa"},
		{46, BYTES("\0\1\5\2\0\0\0\x3c\0\0\0\1\0\0\0\2\0\7\1s\0\xee"),
		 "A 5 2 60 1 2 7 s ee"},
		{35, BYTES("\0\1\0\2\1u\1x\0\0"), "1 2 \"u\" \"x\" \"\" ."},
		{256, BYTES("\0\1\0\2x:"), "1 2 \"x:\""},
		{65, BYTES("\0\1\0"), "1 ."},
		{65,
		 BYTES("\0\1\0\0\1\0\6\2h2\2h3\0\2\0\0\0\3\0\2\1\xbb\0\4\0\x8\1\2\3\4\5\6\7\x8"),
		 "1 . alpn=\"h2\",\"h3\" no-default-alpn port=443 ipv4hint=1.2.3.4,5.6.7.8"},
		{64, BYTES("\0\1\0\0\5\0\2\xab\xcd\x12\x34\0\0"), "1 . ech=abcd key4660"},
		{65280, BYTES("\1\2\3"), "\\# 3 010203"},
		{65280, BYTES(""), "\\# 0"},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text_room[256];
		struct dns_text text = {.data = text_room, .room = sizeof(text_room) - 1};
		uint8_t *copy = malloc(values[i].size ? values[i].size : 1);
		struct dns_reader r = {
			.message = copy, .size = values[i].size, .end = values[i].size};

		memcpy(copy, values[i].wire, values[i].size);
		assert_int_equal(dns_put_value(&r, values[i].type, &text), 0);
		text_room[text.length] = 0;
		assert_string_equal(text_room, values[i].text);
		free(copy);
	}
}

static void writes_bytes_where_a_value_is_not_what_its_type_says(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		const char *wire;
		size_t size;
	} values[] = {
		{1, BYTES("\x7f\0\1")},
		{1, BYTES("\x7f\0\0\0\1")},
		{1, BYTES("")},
		{28, BYTES("\x7f\0\0\1")},
		{5, BYTES("\3ab")},
		{5, BYTES("\1a\0x")},
		{16, BYTES("\5ab")},
		{16, BYTES("")},
		{33, BYTES("\0\1\0")},
		{65, BYTES("\0\1\0\0\1\0\x9\2h2")},
		{65, BYTES("\0\1\0\0\3\0\1\1")},
		{65, BYTES("\0\1\0\0\4\0\5\1\2\3\4\5")},
		{65, BYTES("\0\1\0\0\3\0\3\0\1\2")},
		{65, BYTES("\0\1\0\0")},
		{6, BYTES("\0\0\0\0\0\1")},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text_room[256], expected[256];
		struct dns_text text = {.data = text_room, .room = sizeof(text_room) - 1};
		uint8_t *copy = malloc(values[i].size ? values[i].size : 1);
		struct dns_reader r = {
			.message = copy, .size = values[i].size, .end = values[i].size};

		memcpy(copy, values[i].wire, values[i].size);
		assert_int_equal(dns_put_value(&r, values[i].type, &text), -EBADMSG);
		text_room[text.length] = 0;
		int length = snprintf(expected, sizeof(expected), "\\# %zu", values[i].size);
		for (size_t b = 0; b < values[i].size; b++)
			length += snprintf(expected + length, sizeof(expected) - (size_t)length,
					   "%s%02x", b ? "" : " ", (uint8_t)values[i].wire[b]);
		assert_string_equal(text_room, expected);
		free(copy);
	}
}

static void names_types_and_codes(void **state)
{
	(void)state;
	static const struct {
		uint16_t number;
		const char *type, *rcode;
	} names[] = {
		{0, "TYPE0", "NOERROR"},
		{1, "A", "FORMERR"},
		{3, "MD", "NXDOMAIN"},
		{65, "HTTPS", "RCODE65"},
		{255, "ANY", "RCODE255"},
		{23, "TYPE23", "BADCOOKIE"},
		{65535, "TYPE65535", "RCODE65535"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text_room[16];
		struct dns_text text = {.data = text_room, .room = sizeof(text_room)};

		dns_put_type(&text, names[i].number);
		assert_int_equal(text.length, strlen(names[i].type));
		assert_memory_equal(text_room, names[i].type, text.length);
		text.length = 0;
		dns_put_rcode(&text, names[i].number);
		assert_int_equal(text.length, strlen(names[i].rcode));
		assert_memory_equal(text_room, names[i].rcode, text.length);
	}
}

/* ---- what is wrong ---- */

static void says_what_is_malformed_and_keeps_the_rest(void **state)
{
	(void)state;
	static const struct {
		const char *wire;
		size_t size;
		const char *why, *name;
		const char *answers;
		size_t answers_size;
	} messages[] = {
		{BYTES(""), "0 bytes, shorter than a head", "", BYTES("")},
		{BYTES("\x12\x34\1\0\0\1\0\0\0\0\0"), "11 bytes, shorter than a head", "",
		 BYTES("")},
		{BYTES(HEAD("\1\0", "\0", "\0", "\0", "\0")), "no question", "", BYTES("")},
		{BYTES(QUERY), "question 1: name runs past the end", "", BYTES("")},
		{BYTES(QUERY "\3www\4te"), "question 1: name runs past the end", "", BYTES("")},
		{BYTES(QUERY WWW_TEST "\0"), "question 1: runs past the end", "www.test",
		 BYTES("")},
		{BYTES(QUERY "\xc0\x0c\0\1\0\1"), "question 1: name's pointer does not lead back",
		 "", BYTES("")},
		{BYTES(QUERY ASK_A "junk"), "4 bytes behind its end", "www.test", BYTES("")},
		{BYTES(HEAD("\1\0", "\2", "\0", "\0", "\0") ASK_A ASK_A), "2 questions", "www.test",
		 BYTES("")},
		{BYTES(ANSWER("\2") ASK_A RECORD("\0\1", "\0\4") "\1\2\3\4"),
		 "answer 2: name runs past the end", "www.test", BYTES("A 1.2.3.4\0")},
		{BYTES(ANSWER("\1") ASK_A RECORD("\0\1", "\0\4") "\1\2\3"),
		 "answer 1: runs past the end", "www.test", BYTES("")},
		{BYTES(ANSWER("\2") ASK_A RECORD("\0\1", "\0\3") "\1\2\3" RECORD(
			 "\0\1", "\0\4") "\1\2\3\4"),
		 "answer 1: its value is not what its type says", "www.test",
		 BYTES("A \\# 3 010203\0A 1.2.3.4\0")},
		{BYTES(HEAD("\x81\x80", "\1", "\0", "\1", "\0") ASK_A "\0\0\2"),
		 "authority 1: runs past the end", "www.test", BYTES("")},
		{BYTES(HEAD("\x81\x80", "\1", "\0", "\0", "\1") ASK_A "\0\0\x29\4\xd0\0\0\0\0\0\1"),
		 "additional 1: runs past the end", "www.test", BYTES("")},
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		struct dns_message m;

		assert_int_equal(parse(messages[i].wire, messages[i].size, messages[i].size, &m),
				 -EBADMSG);
		assert_string_equal(m.malformed, messages[i].why);
		expect_name(&m, messages[i].name);
		expect_answers(&m, messages[i].answers, messages[i].answers_size);
	}
}

static const char whole_answer[] =
	ANSWER("\2") ASK_A RECORD("\0\1", "\0\4") "\1\2\3\4" RECORD("\0\x10", "\0\6") "\5hello";

static void every_beginning_of_a_message_is_malformed(void **state)
{
	(void)state;
	struct dns_message m;

	for (size_t size = 0; size < sizeof(whole_answer) - 1; size++)
		assert_int_equal(parse(whole_answer, size, size, &m), -EBADMSG);
	assert_int_equal(parse(BYTES(whole_answer), sizeof(whole_answer) - 1, &m), 0);
	expect_answers(&m, BYTES("A 1.2.3.4\0TXT \"hello\"\0"));
}

static void what_was_not_kept_is_cut_and_not_malformed(void **state)
{
	(void)state;
	struct dns_message m;

	for (size_t size = 12; size < sizeof(whole_answer) - 1; size++) {
		assert_int_equal(parse(whole_answer, size, sizeof(whole_answer) - 1, &m), 0);
		assert_true(m.is_cut);
	}
	assert_int_equal(parse(BYTES(whole_answer), sizeof(whole_answer) - 1, &m), 0);
	assert_false(m.is_cut);
}

static void a_server_may_cut_in_the_middle_if_it_says_so(void **state)
{
	(void)state;
	char message[sizeof(whole_answer)];
	struct dns_message m;

	memcpy(message, whole_answer, sizeof(message));
	message[2] |= 2; /* TC */
	assert_int_equal(parse(message, sizeof(message) - 3, sizeof(message) - 3, &m), 0);
	assert_true(m.is_truncated);
	expect_answers(&m, BYTES("A 1.2.3.4\0"));
}

static void answers_without_room_are_counted(void **state)
{
	(void)state;
	struct dns_message m;

	for (size_t size = 0; size < 30; size++) {
		char *small = malloc(size ? size : 1);

		assert_int_equal(
			dns_parse(BYTES(whole_answer), sizeof(whole_answer) - 1, small, size, &m),
			0);
		assert_int_equal(m.answers.size, size < 10 ? 0 : size < 22 ? 10 : 22);
		assert_int_equal(m.answers_size, 22);
		free(small);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_question),
		cmocka_unit_test(reads_answers_and_their_addresses),
		cmocka_unit_test(reads_codes_of_answers),
		cmocka_unit_test(writes_names_with_escapes),
		cmocka_unit_test(writes_the_longest_name),
		cmocka_unit_test(refuses_names_that_lead_astray),
		cmocka_unit_test(refuses_names_that_are_too_long),
		cmocka_unit_test(writes_values_by_type),
		cmocka_unit_test(writes_bytes_where_a_value_is_not_what_its_type_says),
		cmocka_unit_test(names_types_and_codes),
		cmocka_unit_test(says_what_is_malformed_and_keeps_the_rest),
		cmocka_unit_test(every_beginning_of_a_message_is_malformed),
		cmocka_unit_test(what_was_not_kept_is_cut_and_not_malformed),
		cmocka_unit_test(a_server_may_cut_in_the_middle_if_it_says_so),
		cmocka_unit_test(answers_without_room_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
