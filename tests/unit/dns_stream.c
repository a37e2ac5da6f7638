/* DNS over TCP put together: whatever way the pieces come, the messages are those that were sent.
 */
#include "../../supervisor/capture/dns_stream.h"

#include "../../supervisor/capture/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIN 1
#define SYN 2
#define RST 4
#define FIRST 1000 /* sequence number of the first byte */

/* What was found: messages and troubles, one a line. Long messages by size and first byte. */
static char log_text[64 * 1024];
static size_t log_length;
static int result_of_found;

static int found(void *context, const struct wire_dns_packet *packet, const void *message,
		 size_t size, const char *why)
{
	(void)context;
	char *to = log_text + log_length;
	size_t left = sizeof(log_text) - log_length;

	if (why)
		log_length += (size_t)snprintf(to, left, "%llu! %s\n",
					       (unsigned long long)packet->cookie, why);
	else if (size <= 16)
		log_length +=
			(size_t)snprintf(to, left, "%.*s\n", (int)size, (const char *)message);
	else
		log_length +=
			(size_t)snprintf(to, left, "%zu x %c\n", size, *(const char *)message);
	return result_of_found;
}

static int set_up(void **state)
{
	struct dns_streams *s;

	log_length = 0;
	log_text[0] = 0;
	result_of_found = 0;
	assert_int_equal(dns_streams_new(&s), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	dns_streams_free(*state);
	return 0;
}

struct piece {
	uint64_t cookie;
	uint32_t sequence, flags;
	const void *data;
	size_t size;
	size_t missing; /* at its end */
	bool ingress;
};

/* The data is as large as it is, so that a sanitizer sees what reads beyond. */
static int add(struct dns_streams *s, const struct piece *p)
{
	struct wire_dns_packet packet = {
		.cookie = p->cookie,
		.egress = !p->ingress,
		.tcp_sequence = p->sequence,
		.tcp_flags = p->flags,
		.full_length = (uint32_t)(p->size + p->missing),
	};
	void *copy = malloc(p->size ? p->size : 1);

	memcpy(copy, p->data ? p->data : "", p->size);
	int r = dns_streams_add(s, &packet, copy, p->size, found, NULL);
	free(copy);
	return r;
}

/* Bytes of stream 1 from FIRST + @at. */
static void put(struct dns_streams *s, size_t at, const void *data, size_t size)
{
	const struct piece p = {
		.cookie = 1, .sequence = FIRST + (uint32_t)at, .data = data, .size = size};

	assert_int_equal(add(s, &p), 0);
}

static void put_flags(struct dns_streams *s, uint32_t sequence, uint32_t flags)
{
	const struct piece p = {.cookie = 1, .sequence = sequence, .flags = flags};

	assert_int_equal(add(s, &p), 0);
}

static const char two[] = "\0\5first\0\6second"; /* 15 bytes, then the final NUL */
#define TWO_SIZE (sizeof(two) - 1)

static void takes_whole_messages(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	put(*state, 0, two, TWO_SIZE);
	assert_string_equal(log_text, "first\nsecond\n");
	put(*state, TWO_SIZE, "\0\0", 2);
	assert_string_equal(log_text, "first\nsecond\n\n");
}

static void takes_bytes_one_by_one(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	for (size_t i = 0; i < TWO_SIZE; i++)
		put(*state, i, two + i, 1);
	assert_string_equal(log_text, "first\nsecond\n");
}

static void takes_the_longest_message(void **state)
{
	static char longest[2 + 65535 + 8];

	memset(longest, 'z', sizeof(longest));
	longest[0] = longest[1] = (char)0xff;
	memcpy(longest + 2 + 65535, "\0\6behind", 8);
	for (size_t at = 0; at < sizeof(longest); at += 4096)
		put(*state, at, longest + at,
		    sizeof(longest) - at < 4096 ? sizeof(longest) - at : 4096);
	assert_string_equal(log_text, "65535 x z\nbehind\n");
}

static void takes_pieces_again_and_overlapping(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	put_flags(*state, FIRST - 1, SYN);
	put(*state, 0, two, 4);
	put(*state, 0, two, 4);
	put(*state, 2, two + 2, 8);
	put(*state, 1, two + 1, 3);
	put(*state, 0, two, TWO_SIZE);
	put(*state, 0, two, TWO_SIZE);
	assert_string_equal(log_text, "first\nsecond\n");
}

static void takes_pieces_out_of_order(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	put(*state, 10, two + 10, 5);
	put(*state, 3, two + 3, 4);
	put(*state, 3, two + 3, 6);
	assert_string_equal(log_text, "");
	put(*state, 0, two, 3);
	put(*state, 9, two + 9, 1);
	assert_string_equal(log_text, "first\nsecond\n");
}

/* A small generator of our own, so that a failure comes again. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Cut @size bytes into pieces at random, shuffle each 20 of them, send some twice. */
static void send_shuffled(struct dns_streams *s, const char *data, size_t size, uint32_t seed)
{
	size_t starts[512], count = 0;

	for (size_t at = 0; at < size && count < 510; at += 1 + next_random(&seed) % 40)
		starts[count++] = at;
	starts[count] = size;
	size_t order[512];
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = 0; i < count; i++) {
		size_t block = i / 20 * 20, last = block + 20 < count ? block + 20 : count;
		size_t other = block + next_random(&seed) % (last - block);
		size_t kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t i = 0; i < count; i++) {
		size_t at = starts[order[i]], end = starts[order[i] + 1];
		size_t more = next_random(&seed) % 10;

		end = end + more < size ? end + more : end; /* overlaps with the next */
		put(s, at, data + at, end - at);
		if (next_random(&seed) % 5 == 0)
			put(s, at, data + at, end - at);
	}
}

