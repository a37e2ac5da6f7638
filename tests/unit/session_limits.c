/* Limits of a session: what is recorded of a hit, and which of them are the reason of an end. */
#include "session_bench.h"

#include <signal.h>

/* Who was killed for want of memory is known by what was killed, and when. */
static void memory_is_a_reason_only_where_it_was_one(void **state)
{
	struct bench *b = *state;
	static const struct {
		uint64_t kills;
		int wait_status;
		enum sandbox_status_kind kind;
		const char *reason;
		int status;
	} cases[] = {
		{1, SIGKILL, SANDBOX_EXITED, "oom", 137},
		{0, SIGKILL, SANDBOX_EXITED, "signal", 137},
		{1, SIGTERM, SANDBOX_EXITED, "signal", 143},
		{3, 0, SANDBOX_EXITED, "exit", 0},
		{1, 0, SANDBOX_GONE, "oom", 137},
		{0, 0, SANDBOX_GONE, "killed", 137},
	};
	struct fault f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(fake.hits, 0, sizeof(fake.hits));
		fake.calls[0] = 0;
		assert_int_equal(start_limited(b, json_pack("{s:s}", "memory", "64M"), &f), 0);
		hear(b, RECORDER_OPENED, 0);
		hear(b, RECORDER_EXECED, 0);
		fake.hits[SANDBOX_MEMORY] = cases[i].kills;
		happen(b, cases[i].kind, cases[i].wait_status, 0);
		assert_int_equal(strstr(fake.calls, "limit ") != NULL, cases[i].kills > 0);
		hear(b, RECORDER_EXEC_CLOSED, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_string_equal(end_reason(), cases[i].reason);
		assert_int_equal(fake.told_status, cases[i].status);
		nothing_is_left(b);
	}
}

static void time_that_is_up_ends_it(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start_limited(b, json_pack("{s:s}", "wall", "1ms"), &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	assert_true(sd_event_run(b->host.loop, 1000000) > 0);
	assert_non_null(strstr(fake.calls, "exec limit kill exec.end"));
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(end_reason(), "timeout");
	assert_int_equal(fake.told_status, 137);
}

/* What it writes past its limit ends it; when it has ended by itself that stays the reason. */
static void output_past_its_limit_ends_it(void **state)
{
	struct bench *b = *state;
	struct fault f;

	for (int ended = 0; ended < 2; ended++) {
		fake.calls[0] = 0;
		assert_int_equal(start_limited(b, json_pack("{s:i}", "output", 10), &f), 0);
		hear(b, RECORDER_OPENED, 0);
		hear(b, RECORDER_EXECED, 0);
		if (ended)
			happen(b, SANDBOX_EXITED, 0, 0);
		hear(b, RECORDER_OUTPUT, 0);
		assert_non_null(strstr(fake.calls, "limit "));
		hear(b, RECORDER_EXEC_CLOSED, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_string_equal(end_reason(), ended ? "exit" : "limit");
	}
}

static void a_signal_says_who_sent_it(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	assert_int_equal(session_signal(b->session, SIGTERM, "user"), 0);
	happen(b, SANDBOX_EXITED, SIGTERM, 0);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(json_string_value(json_object_get(fake.session_end, "by")), "user");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_is_a_reason_only_where_it_was_one),
		TEST(time_that_is_up_ends_it),
		TEST(output_past_its_limit_ends_it),
		TEST(a_signal_says_who_sent_it),
	};

	return cmocka_run_group_tests_name("session_limits", tests, NULL, NULL);
}
