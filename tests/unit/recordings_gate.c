/* The gate at which a command's process waits opens when the record has what comes before its first
 * act, and not otherwise. */
#include "recorder_world.h"

#include <sched.h>

/* The other end of the gate: a byte when it opens, nothing when it never will. */
static int start_at_gate(struct recorder_world *w)
{
	int gate[2];

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:{s:i, s:[s]}}", "request", "exec.start", "session",
		      SESSION, "exec", 1, "fields", "exec", 1, "argv", "true"),
	    "gate", gate[1], NULL);
	close(gate[1]);
	return gate[0];
}

static void expect_gate(int gate, ssize_t bytes)
{
	struct pollfd told = {.fd = gate, .events = POLLIN};
	char byte;

	assert_int_equal(poll(&told, 1, 20000), 1);
	assert_int_equal(read(gate, &byte, 1), bytes);
	close(gate);
}

static void opens_when_both_starts_are_written(void **state)
{
	struct recorder_world *w = *state;
	int command[2];

	start(w);
	open_session(w, "freeze");
	start_command(w, command);
	expect_gate(start_at_gate(w), 0);

	ask(w,
	    json_pack("{s:s, s:s, s:s, s:{s:s}}", "request", "event", "session", SESSION, "kind",
		      "session.start", "fields", "name", "a test"),
	    NULL);
	expect_gate(start_at_gate(w), 1);
	close(command[0]);
	close(command[1]);
	json_decref(close_session(w));

	read_journal(w, FIELD_name);
	assert_int_equal(count_kind(w, EVENT_exec_start), 1);
	assert_true(find_kind(w, EVENT_session_start) < find_kind(w, EVENT_exec_start));
}

static void stays_shut_for_a_command_that_is_not_there(void **state)
{
	struct recorder_world *w = *state;

	start(w);
	open_session(w, "freeze");
	ask(w,
	    json_pack("{s:s, s:s, s:s, s:{}}", "request", "event", "session", SESSION, "kind",
		      "session.start", "fields"),
	    NULL);
	expect_gate(start_at_gate(w), 0);
	json_decref(close_session(w));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(opens_when_both_starts_are_written),
		TEST(stays_shut_for_a_command_that_is_not_there),
	};

	/* The file systems that are mounted here are nobody else's. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