static void takes_any_order(void **state)
{
	char data[4000], expected[4096];
	size_t size = 0, length = 0;

	for (unsigned int i = 0; size + 18 < sizeof(data) && length + 18 < sizeof(expected); i++) {
		int n = snprintf(data + size + 2, 17, "message-%u", i);

		data[size] = 0;
		data[size + 1] = (char)n;
		size += 2 + (size_t)n;
		length += (size_t)snprintf(expected + length, sizeof(expected) - length,
					   "message-%u\n", i);
	}
	for (uint32_t seed = 1; seed <= 200; seed++) {
		log_length = 0;
		put_flags(*state, FIRST - 1, SYN);
		send_shuffled(*state, data, size, seed);
		assert_string_equal(log_text, expected);
		put_flags(*state, FIRST + (uint32_t)size, FIN);
	}
}

static void counts_round_the_end_of_numbers(void **state)
{
	const uint32_t start = UINT32_MAX - 3;

	put_flags(*state, start - 1, SYN);
	for (size_t i = TWO_SIZE; i-- > 0;) {
		const struct piece p = {
			.cookie = 1, .sequence = start + (uint32_t)i, .data = two + i, .size = 1};
		assert_int_equal(add(*state, &p), 0);
	}
	assert_string_equal(log_text, "first\nsecond\n");
}

static void takes_data_with_a_syn(void **state)
{
	const struct piece p = {
		.cookie = 1, .sequence = FIRST - 1, .flags = SYN, .data = two, .size = 9};

	assert_int_equal(add(*state, &p), 0);
	put(*state, 9, two + 9, 6);
	assert_string_equal(log_text, "first\nsecond\n");
}

static void begins_anew_with_a_socket_that_is_connected_again(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	put(*state, 0, two, 4);
	put_flags(*state, 7000, SYN);
	const struct piece p = {.cookie = 1, .sequence = 7001, .data = two, .size = TWO_SIZE};
	assert_int_equal(add(*state, &p), 0);
	assert_string_equal(log_text, "1! ends after 2 of 5 bytes of a message\nfirst\nsecond\n");
}

static void keeps_streams_and_directions_apart(void **state)
{
	struct piece pieces[] = {
		{.cookie = 1, .sequence = 10, .data = "\0\3o", .size = 3},
		{.cookie = 2, .sequence = 10, .data = "\0\3t", .size = 3},
		{.cookie = 1, .sequence = 90, .data = "\0\3i", .size = 3, .ingress = true},
		{.cookie = 2, .sequence = 13, .data = "wo", .size = 2},
		{.cookie = 1, .sequence = 93, .data = "n.", .size = 2, .ingress = true},
		{.cookie = 1, .sequence = 13, .data = "ne", .size = 2},
	};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		assert_int_equal(add(*state, &pieces[i]), 0);
	assert_string_equal(log_text, "two\nin.\none\n");
}

/* ---- what is missing ---- */

static void says_that_a_message_was_not_finished(void **state)
{
	put(*state, 0,
	    "\0\x50"
	    "abc",
	    5);
	put_flags(*state, FIRST + 5, FIN);
	assert_string_equal(log_text, "1! ends after 3 of 80 bytes of a message\n");
	log_length = 0;
	put(*state, 0, "\0", 1);
	put_flags(*state, FIRST + 1, RST);
	assert_string_equal(log_text, "1! ends in the middle of a message's length\n");
	log_length = 0;
	put(*state, 0, "\0\5ab", 4);
	assert_int_equal(dns_streams_end(*state, found, NULL), 0);
	assert_string_equal(log_text, "1! ends after 2 of 5 bytes of a message\n");
}

static void an_end_waits_for_what_comes_before_it(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	put(*state, 0, two, 4);
	put_flags(*state, FIRST + TWO_SIZE, FIN);
	assert_string_equal(log_text, "");
	put(*state, 4, two + 4, TWO_SIZE - 4);
	assert_string_equal(log_text, "first\nsecond\n");
	assert_int_equal(dns_streams_end(*state, found, NULL), 0);
	assert_string_equal(log_text, "first\nsecond\n");
}

