/* The recorder process from end to end, as root: what goes in, and the journal that comes out. */
#include "recorder_world.h"

#include <sched.h>

/* It writes @text and ends; its client gets the same. */
static void finish_command(struct recorder_world *w, const int fds[2], const char *text)
{
	char got[256];
	size_t size = 0;
	ssize_t n;

	assert_int_equal(write(fds[0], text, strlen(text)), strlen(text));
	close(fds[0]);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:{s:s, s:i}}", "request", "exec.close", "session", SESSION,
		      "exec", 1, "fields", "reason", "exit", "exit_code", 3),
	    NULL);
	while ((n = read(fds[1], got + size, sizeof(got) - size)) > 0)
		size += n;
	close(fds[1]);
	assert_int_equal(size, strlen(text));
	assert_memory_equal(got, text, size);
}

/* What the session is: before that nothing of its ring is in the record. */
static void begin_record(struct recorder_world *w)
{
	ask(w,
	    json_pack("{s:s, s:s, s:s, s:{s:s, s:[s, s]}}", "request", "event", "session", SESSION,
		      "kind", "session.start", "fields", "name", "a test", "command", "sh", "-c"),
	    NULL);
}

static void records_a_session(void **state)
{
	struct recorder_world *w = *state;
	int command[2];

	start(w);
	open_session(w, "freeze");
	begin_record(w);
	start_command(w, command);
	put_exec(w, 12000, 1000);
	put_exits(w, 10);
	finish_command(w, command, "hello correct-horse-battery\n");
	json_t *closed_exec = expect_reply(w, "exec.closed");
	assert_false(json_is_true(json_object_get(closed_exec, "detached")));
	json_decref(closed_exec);
	put_exits(w, 5);

	json_t *closed = close_session(w);
	assert_null(json_object_get(closed, "errno"));
	expect_counts(closed, "process", 16, 16, 0);
	expect_counts(closed, "file", 0, 0, 0);
	const json_t *verdict = json_object_get(closed, "verdict");
	assert_string_equal(json_string_value(json_object_get(verdict, "reason")), "exit");

	read_journal(w, FIELD_data);
	assert_int_equal(json_integer_value(json_object_get(closed, "records")), w->count);
	assert_int_equal(w->events[0].kind, EVENT_session_start);
	assert_int_equal(w->events[w->count - 1].kind, EVENT_session_end);
	assert_int_equal(count_kind(w, EVENT_process_exit), 15);
	assert_int_equal(count_kind(w, EVENT_gap), 0);
	assert_true(find_kind(w, EVENT_process_exec) < find_kind(w, EVENT_output));
	assert_true(find_kind(w, EVENT_output) < find_kind(w, EVENT_exec_end));
	assert_non_null(strstr(text_of(w, EVENT_output), "hello [REDACTED:TOKEN:"));
	read_journal(w, FIELD_argv);
	assert_int_equal(strlen(text_of(w, EVENT_process_exec)), 11999);
	json_decref(closed);
}

/* By the time it tells the end it has let go of the session's files: whoever does so last waits for
 * the kernel, and that are threads of vitrined. */
