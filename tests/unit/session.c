/* The life of a session: every stage, every failure, and that what was given comes back. */
#include "pretended_host.h"

#include "../../supervisor/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cmocka.h>

struct bench {
	char dir[64];
	struct host host;
	struct session *session;
	int fds_before;
};

static int open_fds(void)
{
	cleanup(closedir) DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	return count;
}

static void on_started(void *context, const char *id)
{
	(void)context;
	assert_int_equal(strlen(id), SESSION_ID_LENGTH);
	fake.told_started++;
}

static void on_ended(void *context, const char *id, const json_t *verdict, int status,
		     const char *error)
{
	struct bench *b = context;

	(void)id;
	fake.told_ended++;
	fake.told_status = status;
	fake.has_verdict = verdict != NULL;
	snprintf(fake.told_error, sizeof(fake.told_error), "%s", error ? error : "");
	b->session = NULL;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	json_decref(fake.exec_end);
	json_decref(fake.session_end);
	memset(&fake, 0, sizeof(fake));
	fake.status_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	strcpy(b->dir, "/tmp/vitrine-session-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	b->host.sessions_fd = open(b->dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	b->host.recorder_uid = geteuid();
	b->host.recorder_gid = getegid();
	b->host.config.state = b->dir;
	assert_true(sd_event_new(&b->host.loop) >= 0);
	/* The loop keeps the timerfd that the first timer makes. */
	sd_event_source *timer = NULL;
	assert_true(sd_event_add_time_relative(b->host.loop, &timer, CLOCK_MONOTONIC, 1000000, 0,
					       NULL, NULL) >= 0);
	sd_event_source_disable_unref(timer);
	b->fds_before = open_fds();
	*state = b;
	return 0;
}

static size_t count_directories(const char *path)
{
	cleanup(closedir) DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	return count;
}

/* Whatever happened, everything that was given has come back. */
static void nothing_is_left(struct bench *b)
{
	assert_int_equal(fake.sandboxes, 0);
	assert_int_equal(fake.watches, 0);
	assert_int_equal(b->host.watched, 0);
	assert_int_equal(b->host.session_count, 0);
	assert_null(b->host.sessions);
	assert_int_equal(open_fds(), b->fds_before);
}

static void remove_sessions(struct bench *b)
{
	cleanup(closedir) DIR *dir = opendir(b->dir);
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		cleanup(close_fd) int fd =
			openat(b->host.sessions_fd, entry->d_name, O_DIRECTORY | O_RDONLY);
		session_dir_remove(b->host.sessions_fd, fd, entry->d_name);
	}
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	nothing_is_left(b);
	remove_sessions(b);
	sd_event_unref(b->host.loop);
	close(b->host.sessions_fd);
	close(fake.status_fd);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

static int start_limited(struct bench *b, json_t *limits, struct fault *f)
{
	struct session_request request;
	struct ucred asker = {.uid = 0};
	struct session_client client = {.context = b, .started = on_started, .ended = on_ended};
	cleanup(json) json_t *body =
		json_pack("{s:[s], s:s, s:[{s:s, s:s}], s:o}", "command", "true", "name", "n",
			  "secrets", "name", "TOKEN", "value", "correct-horse", "limits", limits);
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[3] = {null, null, null};

	assert_int_equal(session_request_parse(body, &request, f), 0);
	return session_start(&b->host, &request, &asker, fds, &client, &b->session, f);
}

static int start(struct bench *b, struct fault *f)
{
	return start_limited(b, json_object(), f);
}

static void hear(struct bench *b, enum recorder_word word, int error)
{
	struct recorder_message m = {.word = word, .error = error};

	if (word == RECORDER_CLOSED && !error)
		m.verdict = json_incref(fake.session_end);
	session_recorder_message(b->session, &m);
	recorder_message_free(&m);
}

static void happen(struct bench *b, enum sandbox_status_kind kind, int wait_status, int error)
{
	uint64_t one = 1;

	fake.status = (struct sandbox_status){
		.kind = kind,
		.wait_status = wait_status,
		.error = error,
		.step = fake.step,
		.cpu_ns = 5,
	};
	assert_int_equal(write(fake.status_fd, &one, sizeof(one)), sizeof(one));
	assert_true(sd_event_run(b->host.loop, 0) >= 0);
}

static struct manifest read_manifest(struct bench *b)
{
	cleanup(closedir) DIR *dir = opendir(b->dir);
	struct dirent *entry;
	struct manifest m = {0};

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		cleanup(close_fd) int fd =
			openat(b->host.sessions_fd, entry->d_name, O_DIRECTORY | O_RDONLY);
		assert_int_equal(manifest_read(fd, &m), 0);
	}
	return m;
}

