/*
 * The commands that read records, on journals in a directory: every way to name a session, live and
 * dead ones, damage, and what the exit status says.
 */
#include "../../replay/commands.h"
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/journal.h"
#include "../../supervisor/record/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A state directory of its own for each test. */
struct place {
	char path[64];
	int state_fd;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	snprintf(place->path, sizeof(place->path), "/tmp/vitrine-test.XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->state_fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(place->state_fd, "sessions", 0755), 0);
	*state = place;
	return 0;
}

/* Remove the files of a directory @depth levels deep. */
static void remove_below(int dir_fd, int depth)
{
	cleanup(closedir) DIR *dir = fdopendir(dup(dir_fd));
	struct dirent *entry;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		cleanup(close_fd) int fd = -1;

		if (entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.'))
			continue;
		if (unlinkat(dir_fd, entry->d_name, 0) == 0 || depth == 0)
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		remove_below(fd, depth - 1);
		unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
	}
}

static int tear_down(void **state)
{
	struct place *place = *state;

	remove_below(place->state_fd, 3);
	rmdir(place->path);
	close(place->state_fd);
	free(place);
	return 0;
}

/* ---- sessions ---- */

static uint64_t own_start(void)
{
	cleanup(fclose) FILE *in = fopen("/proc/self/stat", "re");
	char text[1024], *at;
	uint64_t start = 0;

	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at, ' ') + 1;
	while (*at >= '0' && *at <= '9')
		start = start * 10 + (uint64_t)(*at++ - '0');
	return start;
}

static int session_dir(struct place *place, const char *id)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "sessions/%s", id);
	mkdirat(place->state_fd, path, 0755);
	fd = openat(place->state_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void write_manifest(struct place *place, const char *id, const char *name,
			   enum session_state state, bool alive)
{
	cleanup(close_fd) int dir = session_dir(place, id);
	struct manifest m = {
		.name = (char *)name,
		.command = (char *)"[\"sh\", \"-c\", \"true\\n\"]",
		.state = state,
		.reason = (char *)(state == SESSION_ENDED ? "exit" : NULL),
		.exit_code = state == SESSION_ENDED ? 3 : -1,
		.signal = -1,
		.started_ns = 1709209845000000000 + strtoull(id, NULL, 16),
		.ended_ns = state == SESSION_ENDED ? 1709209855000000000 : 0,
		.records = state == SESSION_ENDED ? 4 : 0,
		.supervisor_pid = getpid(),
		.supervisor_start = own_start() + !alive,
	};

	snprintf(m.id, sizeof(m.id), "%s", id);
	assert_int_equal(manifest_write(dir, &m), 0);
}

struct writer {
	struct journal *journal;
	uint64_t clock_ns;
};

static struct writer open_journal(struct place *place, const char *id, uint64_t block_bytes)
{
	cleanup(close_fd) int dir = session_dir(place, id);
	struct journal_options options = {.session = id, .block_bytes = block_bytes};
	struct writer w = {.clock_ns = 1000000};

	assert_int_equal(journal_open(dir, &options, &w.journal), 0);
	return w;
}

static struct redacted begin(struct writer *w, enum event_kind kind)
{
	struct redacted record;

	w->clock_ns += 1000000;
	event_init(&record.event, kind, 1709209845000000000 + w->clock_ns, w->clock_ns);
	return record;
}

static void append(struct writer *w, const struct redacted *record)
{
	assert_int_equal(journal_append(w->journal, record, NULL), 0);
	assert_int_equal(journal_flush(w->journal, w->clock_ns), 0);
}

static void write_start(struct writer *w)
{
	struct redacted start = begin(w, EVENT_session_start);

	event_put_bytes(&start.event, FIELD_command, "sh\0-c\0true\n", 12);
	event_put_text(&start.event, FIELD_user_name, "root");
	append(w, &start);
}

static void write_output(struct writer *w, const char *stream, const char *data)
{
	struct redacted output = begin(w, EVENT_output);

	event_put_text(&output.event, FIELD_stream, stream);
	event_put_text(&output.event, FIELD_data, data);
	append(w, &output);
}

static void write_end(struct writer *w)
{
	struct redacted end = begin(w, EVENT_session_end);

	event_put_text(&end.event, FIELD_reason, "exit");
	event_put_u64(&end.event, FIELD_exit_code, 3);
	event_put_text(&end.event, FIELD_counts,
		       "{\"output\":{\"produced\":2,\"journaled\":2,\"lost\":0}}");
	append(w, &end);
}

/* start, two outputs, end */
static void write_whole_session(struct place *place, const char *id, const char *name)
{
	struct writer w = open_journal(place, id, 0);

	write_start(&w);
	write_output(&w, "stdout", "to out\n");
	write_output(&w, "stderr", "to err\n");
	write_end(&w);
	assert_int_equal(journal_close(w.journal), 0);
	write_manifest(place, id, name, SESSION_ENDED, false);
}

/* ---- commands ---- */

struct answer {
	int status;
	char *out, *err; /* malloc'ed */
};

static void answer_free(struct answer *a)
{
	free(a->out);
	free(a->err);
}

static char *read_all(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);

	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	return text;
}

/* A command that was started, its output going to files without a name. */
struct started {
	pid_t pid;
	int out, err;
};

static struct started start(struct place *place, const struct command *c, va_list words)
{
	char *argv[16] = {(char *)c->name};
	int argc = 1;
	struct started s = {.out = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600),
			    .err = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};

	while ((argv[argc] = va_arg(words, char *)))
		argc++;
	argv[argc++] = (char *)"--state";
	argv[argc++] = place->path;
	fflush(NULL);
	s.pid = fork();
	if (s.pid == 0) {
		char called[64];

		snprintf(called, sizeof(called), "vitrine %s", c->name);
		dup2(s.out, 1);
		dup2(s.err, 2);
		_exit(command_main(called, c, argc, argv));
	}
	return s;
}

static struct answer finish(struct started s)
{
	struct answer a;
	int status;

	assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
	assert_true(WIFEXITED(status));
	a.status = WEXITSTATUS(status);
	a.out = read_all(s.out);
	a.err = read_all(s.err);
	return a;
}

static struct started start_words(struct place *place, const struct command *c, ...)
{
	struct started s;
	va_list words;

	va_start(words, c);
	s = start(place, c, words);
	va_end(words);
	return s;
}

#define ask(place, ...) finish(start_words(place, __VA_ARGS__, NULL))

static void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* ---- tests ---- */

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
	struct answer a = ask(place, &command_replay, "x", "--json", "--tree");

	assert_int_equal(a.status, 2);
	contains(a.err, "only one of --tree, --json and --raw-output");
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

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(a_session_is_named_in_four_ways),
		IN_PLACE(a_session_that_is_not_there_is_named_in_the_error),
		IN_PLACE(a_session_without_a_journal_is_an_error),
		IN_PLACE(views_exclude_one_another),
		IN_PLACE(raw_output_keeps_the_streams_apart),
		IN_PLACE(ps_tells_running_lost_and_ended_apart),
		IN_PLACE(who_died_without_counting_lost_an_unknown_number),
		IN_PLACE(ps_says_what_it_cannot_read),
		IN_PLACE(no_state_directory_is_no_session),
		IN_PLACE(the_end_is_told_as_it_was),
		IN_PLACE(damage_is_shown_in_its_place_and_passed_over),
		IN_PLACE(show_tells_from_the_journal),
		IN_PLACE(following_ends_with_the_session),
		IN_PLACE(following_ends_when_nobody_is_left_to_write),
		IN_PLACE(a_full_output_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