static void the_files_are_left_before_the_end_is_told(void **state)
{
	struct recorder_world *w = *state;
	cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int names[2], root[2];

	assert_int_equal(pipe2(names, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(root, O_CLOEXEC | O_NONBLOCK), 0);
	start(w);
	ask(w, open_message("freeze"), "journal", dir, "ring", w->ring.ring_fd, "freeze",
	    w->freeze_fd, "fanotify", names[0], "root_mount", root[0], NULL);
	expect_good(w, "opened");
	close(names[0]);
	close(root[0]);
	begin_record(w);
	struct pollfd left[] = {{.fd = names[1]}, {.fd = root[1]}};
	assert_int_equal(poll(left, 2, 0), 0);

	ask(w,
	    json_pack("{s:s, s:s, s:{s:s, s:i}, s:b}", "request", "close", "session", SESSION,
		      "fields", "reason", "exit", "exit_code", 0, "untouched", 1),
	    NULL);
	json_decref(expect_reply(w, "closing"));
	assert_int_equal(poll(left, 2, 0), 2); /* nobody has their other ends */
	json_decref(expect_reply(w, "closed"));
	close(names[1]);
	close(root[1]);
}

/* Told of at once with its last command's, the end comes behind all that this wrote, however slow
 * its reader is, and behind what the kernel still sent. */
static void the_end_waits_for_the_last_command(void **state)
{
	struct recorder_world *w = *state;
	const size_t size = 150000; /* more than a pipe and the recorder hold */
	cleanup(free) char *block = calloc(1, size);
	size_t received = 0;
	int command[2];
	ssize_t n;

	start(w);
	open_session(w, "freeze");
	begin_record(w);
	start_command(w, command);
	assert_int_equal(write(command[0], block, size), size);
	close(command[0]);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:b, s:{s:s, s:i}}", "request", "exec.close", "session",
		      SESSION, "exec", 1, "last", 1, "fields", "reason", "exit", "exit_code", 3),
	    NULL);
	ask(w,
	    json_pack("{s:s, s:s, s:{s:s, s:i}, s:b}", "request", "close", "session", SESSION,
		      "fields", "reason", "exit", "exit_code", 3, "untouched", 1),
	    NULL);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:i}", "request", "exec", "session", SESSION, "exec", 1,
		      "cgroup", 777),
	    NULL);
	json_t *known = expect_reply(w, "execed"); /* and nothing before it */
	assert_int_equal(json_integer_value(json_object_get(known, "errno")), EEXIST);
	json_decref(known);
	put_exits(w, 5);

	while ((n = read(command[1], block, size)) > 0)
		received += n;
	close(command[1]);
	assert_int_equal(received, size);
	json_t *closing = expect_reply(w, "closing");
	const json_t *verdict = json_object_get(closing, "verdict");
	assert_int_equal(json_integer_value(json_object_get(verdict, "exit_code")), 3);
	json_t *closed = expect_reply(w, "closed");
	assert_true(json_equal(verdict, json_object_get(closed, "verdict")));
	expect_counts(closed, "process", 5, 5, 0);

	read_journal(w, FIELD_reason);
	const struct event *end = &w->events[w->count - 1];
	assert_int_equal(end->kind, EVENT_session_end);
	assert_int_equal(count_kind(w, EVENT_exec_end), 1);
	assert_int_equal(count_kind(w, EVENT_process_exit), 5);
	assert_int_equal(event_u64(end, FIELD_stdout_total, 0), size);
	assert_int_equal(json_integer_value(json_object_get(closed, "records")), w->count);
	json_decref(closing);
	json_decref(closed);
}

/* Send @size bytes through a command's output; the closing totals. */
static json_t *pass_output(struct recorder_world *w, size_t size)
{
	int command[2];
	char block[1000], got[4096];
	size_t received = 0;
	ssize_t n;

	memset(block, 'z', sizeof(block));
	start_command(w, command);
	fcntl(command[0], F_SETFL, O_NONBLOCK);
	fcntl(command[1], F_SETFL, O_NONBLOCK);
	for (size_t sent = 0; sent < size; usleep(10)) {
		size_t part = size - sent < sizeof(block) ? size - sent : sizeof(block);

		n = write(command[0], block, part);
		sent += n > 0 ? n : 0;
		while ((n = read(command[1], got, sizeof(got))) > 0)
			received += n;
	}
	close(command[0]);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:{s:s}}", "request", "exec.close", "session", SESSION,
		      "exec", 1, "fields", "reason", "exit"),
	    NULL);
	fcntl(command[1], F_SETFL, 0);
	while ((n = read(command[1], got, sizeof(got))) > 0)
		received += n;
	close(command[1]);
	assert_int_equal(received, size);
	return expect_reply(w, "exec.closed");
}