static const char *end_reason(void)
{
	return json_string_value(json_object_get(fake.session_end, "reason"));
}

/* ---- tests ---- */

static void a_command_runs_and_ends(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	assert_int_equal(fake.told_started, 1);
	struct manifest m = read_manifest(b);
	assert_int_equal(m.state, SESSION_RUNNING);
	assert_int_equal(m.supervisor_pid, getpid());
	assert_string_equal(m.command, "[\"true\"]");
	manifest_free(&m);

	hear(b, RECORDER_EXECED, 0);
	happen(b, SANDBOX_STARTED, 0, 0);
	happen(b, SANDBOX_EXITED, 7 << 8, 0);
	assert_int_equal(json_integer_value(json_object_get(fake.exec_end, "exit_code")), 7);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);

	assert_int_equal(fake.told_ended, 1);
	assert_int_equal(fake.told_status, 7);
	assert_true(fake.has_verdict);
	assert_string_equal(fake.told_error, "");
	assert_string_equal(end_reason(), "exit");
	assert_string_equal(fake.calls,
			    "slot create watch ring open session.start prepare session.ready "
			    "tell-exec exec.start exec kill-exec exec.end kill session.end kill ");
	m = read_manifest(b);
	assert_int_equal(m.state, SESSION_ENDED);
	assert_string_equal(m.reason, "exit");
	assert_int_equal(m.exit_code, 7);
	manifest_free(&m);
}

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

/* Twenty who kill it at once: it is killed once, and the first reason stays. */
static void many_killers_are_one_end(void **state)
{
	struct bench *b = *state;
	struct verdict killed = {.reason = VERDICT_KILLED, .by = "user"};
	struct verdict late = {.reason = VERDICT_TIMEOUT};
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	for (int i = 0; i < 20; i++)
		session_end(b->session, i ? &late : &killed, false);
	assert_non_null(strstr(fake.calls, "exec kill exec.end"));
	assert_null(strstr(strstr(fake.calls, "exec.end") + 1, "exec.end"));
	hear(b, RECORDER_EXEC_CLOSED, 0);
	for (int i = 0; i < 20; i++)
		session_end(b->session, &late, true);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(end_reason(), "killed");
}

/* Steps that fail before there is a directory leave none; later ones leave the record of it. */
static void every_step_of_the_set_up_is_unwound(void **state)
{
	struct bench *b = *state;
	static const char *const steps[] = {"create", "watch", "ring"};
	struct fault f;

	fake.failing = "slot";
	assert_int_equal(start(b, &f), -EIO);
	assert_int_equal(count_directories(b->dir), 0);
	nothing_is_left(b);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fake.failing = steps[i];
		fake.told_ended = 0;
		fake.calls[0] = 0;
		assert_int_equal(start(b, &f), 0);
		assert_int_equal(fake.sandboxes, 0);
		assert_int_equal(b->host.watched, 0);
		assert_non_null(strstr(fake.calls, "open-journal"));
		hear(b, RECORDER_OPENED, 0);
		assert_non_null(strstr(fake.calls, "session.start session.end"));
		hear(b, RECORDER_CLOSED, 0);
		assert_int_equal(fake.told_ended, 1);
		assert_int_equal(fake.told_status, 125);
		assert_int_equal(fake.told_started, 0);
		assert_string_equal(end_reason(), "setup_failed");
		assert_non_null(json_object_get(fake.session_end, "step"));
		assert_int_equal(json_integer_value(json_object_get(fake.session_end, "errno")),
				 EIO);
		nothing_is_left(b);
	}
	assert_non_null(strstr(fake.told_error, "sensors"));
}

static void a_message_that_cannot_be_sent_ends_it(void **state)
{
	struct bench *b = *state;
	static const char *const steps[] = {"session.start", "prepare", "session.ready",
					    "tell-exec"};
	struct fault f;

	fake.failing = "open";
	assert_int_equal(start(b, &f), -EIO);
	assert_int_equal(count_directories(b->dir), 0);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fake.failing = steps[i];
		fake.told_ended = 0;
		assert_int_equal(start(b, &f), 0);
		hear(b, RECORDER_OPENED, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_int_equal(fake.told_ended, 1);
		assert_int_equal(fake.told_status, 125);
		assert_string_equal(end_reason(), "setup_failed");
		nothing_is_left(b);
	}
}

