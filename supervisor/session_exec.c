/*
 * The command of a session: started when the recorder knows it, followed until its first process
 * ends, and what it left running killed.
 */
#include "record/crash.h"
#include "session_state.h"

#include "record/jansson_cleanup.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define DRAIN_US 2000000 /* for a reader to take what a killed command wrote */

static int on_drain(sd_event_source *source, uint64_t now_us, void *context)
{
	struct session *s = context;

	(void)source, (void)now_us;
	session_discard(s);
	return 0;
}

void session_hurry(struct session *s)
{
	if (!s->drain && sd_event_add_time_relative(s->host->loop, &s->drain, CLOCK_MONOTONIC,
						    DRAIN_US, 0, on_drain, s) < 0)
		session_discard(s);
}

/* What ended by itself is followed to its last byte, however slow its reader is. */
static bool ended_by_itself(const struct verdict *v)
{
	return v->reason == VERDICT_EXIT || v->reason == VERDICT_SIGNAL;
}

void session_finish_exec(struct session *s)
{
	struct verdict v = s->verdict;

	phases_mark(s->phases, "ended");

	s->statuses = sd_event_source_disable_unref(s->statuses);
	session_limits_stop(s);
	int r = sandbox_kill(s->sandbox, ended_by_itself(&v) ? SESSION_EXEC : 0);

	session_limits_look(s);
	session_measure(s, &v);
	phases_mark(s->phases, "killed");
	if (!ended_by_itself(&v))
		session_hurry(s);
	v.wall_ns = session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns;
	s->stage = SESSION_DRAINING;
	recorder_close_exec(s->host->recorder, s->manifest.id, SESSION_EXEC, verdict_fields(&v));

	crash_point();
	/* While the recorder takes what the command wrote. */
	if (r == 0 && ended_by_itself(&v)) {
		sandbox_doom(s->sandbox);
		s->is_doomed = true;
	}
	if (r == 0)
		session_look(s);
	session_count_missed(s);
	phases_mark(s->phases, "emptied");
}

/* Only a command that could not be executed itself has the exit status of a shell for it. */
static void decide_not_run(struct session *s, const struct sandbox_status *status)
{
	struct verdict failed = {
		.reason = VERDICT_SETUP_FAILED, .step = VERDICT_STEP_EXEC, .error = status->error};
	const char *directory = strcmp(status->step, "directory") ? NULL : s->request.cwd;

	if (strcmp(status->step, "execute") != 0)
		failed.step = status->step;
	snprintf(failed.text, sizeof(failed.text), "cannot run the command: %s%s%s",
		 directory ? directory : "", directory ? ": " : "", strerror(status->error));
	session_redact_words(s, failed.text, sizeof(failed.text));
	verdict_decide(&s->verdict, &failed);
}

static void take_status(struct session *s, const struct sandbox_status *status)
{
	struct verdict gone = {.reason = VERDICT_KILLED,
			       .text = "the first process of the session ended"};
	struct verdict ended;

	switch (status->kind) {
	case SANDBOX_STARTED:
		phases_mark(s->phases, "started");
		return;
	case SANDBOX_FAILED:
		decide_not_run(s, status);
		break;
	case SANDBOX_EXITED:
		phases_mark(s->phases, "ran");
		s->verdict.cpu_ns = status->cpu_ns;
		s->verdict.memory_peak = status->memory_peak;
		ended = verdict_of_wait_status(status->wait_status);
		session_explain_death(s, s->exec_cgroup, &ended);
		verdict_decide(&s->verdict, &ended);
		break;
	case SANDBOX_GONE:
		session_explain_death(s, sandbox_info(s->sandbox)->cgroup, &gone);
		verdict_decide(&s->verdict, &gone);
		break;
	}
	session_finish_exec(s);
}

static int on_status(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct session *s = context;
	struct sandbox_status status;
	int r = 1;

	(void)source, (void)fd, (void)events;
	while (s->stage == SESSION_WORKING && r > 0) {
		r = sandbox_next_status(s->sandbox, &status);
		if (r > 0)
			take_status(s, &status);
	}
	if (r < 0) {
		session_decide_failed(s, "sandbox", r, NULL);
		session_finish_exec(s);
	}
	return 0;
}

static int start_command(struct session *s, int *ret_master)
{
	const struct session_request *r = &s->request;
	cleanup(free) const char **env = session_secrets_env(&r->secrets, r->env);
	struct sandbox_error error = {0};
	struct sandbox_command command = {
		.exec = SESSION_EXEC,
		.argv = (const char *const *)r->argv,
		.env = env,
		.cwd = r->cwd,
		.as_root = strcmp(r->policy.user, "root") == 0,
		.stdin_fd = s->streams.session[0],
		.stdout_fd = s->streams.session[1],
		.stderr_fd = s->streams.session[2],
		.tty = r->tty,
		.columns = r->columns,
		.rows = r->rows,
	};
	int e = env ? sandbox_exec(s->sandbox, &command, ret_master, &error) : -ENOMEM;

	if (e < 0)
		session_decide_failed(s, error.step ? error.step : "sandbox", e, error.text);
	return e;
}

static int run_command(struct session *s)
{
	struct recorder *recorder = s->host->recorder;
	cleanup(close_fd) int master = -1;
	int r = recorder_event(recorder, s->manifest.id, "exec.start", session_exec_fields(s));
	if (r < 0)
		return session_decide_failed(s, "record", r, NULL), r;

	r = start_command(s, &master);
	streams_close_session(&s->streams);
	if (r < 0)
		return r;
	if (master >= 0)
		recorder_tty(recorder, s->manifest.id, SESSION_EXEC, master, &s->streams);
	streams_close(&s->streams);

	r = sd_event_add_io(s->host->loop, &s->statuses, sandbox_status_fd(s->sandbox), EPOLLIN,
			    on_status, s);
	if (r < 0)
		return session_decide_failed(s, "sandbox", r, NULL), r;
	r = session_limits_start(s);
	if (r < 0)
		return session_decide_failed(s, "limits", r, NULL), r;
	metric_add(s->host->metrics->sessions_started, 1);
	metric_observe(s->host->metrics->session_start, METRIC_SECONDS,
		       session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns);
	return 0;
}

void session_run_command(struct session *s)
{
	s->stage = SESSION_WORKING;
	if (run_command(s) < 0)
		session_finish_exec(s);
	phases_mark(s->phases, "asked");
}