static void expect_output(struct recorder_world *w, const char *policy, int cap, size_t size,
			  size_t kept, bool is_truncated)
{
	cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_t *message = open_message("freeze");

	json_object_set_new(message, "output", json_string(policy));
	json_object_set_new(message, "output_cap", json_integer(cap));
	start(w);
	ask(w, message, "journal", dir, "ring", w->ring.ring_fd, "freeze", w->freeze_fd, NULL);
	expect_good(w, "opened");
	json_t *closed = pass_output(w, size);
	const json_t *totals = json_object_get(closed, "stdout");
	assert_int_equal(json_integer_value(json_object_get(totals, "total")), size);
	assert_int_equal(json_integer_value(json_object_get(totals, "kept")), kept);
	assert_int_equal(json_is_true(json_object_get(closed, "output_truncated")), is_truncated);
	json_decref(closed);
	json_decref(close_session(w));
	read_journal(w, FIELD_reason);
	const struct event *end = &w->events[find_kind(w, EVENT_session_end)];
	assert_int_equal(event_u64(end, FIELD_stdout_total, 0), size);
	assert_int_equal(event_u64(end, FIELD_stdout_kept, 1), kept);
	assert_int_equal(event_u64(end, FIELD_output_truncated, 0), is_truncated);
}

static void keeps_output_up_to_the_cap(void **state)
{
	struct recorder_world *w = *state;
	size_t kept = 0;

	expect_output(w, "full", 70000, 300000, 70000, true);
	for (size_t i = 0; i < w->count; i++)
		if (w->events[i].kind == EVENT_output)
			kept += event_bytes(&w->events[i], FIELD_data).size;
	assert_int_equal(kept, 70000);
}

static void keeps_sizes_of_output(void **state)
{
	struct recorder_world *w = *state;
	size_t size = 0;

	expect_output(w, "meta", 1, 300000, 0, false);
	for (size_t i = 0; i < w->count; i++) {
		if (w->events[i].kind != EVENT_output)
			continue;
		assert_null(event_get(&w->events[i], FIELD_data));
		assert_int_equal(event_u64(&w->events[i], FIELD_offset, 1), size);
		size += event_u64(&w->events[i], FIELD_size, 0);
	}
	assert_int_equal(size, 300000);
}

static void keeps_no_output(void **state)
{
	struct recorder_world *w = *state;

	expect_output(w, "none", 1000, 300000, 0, false);
	assert_int_equal(count_kind(w, EVENT_output), 0);
}

/* Past its limit output is told of once, and stops: what waits behind it goes nowhere. */
static void stops_output_past_its_limit(void **state)
{
	struct recorder_world *w = *state;
	cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_t *message = open_message("freeze");
	char block[4096];
	size_t received = 0;
	int command[2];
	ssize_t n;

	memset(block, 'z', sizeof(block));
	json_object_set_new(message, "output_limit", json_integer(100000));
	start(w);
	ask(w, message, "journal", dir, "ring", w->ring.ring_fd, "freeze", w->freeze_fd, NULL);
	expect_good(w, "opened");
	start_command(w, command);
	fcntl(command[0], F_SETFL, O_NONBLOCK);
	fcntl(command[1], F_SETFL, O_NONBLOCK);
	for (int idle = 0; idle < 100; idle++) {
		if (write(command[0], block, sizeof(block)) > 0)
			idle = 0;
		while ((n = read(command[1], block, sizeof(block))) > 0)
			received += n;
		usleep(1000);
	}
	assert_true(received > 100000 && received <= 100000 + RELAY_BUFFER);
	expect_notice(w, "output", 0);

	ask(w,
	    json_pack("{s:s, s:s, s:i, s:{s:s}}", "request", "exec.close", "session", SESSION,
		      "exec", 1, "fields", "reason", "limit"),
	    NULL);
	json_t *closed = expect_reply(w, "exec.closed");
	assert_true(json_is_true(json_object_get(closed, "output_truncated")));
	json_decref(closed);
	assert_int_equal(read(command[1], block, sizeof(block)), 0);
	close(command[0]);
	close(command[1]);
	json_decref(close_session(w));
	read_journal(w, FIELD_reason);
	const struct event *end = &w->events[find_kind(w, EVENT_session_end)];
	assert_int_equal(event_u64(end, FIELD_stdout_total, 0), received);
}