static void a_command_that_cannot_be_started(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *failing;
		enum sandbox_status_kind kind;
		const char *step;
		int error, status;
	} cases[] = {
		{"exec", 0, NULL, 0, 125},
		{"exec.start", 0, NULL, 0, 125},
		{NULL, SANDBOX_FAILED, "execute", ENOENT, 127},
		{NULL, SANDBOX_FAILED, "execute", EACCES, 126},
		{NULL, SANDBOX_FAILED, "execute", E2BIG, 126},
		{NULL, SANDBOX_FAILED, "directory", ENOENT, 125},
		{NULL, SANDBOX_FAILED, "filter", EINVAL, 125},
	};
	struct fault f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.failing = cases[i].failing;
		fake.step = cases[i].step;
		assert_int_equal(start(b, &f), 0);
		hear(b, RECORDER_OPENED, 0);
		hear(b, RECORDER_EXECED, 0);
		if (!cases[i].failing)
			happen(b, cases[i].kind, 0, cases[i].error);
		hear(b, RECORDER_EXEC_CLOSED, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_int_equal(fake.told_status, cases[i].status);
		assert_string_equal(end_reason(), "setup_failed");
		assert_true(strlen(fake.told_error) > 0);
		nothing_is_left(b);
	}
}

static void a_journal_that_cannot_be_opened_leaves_no_session(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, ENOSPC);
	assert_int_equal(fake.told_ended, 1);
	assert_int_equal(fake.told_status, 125);
	assert_non_null(strstr(fake.told_error, "No space left on device"));
	assert_int_equal(count_directories(b->dir), 0);
}

/* Killed at every stage: one end, one reason, nothing left. */
static void an_end_at_any_stage(void **state)
{
	struct bench *b = *state;
	struct verdict killed = {.reason = VERDICT_KILLED, .by = "client"};
	struct fault f;

	for (int stage = SESSION_OPENING; stage <= SESSION_CLOSING; stage++) {
		fake.told_ended = 0;
		fake.calls[0] = 0;
		assert_int_equal(start(b, &f), 0);
		static const enum recorder_word words[] = {RECORDER_OPENED, RECORDER_EXECED,
							   RECORDER_EXEC_CLOSED, RECORDER_CLOSED};
		for (int i = 0; b->session && i < 4; i++) {
			if (b->session->stage == (enum session_stage)stage)
				session_end(b->session, &killed, true);
			if (b->session->stage == SESSION_WORKING && stage > SESSION_WORKING)
				happen(b, SANDBOX_EXITED, 0, 0);
			if (b->session->stage == (enum session_stage)stage)
				session_end(b->session, &killed, true);
			hear(b,
			     words[b->session->stage == SESSION_OPENING	   ? 0
				   : b->session->stage == SESSION_EXECING  ? 1
				   : b->session->stage == SESSION_DRAINING ? 2
									   : 3],
			     0);
		}
		if (b->session && b->session->stage == SESSION_WORKING) {
			session_end(b->session, &killed, true);
			hear(b, RECORDER_EXEC_CLOSED, 0);
			hear(b, RECORDER_CLOSED, 0);
		}
		assert_int_equal(fake.told_ended, 1);
		assert_string_equal(end_reason(), stage > SESSION_WORKING ? "exit" : "killed");
		assert_int_equal(fake.told_status, stage > SESSION_WORKING ? 0 : 137);
		nothing_is_left(b);
	}
}

