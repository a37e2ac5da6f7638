/*
 * The commands that read records, on journals in a directory: every way to name a session, live and
 * dead ones, damage, and what the exit status says.
 */
#include "state_place.h"

static void a_session_is_named_in_four_ways(void **state)
{
	struct place *place = *state;
	static const char *const ways[] = {"0123456789ab", "0123", "build", "last"};

	write_whole_session(place, "00aa00000000", "older");
	write_whole_session(place, "0123456789ab", "build");
	for (size_t i = 0; i < 4; i++) {
		struct answer a = ask(place, &command_replay, ways[i], "--json");

		assert_int_equal(a.status, 0);
		assert_string_equal(a.err, "");
		contains(a.out, "\"session\":\"0123456789ab\"");
		assert_int_equal(count_of(a.out, "\n"), 4);
		answer_free(&a);
	}
}

static void a_session_that_is_not_there_is_named_in_the_error(void **state)
{
	struct place *place = *state;
	struct answer a = ask(place, &command_replay, "nobody");

	assert_int_equal(a.status, 1);
	assert_string_equal(a.out, "");
	contains(a.err, "vitrine replay: there is no session nobody in /tmp/vitrine-test.");
	answer_free(&a);

	write_whole_session(place, "0123456789ab", NULL);
	write_whole_session(place, "0123456789ac", NULL);
	a = ask(place, &command_show, "0123456789");
	assert_int_equal(a.status, 1);
	contains(a.err, "more than one session");
	answer_free(&a);
}

static void a_session_without_a_journal_is_an_error(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_manifest(place, "0123456789ab", NULL, SESSION_ENDED, false);
	a = ask(place, &command_replay, "last");
	assert_int_equal(a.status, 1);
	contains(a.err, "session 0123456789ab: cannot read its journal: it has none");
	answer_free(&a);
}

static void views_exclude_one_another(void **state)
{
	struct place *place = *state;
	struct answer a = ask(place, &command_replay, "x", "--raw-output", "--tree");

	assert_int_equal(a.status, 2);
	contains(a.err, "--raw-output is possible only without --tree and --json");
	answer_free(&a);
}

static void raw_output_keeps_the_streams_apart(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_whole_session(place, "0123456789ab", NULL);
	a = ask(place, &command_replay, "last", "--raw-output");
	assert_int_equal(a.status, 0);
	assert_string_equal(a.out, "to out\n");
	assert_string_equal(a.err, "to err\n");
	answer_free(&a);
}

static void the_end_is_told_as_it_was(void **state)
{
	struct place *place = *state;
	struct writer w;
	struct answer a;

	write_whole_session(place, "000000000001", "ended");
	a = ask(place, &command_replay, "ended");
	assert_int_equal(a.status, 0);
	contains(a.out, "\nsession      exit 3, ");
	answer_free(&a);

	w = open_journal(place, "000000000002", 0);
	write_start(&w);
	write_manifest(place, "000000000002", "runs", SESSION_RUNNING, true);
	a = ask(place, &command_replay, "runs");
	assert_int_equal(a.status, 0);
	contains(a.out, "\nsession      still runs");
	answer_free(&a);

	write_manifest(place, "000000000002", "lost", SESSION_RUNNING, false);
	a = ask(place, &command_replay, "lost");
	assert_int_equal(a.status, 0);
	contains(a.out, "\nsession      supervisor_lost");
	answer_free(&a);

	write_manifest(place, "000000000002", "torn", SESSION_ENDED, false);
	a = ask(place, &command_replay, "torn");
	assert_int_equal(a.status, 1);
	contains(a.out, "\nsession      THE RECORD HAS NO END");
	contains(a.err, "has ended, but its record has no end");
	answer_free(&a);
	a = ask(place, &command_show, "torn");
	assert_int_equal(a.status, 1);
	contains(a.out, "state        torn");
	answer_free(&a);
	journal_close(w.journal);
}

/* Flip a byte in the middle of the session's first segment. */
static void damage(struct place *place, const char *id)
{
	cleanup(close_fd) int dir = session_dir(place, id);
	cleanup(close_fd) int fd = openat(dir, "000000.vtj", O_RDWR | O_CLOEXEC);
	struct stat stat;
	char byte;

	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(pread(fd, &byte, 1, stat.st_size / 2), 1);
	byte ^= 0x20;
	assert_int_equal(pwrite(fd, &byte, 1, stat.st_size / 2), 1);
}