static void counts_what_is_lost(void **state)
{
	struct recorder_world *w = *state;

	start(w);
	open_session(w, "kill");
	begin_record(w);
	put_exits(w, 3);
	lose(w, WIRE_CLASS_process);
	lose(w, WIRE_CLASS_process);
	put_exits(w, 3);
	expect_notice(w, "lost", 0);
	lose(w, WIRE_CLASS_net);

	json_t *closed = close_session(w);
	expect_counts(closed, "process", 8, 6, 2);
	expect_counts(closed, "net", 1, 0, 1);
	assert_int_equal(json_integer_value(json_object_get(closed, "lost")), 3);
	json_decref(closed);

	read_journal(w, FIELD_class);
	assert_int_equal(count_kind(w, EVENT_gap), 2);
	const struct event *gap = &w->events[find_kind(w, EVENT_gap)];
	assert_string_equal(text_of(w, EVENT_gap), "process");
	assert_int_equal(event_u64(gap, FIELD_first, 99), 3);
	assert_int_equal(event_u64(gap, FIELD_last, 99), 4);
}

/* Three, and the second one ends. */
static void give_commands(struct recorder_world *w)
{
	for (int exec = 1; exec <= 3; exec++)
		ask(w,
		    json_pack("{s:s, s:s, s:s, s:{s:i, s:[s]}}", "request", "event", "session",
			      SESSION, "kind", "exec.start", "fields", "exec", exec, "argv", "a"),
		    NULL);
	ask(w,
	    json_pack("{s:s, s:s, s:s, s:{s:i, s:s}}", "request", "event", "session", SESSION,
		      "kind", "exec.end", "fields", "exec", 2, "reason", "exit"),
	    NULL);
}

/* Those that another supervisor left without an end have one, and it says so. */
static void each_command_ended_once(struct recorder_world *w)
{
	int ends[4] = {0};

	read_journal(w, FIELD_reason);
	for (size_t i = 0; i < w->count; i++) {
		const struct event *e = &w->events[i];
		uint64_t exec = event_u64(e, FIELD_exec, 0);

		if (e->kind == EVENT_exec_end && exec < 4)
			ends[exec]++;
	}
	for (int exec = 1; exec <= 3; exec++)
		assert_int_equal(ends[exec], 1);
}

/* vitrined dies: what the ring holds is written, and the next recorder goes on. */
static void seals_when_vitrined_is_gone(void **state)
{
	struct recorder_world *w = *state;

	start(w);
	open_session(w, "freeze");
	give_commands(w);
	put_exits(w, 20);
	stop_recorder(w);
	read_journal(w, FIELD_reason);
	assert_int_equal(count_kind(w, EVENT_process_exit), 20);
	assert_int_equal(count_kind(w, EVENT_session_end), 0);
	assert_int_equal(count_kind(w, EVENT_exec_end), 1);

	start_recorder(w);
	start(w);
	for (int round = 0; round < 2; round++) {
		cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		ask(w, json_pack("{s:s, s:s}", "request", "open", "session", SESSION), "journal",
		    dir, NULL);
		json_t *opened = expect_reply(w, "opened");
		assert_int_equal(json_is_true(json_object_get(opened, "ended")), round == 1);
		json_decref(opened);
		json_decref(close_session(w));
	}
	read_journal(w, FIELD_reason);
	assert_int_equal(count_kind(w, EVENT_session_end), 1);
	assert_string_equal(text_of(w, EVENT_session_end), "exit");
	each_command_ended_once(w);
}

