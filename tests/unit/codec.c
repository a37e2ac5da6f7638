/*
 * Journal payloads: what is encoded is decoded equal, and nothing malformed is taken.
 */
#include "supervisor/record/codec.h"
#include "sample.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

static uint8_t *encode(const struct event *e, uint64_t seq, size_t *ret_size)
{
	uint8_t *bytes = malloc(codec_bound(e));

	assert_non_null(bytes);
	*ret_size = codec_encode(e, seq, bytes);
	assert_true(*ret_size <= codec_bound(e));
	return bytes;
}

static void every_kind_comes_back_equal(void **state)
{
	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		for (unsigned variant = 0; variant < SAMPLE_VARIANTS; variant++) {
			struct event e, back;
			const char *why = NULL;
			size_t size;
			uint8_t *bytes;

			sample_event(&e, k, variant);
			bytes = encode(&e, UINT64_MAX - k, &size);
			assert_int_equal(codec_decode((struct bytes){bytes, size}, &back, &why), 0);
			e.seq = UINT64_MAX - k;
			assert_true(same_event(&e, &back));
			free(bytes);
		}
	}
}

/* A payload that ends anywhere else is refused, or is a shorter list of whole values. */
static void no_cut_payload_reads_past_its_end(void **state)
{
	struct event e, back;
	const char *why;
	size_t size;
	uint8_t *bytes;

	(void)state;
	sample_event(&e, EVENT_process_exec, 2);
	bytes = encode(&e, 9, &size);
	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *copy = malloc(cut + 1); /* its own, so that the sanitizer sees its end */
		int r;

		memcpy(copy, bytes, cut);
		r = codec_decode((struct bytes){copy, cut}, &back, &why);
		assert_true(r == -EBADMSG || (r == 0 && back.count < e.count));
		free(copy);
	}
	free(bytes);
}

static int decode(const char *bytes, size_t size)
{
	struct event e;
	const char *why = NULL;
	int r = codec_decode((struct bytes){bytes, size}, &e, &why);

	assert_true(!r == !why);
	return r;
}

#define HEAD(kind)                                                                                 \
	kind "\x01"                                                                                \
	     "TTTTTTTT"                                                                            \
	     "BBBBBBBB"
#define DECODE(text) decode(text, sizeof(text) - 1)

static void malformed_payloads_are_refused(void **state)
{
	(void)state;
	assert_int_equal(EVENT_clock, 49); /* "\x31": the rows below are written for it */
	assert_int_equal(FIELD_exec, 1);
	assert_int_equal(DECODE(HEAD("\x31")), 0);
	assert_int_equal(DECODE(""), -EBADMSG);
	assert_int_equal(DECODE(HEAD("\x00")), -EBADMSG);
	assert_int_equal(DECODE(HEAD("\xff\x7f")), -ENOTSUP);	     /* kind 16383 */
	assert_int_equal(DECODE(HEAD("\xb1\x00")), -EBADMSG);	     /* not the shortest form */
	assert_int_equal(DECODE(HEAD("\x31") "\x00\x01"), -EBADMSG); /* field 0 */
	assert_int_equal(DECODE(HEAD("\x31") "\x02\x01"), -ENOTSUP); /* not a field of it */
	assert_int_equal(DECODE(HEAD("\x31") "\xfe\xff\x03\x01"), -ENOTSUP); /* field 32767 */
	assert_int_equal(DECODE(HEAD("\x31") "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
			 -EBADMSG); /* a number of more than 64 bits */
}

static void a_value_is_checked(void **state)
{
	static const char twice[] = HEAD("\x0a") "\x02\x05\x02\x05";
	static const char text_too_long[] = HEAD("\x0a") "\x04\x7f"
							 "abc";
	static const char cut_number[] = HEAD("\x0a") "\x03\x05\x09\x00";
	static const char bad_flag[] = HEAD("\x0a") "\x05\x01"
						    "a"
						    "\x09\x02";
	/* exec.start (6) has a terminal: field 25 */
	static const char good_bool[] = HEAD("\x06") "\x32\x01";
	static const char bad_bool[] = HEAD("\x06") "\x32\x02";
	static const char no_digest[] = HEAD("\x0a") "\x05\x01"
						     "a"
						     "\x09\x01"
						     "short";

	(void)state;
	assert_int_equal(EVENT_process_exec_failed, 10);
	assert_int_equal(FIELD_proc, 2);
	assert_int_equal(EVENT_exec_start, 6);
	assert_int_equal(FIELD_tty, 25);
	assert_int_equal(decode(twice, sizeof(twice) - 1), -EBADMSG);
	assert_int_equal(decode(text_too_long, sizeof(text_too_long) - 1), -EBADMSG);
	assert_int_equal(decode(cut_number, sizeof(cut_number) - 1), -EBADMSG);
	assert_int_equal(decode(good_bool, sizeof(good_bool) - 1), 0);
	assert_int_equal(decode(bad_bool, sizeof(bad_bool) - 1), -EBADMSG);
	assert_int_equal(decode(bad_flag, sizeof(bad_flag) - 1), -EBADMSG);
	assert_int_equal(decode(no_digest, sizeof(no_digest) - 1), -EBADMSG);
}

/* One flipped byte may give another event, but never a value out of the payload or the tables. */
static void flipped_bytes_are_survived(void **state)
{
	struct event e, back;
	const char *why;
	size_t size;
	uint8_t *bytes;

	(void)state;
	sample_event(&e, EVENT_session_start, 0);
	bytes = encode(&e, 9, &size);
	for (size_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1 << bit);
			if (!codec_decode((struct bytes){bytes, size}, &back, &why)) {
				for (size_t v = 0; v < back.count; v++)
					assert_true(
						kind_has_field(back.kind, back.values[v].field));
				assert_true(codec_bound(&back) < 4 * size + 8192);
			}
			bytes[i] ^= (uint8_t)(1 << bit);
		}
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_comes_back_equal),
		cmocka_unit_test(no_cut_payload_reads_past_its_end),
		cmocka_unit_test(malformed_payloads_are_refused),
		cmocka_unit_test(a_value_is_checked),
		cmocka_unit_test(flipped_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
