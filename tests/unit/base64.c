/*
 * Base64 both ways; only the one canonical form is read.
 */
#include "supervisor/record/base64.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the two above */
#include <cmocka.h>

/* RFC 4648, section 10. */
static void published_values_come_out(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t size = strlen(pairs[i][0]);
		char text[16] = {0}, back[16] = {0};

		base64_encode(pairs[i][0], size, text);
		assert_string_equal(text, pairs[i][1]);
		assert_int_equal(strlen(text), BASE64_LENGTH(size));
		assert_int_equal(base64_decode(text, strlen(text), back), size);
		assert_string_equal(back, pairs[i][0]);
	}
}

static void all_bytes_come_back(void **state)
{
	uint8_t bytes[256], back[258];
	char text[BASE64_LENGTH(256)];

	(void)state;
	for (size_t i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	for (size_t size = 0; size <= 256; size++) {
		base64_encode(bytes, size, text);
		assert_int_equal(base64_decode(text, BASE64_LENGTH(size), back), size);
		assert_memory_equal(back, bytes, size);
	}
}

static void other_forms_are_refused(void **state)
{
	static const char *const bad[] = {
		"Z",	"Zg",	 "Zg=",	 "====",	 "Z===",     "Zh==", "Zm9=",
		"Zg= ", "Zg\n=", "Zm9-", "Zm9vZg==Zg==", "Zg==Zm9v", "=Zg="};
	char back[16];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (base64_decode(bad[i], strlen(bad[i]), back) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_values_come_out),
		cmocka_unit_test(all_bytes_come_back),
		cmocka_unit_test(other_forms_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
