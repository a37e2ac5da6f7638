/* The list of sessions: running, lost and ended ones, and what it cannot know. */
#include "state_place.h"

static void ps_tells_running_lost_and_ended_apart(void **state)
{
	struct place *place = *state;
	struct writer running, lost;
	struct answer a;
	json_t *list, *one;

	write_whole_session(place, "000000000001", "done\n\033[2J");
	running = open_journal(place, "000000000002", 0);
	write_start(&running);
	for (int i = 0; i < 99; i++)
		write_output(&running, "stdout", "x");
	write_manifest(place, "000000000002", NULL, SESSION_RUNNING, true);
	lost = open_journal(place, "000000000003", 0);
	write_start(&lost);
	write_manifest(place, "000000000003", NULL, SESSION_RUNNING, false);

	a = ask(place, &command_ps, "--json");
	assert_int_equal(a.status, 0);
	assert_null(strchr(a.out, '\033'));
	list = json_loads(a.out, 0, NULL);
	assert_int_equal(json_array_size(list), 3);
	one = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(one, "id")), "000000000001");
	assert_string_equal(json_string_value(json_object_get(one, "name")), "done\n\033[2J");
	assert_string_equal(json_string_value(json_object_get(one, "state")), "ended");
	assert_string_equal(json_string_value(json_object_get(one, "reason")), "exit");
	assert_int_equal(json_integer_value(json_object_get(one, "exit_code")), 3);
	assert_int_equal(json_integer_value(json_object_get(one, "records")), 4);
	assert_int_equal(json_integer_value(json_object_get(one, "lost")), 0);
	assert_string_equal(json_string_value(json_array_get(json_object_get(one, "command"), 2)),
			    "true\n");
	one = json_array_get(list, 1);
	assert_string_equal(json_string_value(json_object_get(one, "state")), "running");
	assert_true(json_is_null(json_object_get(one, "reason")));
	assert_true(json_is_null(json_object_get(one, "ended")));
	assert_true(json_is_null(json_object_get(one, "lost")));
	assert_int_equal(json_integer_value(json_object_get(one, "records")), 100);
	one = json_array_get(list, 2);
	assert_string_equal(json_string_value(json_object_get(one, "state")), "lost");
	assert_string_equal(json_string_value(json_object_get(one, "reason")), "supervisor_lost");
	assert_int_equal(json_integer_value(json_object_get(one, "records")), 1);
	json_decref(list);
	answer_free(&a);

	a = ask(place, &command_ps, NULL);
	assert_int_equal(a.status, 0);
	contains(a.out, "$'done\\n\\x1b[2J'");
	contains(a.out, "exit 3");
	contains(a.out, "supervisor_lost");
	contains(a.out, "sh -c $'true\\n'");
	assert_int_equal(count_of(a.out, "\n"), 4);
	answer_free(&a);
	journal_close(running.journal);
	journal_close(lost.journal);
}

static void who_died_without_counting_lost_an_unknown_number(void **state)
{
	struct place *place = *state;
	cleanup(close_fd) int dir = session_dir(place, "0123456789ab");
	struct manifest m = {.id = "0123456789ab",
			     .state = SESSION_ENDED,
			     .reason = (char *)"supervisor_lost",
			     .exit_code = -1,
			     .signal = -1,
			     .records = 9};
	struct answer a;
	json_t *list;

	assert_int_equal(manifest_write(dir, &m), 0);
	a = ask(place, &command_ps, "--json");
	list = json_loads(a.out, 0, NULL);
	assert_true(json_is_null(json_object_get(json_array_get(list, 0), "lost")));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "records")),
			 9);
	json_decref(list);
	answer_free(&a);
}

static void ps_says_what_it_cannot_read(void **state)
{
	struct place *place = *state;
	cleanup(close_fd) int dir = session_dir(place, "0123456789ab");
	struct answer a = ask(place, &command_ps, "--json");

	assert_int_equal(a.status, 1);
	assert_string_equal(a.out, "[]\n");
	contains(a.err, "1 sessions have no readable manifest");
	answer_free(&a);
}

static void no_state_directory_is_no_session(void **state)
{
	struct place nowhere = {.path = "/tmp/vitrine-test/no/such"};
	struct answer a = ask(&nowhere, &command_ps, "--json");

	(void)state;
	assert_int_equal(a.status, 0);
	assert_string_equal(a.out, "[]\n");
	contains(a.err, "cannot open the state directory /tmp/vitrine-test/no/such");
	answer_free(&a);
	a = ask(&nowhere, &command_show, "last");
	assert_int_equal(a.status, 1);
	answer_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(ps_tells_running_lost_and_ended_apart),
		IN_PLACE(who_died_without_counting_lost_an_unknown_number),
		IN_PLACE(ps_says_what_it_cannot_read),
		IN_PLACE(no_state_directory_is_no_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