static bool freeze_is(struct recorder_world *w, char wanted)
{
	char got = 0;

	for (int i = 0; i < 5000; i++) {
		if (pread(w->freeze_fd, &got, 1, 0) == 1 && got == wanted)
			return true;
		usleep(1000);
	}
	return false;
}

static void fill_disk(struct recorder_world *w, const char *name)
{
	char path[128], block[4096] = {0};

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	cleanup(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
}

/* The disk is full: the session is frozen, nothing is lost, and it goes on. */
static void waits_for_the_disk(void **state)
{
	struct recorder_world *w = *state;
	char path[128];
	int put = 0;

	start(w);
	open_session(w, "freeze");
	begin_record(w);
	put_exits(w, 10);
	usleep(100000);
	fill_disk(w, "filler");
	for (; put < 300; put++)
		assert_int_equal(put_exit(w, true), 0);
	expect_notice(w, "trouble", ENOSPC);
	assert_true(freeze_is(w, '1'));

	/* Nothing is drained meanwhile, so the ring fills to its last byte. */
	while (put_exit(w, true) == 0)
		put++;
	w->losses[0] = 1;
	write_counter(w->losses_fd, SLOT * WIRE_CLASS_COUNT * LOSS_REASON_COUNT, 1);

	snprintf(path, sizeof(path), "%s/filler", w->dir);
	assert_int_equal(unlink(path), 0);
	expect_notice(w, "trouble", 0);
	assert_true(freeze_is(w, '0'));
	json_t *closed = close_session(w);
	assert_null(json_object_get(closed, "errno"));
	expect_counts(closed, "process", 10 + put + 1, 10 + put, 1);
	json_decref(closed);
	read_journal(w, FIELD_reason);
	assert_int_equal(count_kind(w, EVENT_process_exit), 10 + put);
	assert_true(count_kind(w, EVENT_session_pause) >= 1);
	assert_int_equal(count_kind(w, EVENT_session_pause), count_kind(w, EVENT_session_resume));
	assert_string_equal(text_of(w, EVENT_session_pause), "disk_full");
}

/* The disk stays full to the end: the account says what is not in the journal. */
static void says_what_could_not_be_written(void **state)
{
	struct recorder_world *w = *state;

	start(w);
	open_session(w, "count");
	begin_record(w);
	put_exits(w, 10);
	usleep(100000);
	fill_disk(w, "filler");
	for (int i = 0; i < 300; i++)
		put_exit(w, false);
	expect_notice(w, "trouble", ENOSPC);
	put_exits(w, 5);

	json_t *closed = close_session(w);
	assert_int_equal(json_integer_value(json_object_get(closed, "errno")), ENOSPC);
	const json_t *counts = json_object_get(json_object_get(closed, "counts"), "process");
	int64_t journaled = json_integer_value(json_object_get(counts, "journaled"));
	expect_counts(closed, "process", 315, (int)journaled, 315 - (int)journaled);
	read_journal(w, FIELD_reason);
	assert_true(count_kind(w, EVENT_process_exit) >= (size_t)journaled);
	assert_true(journaled >= 10);
	json_decref(closed);
	char got = 0;
	assert_int_equal(pread(w->freeze_fd, &got, 1, 0), 0); /* count never freezes */
}

static void refuses_what_is_wrong(void **state)
{
	struct recorder_world *w = *state;
	cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ask(w, open_message("freeze"), "journal", dir, NULL);
	expect_refusal(w, "opened", EPERM);
	start(w);
	ask(w, json_pack("{s:s}", "request", "start"), NULL);
	expect_refusal(w, "started", EALREADY);
	ask(w, json_pack("{s:s}", "request", "destroy"), NULL);
	ask(w, open_message("never"), "journal", dir, NULL);
	expect_refusal(w, "opened", EINVAL);
	ask(w, open_message("freeze"), NULL);
	expect_refusal(w, "opened", EINVAL);
	ask(w, open_message("freeze"), "journal", dir, "ring", dir, NULL);
	json_decref(expect_reply(w, "opened"));
	json_t *message = open_message("freeze");
	json_object_set_new(message, "slot", json_integer(SESSION_SLOTS));
	ask(w, message, "journal", dir, NULL);
	expect_refusal(w, "opened", EINVAL);
	message = open_message("freeze");
	json_object_set_new(message, "secrets",
			    json_pack("[{s:s, s:s}]", "name", "A", "value", "short"));
	ask(w, message, "journal", dir, NULL);
	expect_refusal(w, "opened", EINVAL);

	open_session(w, "freeze");
	ask(w, open_message("freeze"), "journal", dir, NULL);
	expect_refusal(w, "opened", EEXIST);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:{}}", "request", "exec.close", "session", SESSION, "exec",
		      9, "fields"),
	    NULL);
	expect_refusal(w, "exec.closed", ENOENT);
	ask(w,
	    json_pack("{s:s, s:s, s:{s:i}}", "request", "close", "session", SESSION, "fields",
		      "no_such_field", 1),
	    NULL);
	expect_refusal(w, "closed", EINVAL);
	ask(w, json_pack("{s:s, s:s, s:{}}", "request", "close", "session", "nobody", "fields"),
	    NULL);
	expect_refusal(w, "closed", ENOENT);
	json_decref(close_session(w));
}

