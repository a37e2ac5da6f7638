/* The life of a session: every stage, every failure, and that what was given comes back. */
#include "session_bench.h"

static void a_command_runs_and_ends(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	assert_int_equal(fake.told_started, 0); /* not before its record is open */
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
	assert_string_equal(
		fake.calls,
		"slot create watch ring prepare begin open session.start secret.give "
		"tell-exec session.ready exec.start exec end exec.end-last look session.end ");
	m = read_manifest(b);
	assert_int_equal(m.state, SESSION_ENDED);
	assert_string_equal(m.reason, "exit");
	assert_int_equal(m.exit_code, 7);
	manifest_free(&m);
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
	assert_non_null(strstr(fake.calls, "exec end exec.end-last "));
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
	static const char *const steps[] = {"create", "watch", "prepare", "ring"};
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
	static const char *const steps[] = {"sign", "session.start", "begin", "session.ready",
					    "tell-exec"};
	struct fault f;

	fake.failing = "open";
	assert_int_equal(start(b, &f), -EIO);
	assert_int_equal(count_directories(b->dir), 0);

	for (size_t i = 0; i < 2 * sizeof(steps) / sizeof(steps[0]); i++) {
		bool is_late = i % 2; /* the sandbox */

		fake.failing = steps[i / 2];
		fake.told_ended = 0;
		fake.has_pool = i / 2 == 0;
		set_ready(!is_late);
		assert_int_equal(start(b, &f), 0);
		hear(b, RECORDER_OPENED, 0);
		if (is_late)
			get_ready(b);
		assert_false(fake.is_held);
		if (b->session->stage == SESSION_WORKING)
			happen(b, SANDBOX_STARTED, 0, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_int_equal(fake.told_ended, 1);
		assert_int_equal(fake.told_status, 125);
		assert_string_equal(end_reason(), "setup_failed");
		nothing_is_left(b);
		remove_sessions(b);
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
			     words[b->session->stage == SESSION_OPENING ? b->session->is_open
				   : b->session->execs && b->session->execs->stage == EXEC_DRAINING
					   ? 2
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
	assert_int_equal(b->session->stage, SESSION_CLOSING);
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
	assert_int_equal(fake.slots, 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_int_equal(fake.told_ended, 1);
	assert_int_equal(fake.told_status, 125);
	assert_string_equal(end_reason(), "supervisor_lost");
	struct manifest m = read_manifest(b);
	assert_string_equal(m.reason, "supervisor_lost");
	manifest_free(&m);
}

static void what_a_lost_recorder_had_in_hand_is_told(void **state)
{
	struct bench *b = *state;
	struct in_hand *in_hand;
	struct fault f;

	fake.numbers[WIRE_CLASS_file] = 1000; /* of sessions before */
	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	in_hand = (struct in_hand *)b->host.in_hand.cells + b->session->watch.slot;
	assert_int_equal(in_hand->settled[WIRE_CLASS_file], 1000);
	in_hand->settled[WIRE_CLASS_file] = 1100;
	in_hand->output_bytes = 17;
	in_hand->names = 2;
	fake.numbers[WIRE_CLASS_file] = 1142;
	fake.numbers[WIRE_CLASS_dns] = 1;
	session_lost(b->session);
	hear(b, RECORDER_OPENED, 0);
	assert_string_equal(fake.gaps,
			    "{\"class\":\"file\",\"count\":42,\"reason\":\"recorder_lost\"}\n"
			    "{\"class\":\"dns\",\"count\":3,\"reason\":\"recorder_lost\"}\n"
			    "{\"class\":\"output\",\"reason\":\"recorder_lost\",\"size\":17}\n");
	hear(b, RECORDER_CLOSED, 0);
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
	assert_non_null(strstr(fake.calls, "discard end exec.end-last "));
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_int_equal(fake.told_ended, 0);
	b->session = NULL;
}

/* ---- several commands ---- */

static struct {
	uint32_t started, ended;
	int status;
	char reason[32], error[256];
} others[8];

static void other_started(void *context, const char *id, uint32_t exec)
{
	(void)context, (void)id;
	others[exec].started++;
}

static void other_ended(void *context, const char *id, uint32_t exec, const json_t *verdict,
			int status, const char *error)
{
	const char *reason = json_string_value(json_object_get(verdict, "reason"));

	(void)context, (void)id;
	others[exec].ended++;
	others[exec].status = status;
	snprintf(others[exec].reason, sizeof(others[exec].reason), "%s", reason ? reason : "");
	snprintf(others[exec].error, sizeof(others[exec].error), "%s", error ? error : "");
}

static int give(struct bench *b, json_t *limits, uint32_t *ret_exec, struct fault *f)
{
	const struct exec_client client = {.started = other_started, .ended = other_ended};
	struct exec_ground ground = session_ground(b->session);
	cleanup(json) json_t *body = json_pack("{s:[s], s:o}", "command", "true", "limits", limits);
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[3] = {null, null, null};
	struct exec_request request;

	ground.may_limit = true;
	int r = exec_request_parse(body, &ground, &request, f);
	return r < 0 ? r : session_exec_start(b->session, &request, fds, &client, ret_exec, f);
}

static void work(struct bench *b)
{
	struct fault f;

	memset(others, 0, sizeof(others));
	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	fake.calls[0] = 0;
}

static void another_command_ends_by_itself(void **state)
{
	struct bench *b = *state;
	uint32_t exec = 0;
	struct fault f;

	work(b);
	assert_int_equal(give(b, json_object(), &exec, &f), 0);
	assert_int_equal(exec, 2);
	assert_int_equal(others[2].started, 0);
	hear_of(b, RECORDER_EXECED, 2, 0);
	assert_int_equal(others[2].started, 1);
	happen_to(b, 2, SANDBOX_EXITED, 3 << 8, 0);
	hear_of(b, RECORDER_EXEC_CLOSED, 2, 0);
	assert_int_equal(others[2].ended, 1);
	assert_int_equal(others[2].status, 3);
	assert_string_equal(others[2].reason, "exit");
	assert_string_equal(fake.calls, "prepare tell-exec exec.start exec kill-exec exec.end ");
	assert_int_equal(b->session->stage, SESSION_WORKING);

	/* What comes late of it is nobody's. */
	happen_to(b, 2, SANDBOX_EXITED, 0, 0);
	hear_of(b, RECORDER_EXEC_CLOSED, 2, 0);
	assert_int_equal(others[2].ended, 1);
	happen(b, SANDBOX_EXITED, 0, 0);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(end_reason(), "exit");
}

/* In whatever stage they are: each has one end, and that of the session follows. */
static void all_commands_end_with_their_session(void **state)
{
	struct bench *b = *state;
	uint32_t exec = 0;
	struct fault f;

	work(b);
	for (uint32_t i = 2; i <= 4; i++) {
		assert_int_equal(give(b, json_object(), &exec, &f), 0);
		assert_int_equal(exec, i);
	}
	hear_of(b, RECORDER_EXECED, 3, 0);
	hear_of(b, RECORDER_EXECED, 4, 0);
	happen_to(b, 4, SANDBOX_EXITED, 0, 0);
	fake.calls[0] = 0;
	happen(b, SANDBOX_EXITED, 1 << 8, 0);
	/* That of 2, which was not started, has its start too; 4 has its end already. */
	assert_string_equal(fake.calls,
			    "end exec.end-last exec.start exec.end exec.end look session.end ");
	assert_int_equal(give(b, json_object(), &exec, &f), -ESRCH);
	hear_of(b, RECORDER_EXECED, 2, 0);
	for (uint32_t i = 4; i > 1; i--)
		hear_of(b, RECORDER_EXEC_CLOSED, i, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_int_equal(fake.told_status, 1);
	for (uint32_t i = 2; i <= 4; i++)
		assert_int_equal(others[i].ended, 1);
	assert_int_equal(others[2].status, 137);
	assert_int_equal(others[4].status, 0);
	assert_string_equal(others[3].error, "command 3 was killed by session");
}

static void one_command_is_killed_and_the_session_is_not(void **state)
{
	struct bench *b = *state;
	const struct verdict killed = {.reason = VERDICT_KILLED, .by = "user"};
	uint32_t exec = 0;
	struct fault f;

	work(b);
	assert_int_equal(session_exec_end(b->session, 2, &killed, false), -ESRCH);
	assert_int_equal(give(b, json_object(), &exec, &f), 0);
	hear_of(b, RECORDER_EXECED, 2, 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(session_exec_end(b->session, 2, &killed, i > 10), 0);
	assert_int_equal(session_signal(b->session, 2, 15, "user"), -ESRCH);
	assert_null(strstr(strstr(fake.calls, "exec.end") + 1, "exec.end"));
	hear_of(b, RECORDER_EXEC_CLOSED, 2, 0);
	assert_string_equal(others[2].reason, "killed");
	assert_int_equal(b->session->stage, SESSION_WORKING);
	/* That of the one that it lives for is its end. */
	assert_int_equal(session_exec_end(b->session, 1, &killed, false), 0);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(end_reason(), "killed");
}

static void a_command_has_limits_within_its_session(void **state)
{
	struct bench *b = *state;
	uint32_t exec = 0;
	struct fault f;

	memset(others, 0, sizeof(others));
	assert_int_equal(start_limited(b, json_pack("{s:s, s:i}", "memory", "64M", "pids", 8), &f),
			 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	assert_int_equal(give(b, json_pack("{s:s}", "memory", "65M"), &exec, &f), -EINVAL);
	assert_non_null(strstr(f.text, "limits.memory"));
	assert_int_equal(give(b, json_pack("{s:s}", "disk", "1G"), &exec, &f), -EINVAL);
	assert_non_null(strstr(f.text, "of the session"));
	fake.failing = "limit-exec";
	assert_int_equal(give(b, json_pack("{s:i}", "pids", 4), &exec, &f), -EIO);
	fake.failing = NULL;
	assert_int_equal(give(b, json_pack("{s:i, s:s}", "pids", 4, "memory", "16M"), &exec, &f),
			 0);
	assert_int_equal(fake.exec_limits.pids, 4);
	assert_int_equal(fake.exec_limits.memory_bytes, 16 << 20);
	hear_of(b, RECORDER_EXECED, exec, 0);

	struct recorder_message over = {.word = RECORDER_OUTPUT, .exec = exec};
	session_recorder_message(b->session, &over);
	hear_of(b, RECORDER_EXEC_CLOSED, exec, 0);
	assert_string_equal(others[exec].reason, "limit");
	assert_int_equal(b->session->stage, SESSION_WORKING);
	over.exec = 0;
	session_recorder_message(b->session, &over);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_string_equal(end_reason(), "limit");
}

/* Whoever asked for it is told, also where nothing of it came into the record. */
static void a_command_that_cannot_be_recorded_is_told(void **state)
{
	struct bench *b = *state;
	uint32_t exec = 0;
	struct fault f;

	work(b);
	fake.failing = "tell-exec";
	assert_int_equal(give(b, json_object(), &exec, &f), -EIO);
	fake.failing = NULL;
	assert_int_equal(give(b, json_object(), &exec, &f), 0);
	hear_of(b, RECORDER_EXECED, exec, ENOSPC);
	assert_int_equal(others[exec].ended, 1);
	assert_int_equal(others[exec].status, 125);
	assert_int_equal(give(b, json_object(), &exec, &f), 0);
	hear_of(b, RECORDER_EXECED, exec, 0);
	session_abandon(b->session);
	b->session = NULL;
	assert_int_equal(others[exec].ended, 1);
}

static void no_secret_is_in_the_fields(void **state)
{
	struct bench *b = *state;
	struct fault f;

	assert_int_equal(start(b, &f), 0);
	cleanup(json) json_t *first = session_start_fields(b->session);
	cleanup(json) json_t *second = session_exec_fields(b->session->main);
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
		TEST(a_command_runs_and_ends),
		TEST(many_killers_are_one_end),
		TEST(every_step_of_the_set_up_is_unwound),
		TEST(a_message_that_cannot_be_sent_ends_it),
		TEST(a_command_that_cannot_be_started),
		TEST(a_journal_that_cannot_be_opened_leaves_no_session),
		TEST(an_end_at_any_stage),
		TEST(a_full_disk_kills_after_the_wait),
		TEST(a_lost_recorder_is_the_reason),
		TEST(what_a_lost_recorder_had_in_hand_is_told),
		TEST(an_abandoned_session_is_left_to_the_next_start),
		TEST(a_client_that_left_is_told_nothing),
		TEST(another_command_ends_by_itself),
		TEST(all_commands_end_with_their_session),
		TEST(one_command_is_killed_and_the_session_is_not),
		TEST(a_command_has_limits_within_its_session),
		TEST(a_command_that_cannot_be_recorded_is_told),
		TEST(no_secret_is_in_the_fields),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