static void says_what_never_came_and_takes_up_again(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	put(*state, 0, two, 4);
	/* 5 bytes never come; what follows is not a message's beginning, and then is one. */
	put(*state, 9, two + 9, 6);
	put(*state, 15, "\0\4next", 6);
	put_flags(*state, FIRST + 21, FIN);
	assert_string_equal(log_text, "");
	assert_int_equal(dns_streams_end(*state, found, NULL), 0);
	assert_string_equal(log_text, "1! 5 bytes are missing\nnext\n");
}

static void says_what_a_piece_lacks(void **state)
{
	const struct piece p = {
		.cookie = 1, .sequence = FIRST, .data = "\0\5fi", .size = 4, .missing = 3};

	put_flags(*state, FIRST - 1, SYN);
	assert_int_equal(add(*state, &p), 0);
	put(*state, 7, two + 7, 8);
	assert_string_equal(log_text, "1! 3 bytes are missing\nsecond\n");
}

static void gives_up_waiting_when_too_much_waits(void **state)
{
	put_flags(*state, FIRST - 1, SYN);
	for (size_t i = 0; i < DNS_STREAM_HELD_MAX; i++)
		put(*state, 10 + 3 * i, "\0\1m", 3);
	assert_string_equal(log_text, "");
	put(*state, 10 + 3 * DNS_STREAM_HELD_MAX, "\0\1n", 3);
	assert_int_equal(strncmp(log_text, "1! 10 bytes are missing\nm\nm\n", 28), 0);
	assert_string_equal(log_text + log_length - 4, "m\nn\n");
	assert_int_equal(log_length, 24 + 2 * DNS_STREAM_HELD_MAX + 2);
}

static void the_stream_unused_longest_makes_room(void **state)
{
	for (uint64_t cookie = 1; cookie <= DNS_STREAMS_MAX + 2; cookie++) {
		const struct piece p = {
			.cookie = cookie, .sequence = FIRST, .data = "\0\5ab", .size = 4};
		const struct piece again = {
			.cookie = 1, .sequence = FIRST + 4, .data = "c", .size = 1};

		assert_int_equal(add(*state, &p), 0);
		if (cookie == 3)
			assert_int_equal(add(*state, &again), 0);
	}
	assert_string_equal(log_text, "2! ends after 2 of 5 bytes of a message\n"
				      "3! ends after 2 of 5 bytes of a message\n");
}

static void what_all_streams_hold_is_bounded(void **state)
{
	static char big[32768];

	/* Each stream waits for the rest of 65,535 bytes. */
	memset(big, 0xff, sizeof(big));
	for (uint64_t cookie = 1; cookie <= DNS_STREAMS_MAX; cookie++) {
		const struct piece p = {
			.cookie = cookie, .sequence = FIRST, .data = big, .size = sizeof(big)};

		assert_int_equal(add(*state, &p), 0);
	}
	size_t told = 0;
	for (size_t i = 0; i < log_length; i++)
		told += log_text[i] == '\n';
	assert_in_range(DNS_STREAMS_MAX - told, 1, DNS_STREAMS_BYTES_MAX / sizeof(big));
	assert_true(told > 0);
}

static void the_tail_of_an_end_makes_no_stream(void **state)
{
	put_flags(*state, FIRST, FIN);
	put_flags(*state, FIRST, RST);
	put_flags(*state, FIRST, 0);
	assert_int_equal(dns_streams_end(*state, found, NULL), 0);
	assert_string_equal(log_text, "");
}

static void passes_on_what_found_returns(void **state)
{
	const struct piece p = {.cookie = 1, .sequence = FIRST, .data = two, .size = TWO_SIZE};
	const struct piece part = {.cookie = 2, .sequence = FIRST, .data = two, .size = 3};

	result_of_found = -EIO;
	assert_int_equal(add(*state, &p), -EIO);
	assert_string_equal(log_text, "first\n");
	assert_int_equal(add(*state, &part), 0);
	assert_int_equal(dns_streams_end(*state, found, NULL), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(takes_whole_messages),
		TEST(takes_bytes_one_by_one),
		TEST(takes_the_longest_message),
		TEST(takes_pieces_again_and_overlapping),
		TEST(takes_pieces_out_of_order),
		TEST(takes_any_order),
		TEST(counts_round_the_end_of_numbers),
		TEST(takes_data_with_a_syn),
		TEST(begins_anew_with_a_socket_that_is_connected_again),
		TEST(keeps_streams_and_directions_apart),
		TEST(says_that_a_message_was_not_finished),
		TEST(an_end_waits_for_what_comes_before_it),
		TEST(says_what_never_came_and_takes_up_again),
		TEST(says_what_a_piece_lacks),
		TEST(gives_up_waiting_when_too_much_waits),
		TEST(the_stream_unused_longest_makes_room),
		TEST(what_all_streams_hold_is_bounded),
		TEST(the_tail_of_an_end_makes_no_stream),
		TEST(passes_on_what_found_returns),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
