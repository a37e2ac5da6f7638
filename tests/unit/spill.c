/* Records that wait in memory are copies, in order. */
#include "../../supervisor/capture/spill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void keeps_copies_in_order(void **state)
{
	struct spill spill = {0};
	char text[32];
	(void)state;

	assert_true(spill_is_empty(&spill));
	assert_null(spill_first(&spill));
	spill_drop_first(&spill);
	for (uint64_t i = 0; i < 10; i++) {
		struct redacted record;

		event_init(&record.event, EVENT_gap, i, i);
		snprintf(text, sizeof(text), "reason %d", (int)i);
		event_put_text(&record.event, FIELD_reason, text);
		event_put_bytes(&record.event, FIELD_class, "", 0);
		event_put_u64(&record.event, FIELD_count, i);
		assert_int_equal(spill_add(&spill, &record), 0);
	}
	memset(text, 'x', sizeof(text));

	for (uint64_t i = 0; i < 10; i++) {
		const struct event *e = &spill_first(&spill)->event;
		char expected[32];

		snprintf(expected, sizeof(expected), "reason %d", (int)i);
		assert_int_equal(e->time_ns, i);
		assert_int_equal(event_bytes(e, FIELD_reason).size, strlen(expected));
		assert_memory_equal(event_bytes(e, FIELD_reason).data, expected, strlen(expected));
		assert_int_equal(event_bytes(e, FIELD_class).size, 0);
		assert_int_equal(event_u64(e, FIELD_count, 99), i);
		spill_drop_first(&spill);
	}
	assert_true(spill_is_empty(&spill));
}

static void is_used_again_when_it_was_cleared(void **state)
{
	struct spill spill = {0};
	struct redacted record;
	(void)state;

	event_init(&record.event, EVENT_clock, 1, 1);
	spill_add(&spill, &record);
	spill_add(&spill, &record);
	spill_clear(&spill);
	assert_true(spill_is_empty(&spill));
	spill_add(&spill, &record);
	assert_false(spill_is_empty(&spill));
	spill_clear(&spill);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_copies_in_order),
		cmocka_unit_test(is_used_again_when_it_was_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
