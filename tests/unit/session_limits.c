/* Limits of a session: what is recorded of a hit, and which of them are the reason of an end. */
#include "session_bench.h"

#include <signal.h>

static void expect_end(const char *name, const char *want)
{
	const char *have = json_string_value(json_object_get(fake.session_end, name));

	assert_int_equal(have != NULL, want != NULL);
	if (want)
		assert_string_equal(have, want);
}

/* What the kernel's side noted decides, whatever else happened at the same time. */
static void the_sender_of_a_signal_is_the_reason(void **state)
{
	struct bench *b = *state;
	static const struct {
		int wait_status;
		enum sandbox_status_kind kind;
		enum signal_sender sender;
		uint64_t kills, seen; /* for want of memory: counted, and seen of processes */
		const char *reason, *limit, *by;
		int status;
	} cases[] = {
		{SIGKILL, SANDBOX_EXITED, SENDER_OOM, 1, 1, "oom", "memory", NULL, 137},
		/* Killed before the kernel had marked it. */
		{SIGKILL, SANDBOX_EXITED, SENDER_KERNEL, 1, 0, "oom", "memory", NULL, 137},
		{SIGKILL, SANDBOX_EXITED, SENDER_KERNEL, 1, 1, "signal", NULL, "kernel", 137},
		/* A victim beside it, and a kill of its own at once. */
		{SIGKILL, SANDBOX_EXITED, SENDER_PROCESS, 1, 1, "signal", NULL, "process", 137},
		{SIGKILL, SANDBOX_EXITED, SENDER_PROCESS, 1, 0, "signal", NULL, "process", 137},
		{SIGKILL, SANDBOX_EXITED, SENDER_OUTSIDE, 0, 0, "signal", NULL, "outside", 137},
		{SIGKILL, SANDBOX_EXITED, SENDER_SUPERVISOR, 0, 0, "signal", NULL, "vitrined", 137},
		{SIGKILL, SANDBOX_EXITED, SENDER_UNKNOWN, 0, 0, "signal", NULL, NULL, 137},
		{SIGTERM, SANDBOX_EXITED, SENDER_PROCESS, 1, 1, "signal", NULL, "process", 143},
		{SIGXFSZ, SANDBOX_EXITED, SENDER_KERNEL, 0, 0, "limit", "file_size", NULL, 153},
		{SIGXFSZ, SANDBOX_EXITED, SENDER_PROCESS, 0, 0, "signal", NULL, "process", 153},
		{0, SANDBOX_EXITED, SENDER_UNKNOWN, 3, 3, "exit", NULL, NULL, 0},
		{SIGKILL, SANDBOX_GONE, SENDER_OOM, 1, 1, "oom", "memory", NULL, 137},
		{SIGKILL, SANDBOX_GONE, SENDER_OUTSIDE, 0, 0, "killed", NULL, "outside", 137},
	};
	struct fault f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.calls[0] = 0;
		fake.death = (struct death){
			.ended = 1, .status = cases[i].wait_status, .sender = cases[i].sender};
		assert_int_equal(
			start_limited(
				b, json_pack("{s:s, s:s}", "memory", "64M", "file_size", "1M"), &f),
			0);
		hear(b, RECORDER_OPENED, 0);
		hear(b, RECORDER_EXECED, 0);
		fake.hits[SANDBOX_MEMORY] = cases[i].kills;
		fake.seen[WIRE_LIMIT_memory] = cases[i].seen;
		happen(b, cases[i].kind, cases[i].wait_status, 0);
		/* Only what no process's record tells of is told by vitrined. */
		assert_int_equal(strstr(fake.calls, "limit ") != NULL,
				 cases[i].kills > cases[i].seen);
		hear(b, RECORDER_EXEC_CLOSED, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_string_equal(end_reason(), cases[i].reason);
		expect_end("limit", cases[i].limit);
		expect_end("by", cases[i].by);
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
	assert_non_null(strstr(fake.calls, "exec limit end exec.end-last "));
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
	assert_int_equal(session_signal(b->session, SESSION_EXEC, SIGTERM, "user"), 0);
	fake.death = (struct death){.ended = 1, .status = SIGTERM, .sender = SENDER_SUPERVISOR};
	happen(b, SANDBOX_EXITED, SIGTERM, 0);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(json_string_value(json_object_get(fake.session_end, "by")), "user");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_sender_of_a_signal_is_the_reason),
		TEST(time_that_is_up_ends_it),
		TEST(output_past_its_limit_ends_it),
		TEST(a_signal_says_who_sent_it),
	};

	return cmocka_run_group_tests_name("session_limits", tests, NULL, NULL);
}
