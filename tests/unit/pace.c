/*
 * When a receiver is asked: waits that grow and differ, one question at a time, and what counts as
 * an answer to what.
 */
#include "exporters/pace.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the two above */
#include <cmocka.h>

static const struct sink_answer again = {.answer = ANSWER_RETRY, .why = "busy"};

static struct pace new_pace(void)
{
	return (struct pace){.backoff_ms = 100, .backoff_max_ms = 1000};
}

static void waits_grow_to_a_limit_and_are_never_the_same(void **state)
{
	struct pace p = new_pace();
	uint64_t wait, seen = 0, different = 0, now = 5000;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		uint64_t full = 100u << (i < 4 ? i : 4);

		full = full < 1000 ? full : 1000;
		assert_true(pace_allows(&p, now, &wait));
		pace_fail(&p, pace_begin(&p), now, &again);
		assert_false(pace_allows(&p, now, &wait));
		assert_in_range(wait, full / 2, full);
		different += wait != seen;
		seen = wait;
		now += wait;
	}
	assert_true(different > 12);
	assert_string_equal(p.why, "busy");
}

static void after_a_failure_one_asks(void **state)
{
	struct pace p = new_pace();
	uint64_t first = pace_begin(&p), second = pace_begin(&p), wait;

	(void)state;
	assert_true(pace_allows(&p, 0, &wait));
	pace_fail(&p, first, 0, &again);
	pace_fail(&p, second, 1, &again);
	assert_int_equal(p.failures, 1); /* they failed together */
	assert_false(pace_allows(&p, 1, &wait));
	assert_true(pace_allows(&p, 1 + wait, &wait));
	first = pace_begin(&p);
	assert_false(pace_allows(&p, 5000, &wait));
	assert_int_equal(wait, 0); /* until the answer comes */
	pace_succeed(&p, first);
	assert_true(pace_allows(&p, 5000, &wait));
	assert_string_equal(p.why, "");
}

static void what_was_on_its_way_before_says_nothing(void **state)
{
	struct pace p = new_pace();
	uint64_t slow = pace_begin(&p), quick = pace_begin(&p), wait;

	(void)state;
	pace_fail(&p, quick, 0, &again);
	pace_succeed(&p, slow);
	assert_int_equal(p.failures, 1);
	assert_false(pace_allows(&p, 0, &wait));
}

static void what_the_receiver_asks_for_is_kept_to(void **state)
{
	struct sink_answer later = {.answer = ANSWER_RETRY, .wait_ms = 7000};
	struct pace p = new_pace();
	uint64_t wait;

	(void)state;
	pace_fail(&p, pace_begin(&p), 0, &later);
	assert_false(pace_allows(&p, 0, &wait));
	assert_int_equal(wait, 7000);
	later.wait_ms = UINT64_C(1) << 60;
	pace_fail(&p, pace_begin(&p), 0, &later);
	pace_allows(&p, 0, &wait);
	assert_int_equal(wait, 300000); /* but not for ever */
	pace_hurry(&p);
	assert_true(pace_allows(&p, 0, &wait));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_grow_to_a_limit_and_are_never_the_same),
		cmocka_unit_test(after_a_failure_one_asks),
		cmocka_unit_test(what_was_on_its_way_before_says_nothing),
		cmocka_unit_test(what_the_receiver_asks_for_is_kept_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
