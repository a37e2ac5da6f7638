/*
 * What a receiver asks for by Retry-After, in each of its forms, and what makes no sense.
 */
#include "exporters/sinks/retry_after.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define NOW 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */

static void all_forms(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} cases[] = {
		{NULL, 0},
		{"", 0},
		{"0", 0},
		{"2", 2000},
		{"  120\r\n", 120000},
		{"007", 7000},
		{"300", 300000},
		{"301", 300000},
		{"99999999999999999999999999", 300000},
		{"-5", 0},
		{"+5", 0},
		{"1.5", 0},
		{"2 seconds", 0},
		{"soon", 0},
		{"0x10", 0},
		{"Sun, 06 Nov 1994 08:49:40 GMT", 3000},
		{"Sunday, 06-Nov-94 08:49:41 GMT", 4000},
		{"Sun Nov  6 08:49:42 1994", 5000},
		{"Sun, 06 Nov 1994 08:49:37 GMT", 0},
		{"Sun, 06 Nov 1994 08:49:36 GMT", 0},
		{"Mon, 06 Nov 2094 08:49:36 GMT", 300000},
		{"Sun, 99 Nov 1994", 0},
		{"M", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (retry_after_ms(cases[i].text, NOW) != cases[i].ms)
			fail_msg("%s: %llu", cases[i].text,
				 (unsigned long long)retry_after_ms(cases[i].text, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_forms)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
