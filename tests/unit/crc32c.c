/*
 * CRC-32C against published values, and both ways of it against each other.
 */
#include "supervisor/record/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* cmocka wants the two above */
#include <cmocka.h>

/* RFC 3720, appendix B.4. */
static void published_values_come_out(void **state)
{
	uint8_t bytes[32];

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
}

static void both_ways_agree_at_every_length_and_place(void **state)
{
	uint8_t bytes[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i * 31 + i);
	for (size_t from = 0; from < 16; from++) {
		for (size_t size = 0; from + size <= sizeof(bytes); size++)
			assert_int_equal(crc32c(7, bytes + from, size),
					 crc32c_by_table(7, bytes + from, size));
	}
}

static void spans_follow_one_another(void **state)
{
	static const char text[] = "a span may be given in any pieces";
	const size_t size = sizeof(text) - 1;

	(void)state;
	for (size_t cut = 0; cut <= size; cut++)
		assert_int_equal(crc32c(crc32c(0, text, cut), text + cut, size - cut),
				 crc32c(0, text, size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_values_come_out),
		cmocka_unit_test(both_ways_agree_at_every_length_and_place),
		cmocka_unit_test(spans_follow_one_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