static void drops_what_makes_it_dangerous(void **state)
{
	struct recorder_world *w = *state;
	char path[64], line[256];
	bool is_nobody = false;
	int seccomp = 0;

	start(w);
	snprintf(path, sizeof(path), "/proc/%d/status", w->pid);
	cleanup(fclose) FILE *status = fopen(path, "re");
	while (fgets(line, sizeof(line), status)) {
		if (!strncmp(line, "Uid:", 4))
			is_nobody = !strcmp(line, "Uid:\t65534\t65534\t65534\t65534\n");
		if (!strncmp(line, "CapEff:", 7) || !strncmp(line, "CapPrm:", 7))
			assert_string_equal(line + 7, "\t0000000000000000\n");
		if (!strncmp(line, "NoNewPrivs:", 11))
			assert_string_equal(line + 11, "\t1\n");
		if (!strncmp(line, "Seccomp:", 8))
			seccomp = line[9] - '0';
	}
	assert_true(is_nobody);
	assert_int_equal(seccomp, IS_SANITIZED ? 0 : 2);
}

/* What the kernel sent before the session was told of comes behind its beginning. */
static void begins_with_the_session(void **state)
{
	struct recorder_world *w = *state;

	start(w);
	open_session(w, "freeze");
	put_exits(w, 3);
	usleep(100000);
	begin_record(w);
	json_decref(close_session(w));
	read_journal(w, FIELD_reason);
	assert_int_equal(w->events[0].kind, EVENT_session_start);
	assert_int_equal(count_kind(w, EVENT_process_exit), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(records_a_session),
		TEST(the_end_waits_for_the_last_command),
		TEST(the_files_are_left_before_the_end_is_told),
		TEST(begins_with_the_session),
		TEST(keeps_output_up_to_the_cap),
		TEST(keeps_sizes_of_output),
		TEST(keeps_no_output),
		TEST(keeps_sizes_of_output),
		TEST(stops_output_past_its_limit),
		TEST(counts_what_is_lost),
		TEST(seals_when_vitrined_is_gone),
		TEST(waits_for_the_disk),
		TEST(says_what_could_not_be_written),
		TEST(refuses_what_is_wrong),
		TEST(drops_what_makes_it_dangerous),
	};

	/* The file systems that are mounted here are nobody else's. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