static void a_full_disk_kills_after_the_wait(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	b->session->request.policy.disk_wait_s = 0;
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	hear(b, RECORDER_TROUBLE, ENOSPC);
	hear(b, RECORDER_TROUBLE, 0);
	assert_true(sd_event_run(b->host.loop, 20000) >= 0);
	assert_int_equal(b->session->stage, SESSION_WORKING);

	hear(b, RECORDER_TROUBLE, ENOSPC);
	assert_true(sd_event_run(b->host.loop, 2000000) >= 0);
	assert_int_equal(b->session->stage, SESSION_DRAINING);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, ENOSPC);
	assert_int_equal(fake.told_status, 137);
	assert_non_null(strstr(fake.told_error, "not whole"));
	assert_string_equal(json_string_value(json_object_get(fake.session_end, "limit")),
			    "journal");

	struct manifest m = read_manifest(b);
	assert_int_equal(m.state, SESSION_RUNNING); /* the next start finishes the record */
	assert_string_equal(m.reason, "limit");

	int dir_fd = -1;
	assert_int_equal(session_dir_open(b->host.sessions_fd, m.id, &dir_fd), 0);
	assert_int_equal(session_adopt(&b->host, &m, dir_fd), 0);
	b->session = b->host.sessions;
	hear(b, RECORDER_OPENED, 0);
	assert_string_equal(end_reason(), "limit");
	assert_string_equal(json_string_value(json_object_get(fake.session_end, "limit")),
			    "journal");
	hear(b, RECORDER_CLOSED, 0);
}

static void a_lost_recorder_is_the_reason(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	session_lost(b->session);
	assert_int_equal(fake.sandboxes, 0);
	assert_int_equal(fake.watches, 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_int_equal(fake.told_ended, 1);
	assert_int_equal(fake.told_status, 125);
	assert_string_equal(end_reason(), "supervisor_lost");
	struct manifest m = read_manifest(b);
	assert_string_equal(m.reason, "supervisor_lost");
	manifest_free(&m);
}

static void an_abandoned_session_is_left_to_the_next_start(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	session_abandon(b->session);
	assert_int_equal(fake.told_ended, 1);
	struct manifest m = read_manifest(b);
	assert_int_equal(m.state, SESSION_RUNNING);
	m.supervisor_pid = 0;

	int dir_fd = -1;
	struct session *s;
	assert_int_equal(session_dir_open(b->host.sessions_fd, m.id, &dir_fd), 0);
	assert_int_equal(session_adopt(&b->host, &m, dir_fd), 0);
	s = b->session = b->host.sessions;
	assert_int_equal(session_dir_open(b->host.sessions_fd, session_id(s), &dir_fd), -EAGAIN);
	fake.calls[0] = 0;
	hear(b, RECORDER_OPENED, 0);
	assert_string_equal(fake.calls, "session.end ");
	assert_string_equal(end_reason(), "supervisor_lost");
	hear(b, RECORDER_CLOSED, 0);
	assert_int_equal(fake.told_ended, 1);
}

static void a_client_that_left_is_told_nothing(void **state)
{
	struct bench *b = *state;
	struct verdict gone = {.reason = VERDICT_KILLED, .by = "client"};
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	session_forget_client(b->session);
	session_end(b->session, &gone, true);
	assert_non_null(strstr(fake.calls, "discard kill exec.end"));
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_int_equal(fake.told_ended, 0);
	b->session = NULL;
}

static void no_secret_is_in_the_fields(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	cleanup(json) json_t *first = session_start_fields(b->session);
	cleanup(json) json_t *second = session_exec_fields(b->session);
	cleanup(free) char *texts[2] = {json_dumps(first, 0), NULL};
	cleanup(free) char *exec = json_dumps(second, 0);

	assert_null(strstr(texts[0], "correct-horse"));
	assert_null(strstr(exec, "correct-horse"));
	assert_non_null(strstr(exec, "\"TOKEN\""));
	assert_string_equal(json_string_value(json_object_get(second, "cwd")), "/home/agent");
	session_abandon(b->session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_command_runs_and_ends),
		TEST(memory_is_a_reason_only_where_it_was_one),
		TEST(time_that_is_up_ends_it),
		TEST(output_past_its_limit_ends_it),
		TEST(a_signal_says_who_sent_it),
		TEST(many_killers_are_one_end),
		TEST(every_step_of_the_set_up_is_unwound),
		TEST(a_message_that_cannot_be_sent_ends_it),
		TEST(a_command_that_cannot_be_started),
		TEST(a_journal_that_cannot_be_opened_leaves_no_session),
		TEST(an_end_at_any_stage),
		TEST(a_full_disk_kills_after_the_wait),
		TEST(a_lost_recorder_is_the_reason),
		TEST(an_abandoned_session_is_left_to_the_next_start),
		TEST(a_client_that_left_is_told_nothing),
		TEST(no_secret_is_in_the_fields),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