static void damage_is_shown_in_its_place_and_passed_over(void **state)
{
	struct place *place = *state;
	struct writer w = open_journal(place, "0123456789ab", 4096);
	size_t before, after, lines;
	struct answer a;

	write_start(&w);
	for (int i = 0; i < 1000; i++)
		write_output(&w, "stdout", "0123456789");
	write_end(&w);
	assert_int_equal(journal_close(w.journal), 0);
	write_manifest(place, "0123456789ab", NULL, SESSION_ENDED, false);
	damage(place, "0123456789ab");

	a = ask(place, &command_replay, "last");
	assert_int_equal(a.status, 1);
	contains(a.err, "vitrine replay: the record is damaged: segment 000000.vtj, byte ");
	lines = count_of(a.out, "  output  ");
	assert_in_range(lines, 800, 999);
	before = (size_t)(strstr(a.out, "damage ") - a.out);
	after = (size_t)(strstr(a.out, "session.end") - a.out);
	assert_true(before < after);
	assert_in_range(count_of(a.out + before, "  output  "), 300, 700);
	contains(a.out, "the record is DAMAGED in 1 places");
	answer_free(&a);

	a = ask(place, &command_replay, "last", "--json");
	assert_int_equal(a.status, 1);
	assert_int_equal(count_of(a.out, "\n"), lines + 2); /* nothing but whole records */
	answer_free(&a);

	a = ask(place, &command_show, "last", "--json");
	assert_int_equal(a.status, 1);
	contains(a.out, "\"damages\": 1");
	answer_free(&a);
}

static void show_tells_from_the_journal(void **state)
{
	struct place *place = *state;
	struct answer a;
	json_t *page;

	write_whole_session(place, "0123456789ab", "n\033");
	a = ask(place, &command_show, "last");
	assert_int_equal(a.status, 0);
	assert_null(strchr(a.out, '\033'));
	contains(a.out, "session      0123456789ab  $'n\\x1b'");
	contains(a.out, "state        ended: exit 3");
	contains(a.out, "command      sh -c $'true\\n'");
	contains(a.out, "lost         nothing");
	answer_free(&a);

	a = ask(place, &command_show, "last", "--json");
	page = json_loads(a.out, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(page, "state")), "ended");
	assert_int_equal(json_integer_value(json_object_get(page, "records")), 4);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(page, "kinds"), "output")), 2);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(page, "end"), "reason")), "exit");
	json_decref(page);
	answer_free(&a);
}

static void following_ends_with_the_session(void **state)
{
	struct place *place = *state;
	struct writer w = open_journal(place, "0123456789ab", 0);
	struct started s;
	struct answer a;

	write_start(&w);
	write_manifest(place, "0123456789ab", NULL, SESSION_RUNNING, true);
	s = start_words(place, &command_replay, "last", "--follow", "--json", NULL);
	for (int i = 0; i < 50; i++) {
		write_output(&w, "stdout", "tick");
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	assert_int_equal(waitpid(s.pid, NULL, WNOHANG), 0); /* it waits */
	write_end(&w);
	a = finish(s);
	assert_int_equal(a.status, 0);
	assert_int_equal(count_of(a.out, "\n"), 52);
	contains(a.out, "session.end");
	answer_free(&a);
	journal_close(w.journal);
}

static void following_ends_when_nobody_is_left_to_write(void **state)
{
	struct place *place = *state;
	struct writer w = open_journal(place, "0123456789ab", 0);
	struct started s;
	struct answer a;

	write_start(&w);
	write_manifest(place, "0123456789ab", NULL, SESSION_RUNNING, true);
	s = start_words(place, &command_replay, "last", "--follow", NULL);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	write_output(&w, "stdout", "last words");
	write_manifest(place, "0123456789ab", NULL, SESSION_RUNNING, false);
	a = finish(s);
	assert_int_equal(a.status, 0);
	contains(a.out, "last words");
	contains(a.out, "supervisor_lost");
	answer_free(&a);
	journal_close(w.journal);
}

static void a_full_output_is_an_error(void **state)
{
	struct place *place = *state;
	struct started s;
	struct answer a;

	write_whole_session(place, "0123456789ab", NULL);
	fflush(NULL);
	s.err = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	s.out = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s.pid = fork();
	if (s.pid == 0) {
		char *argv[] = {"replay", "last", "--state", place->path, NULL};
		int full = open("/dev/full", O_WRONLY);

		dup2(full, 1);
		dup2(s.err, 2);
		_exit(command_main("vitrine replay", &command_replay, 4, argv));
	}
	a = finish(s);
	assert_int_equal(a.status, 1);
	contains(a.err, "cannot write to standard output");
	answer_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(a_session_is_named_in_four_ways),
		IN_PLACE(a_session_that_is_not_there_is_named_in_the_error),
		IN_PLACE(a_session_without_a_journal_is_an_error),
		IN_PLACE(views_exclude_one_another),
		IN_PLACE(raw_output_keeps_the_streams_apart),
		IN_PLACE(the_end_is_told_as_it_was),
		IN_PLACE(damage_is_shown_in_its_place_and_passed_over),
		IN_PLACE(show_tells_from_the_journal),
		IN_PLACE(following_ends_with_the_session),
		IN_PLACE(following_ends_when_nobody_is_left_to_write),
		IN_PLACE(a_full_output_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
