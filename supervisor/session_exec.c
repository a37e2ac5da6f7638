/*
 * The commands of a session. Each is a row of stages of its own: the recorder is told of it, it is
 * started, followed until its first process ends, what it left running is killed, and when the
 * recorder has all that it wrote it is gone. The first command of `vitrine run` is the one that its
 * session lives for: its verdict is the session's.
 */
#include "record/crash.h"
#include "session_state.h"

#include "record/jansson_cleanup.h"
#include "sandbox/init.h"
#include "sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_US 2000000 /* for a reader to take what a killed command wrote */

/* ---- the list of them ---- */

struct session_exec *exec_add(struct session *s, const struct exec_request *request)
{
	struct session_exec *x = calloc(1, sizeof(*x)), **last = &s->execs;

	if (!x)
		return NULL;
	*x = (struct session_exec){
		.session = s,
		.number = ++s->last_exec,
		.request = request,
		.streams = STREAMS_NONE,
		.started_boot_ns = session_clock_ns(CLOCK_BOOTTIME),
	};
	while (*last)
		last = &(*last)->next;
	*last = x;
	return x;
}

void exec_free(struct session_exec *x)
{
	struct session *s = x->session;

	for (struct session_exec **at = &s->execs; *at; at = &(*at)->next)
		if (*at == x) {
			*at = x->next;
			break;
		}
	if (s->main == x)
		s->main = NULL;
	if (s->is_watched && x->cgroup) {
		sensors_forget_death(s->host->sensors, x->cgroup);
		sensors_forget_command(s->host->sensors, x->cgroup);
	}
	sd_event_source_disable_unref(x->wall);
	sd_event_source_disable_unref(x->drain);
	streams_close(&x->streams);
	exec_request_free(&x->own);
	free(x);
}

struct session_exec *exec_find(const struct session *s, uint32_t number)
{
	struct session_exec *x = s->execs;

	while (x && x->number != number)
		x = x->next;
	return x;
}

/* ---- its output, when it is over ---- */

static void discard(struct session_exec *x)
{
	if (x->discard || x->stage < EXEC_WORKING)
		return;
	x->discard = true;
	recorder_discard(x->session->host->recorder, x->session->manifest.id, x->number);
}

static int on_drain(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source, (void)now_us;
	discard(context);
	return 0;
}

static void hurry(struct session_exec *x)
{
	if (!x->drain && sd_event_add_time_relative(x->session->host->loop, &x->drain,
						    CLOCK_MONOTONIC, DRAIN_US, 0, on_drain, x) < 0)
		discard(x);
}

void session_hurry(struct session *s)
{
	for (struct session_exec *x = s->execs; x; x = x->next)
		hurry(x);
}

void session_discard(struct session *s)
{
	if (s->is_bare || s->stage == SESSION_OPENING || s->stage > SESSION_CLOSING)
		return;
	if (s->main)
		discard(s->main);
}

/* What ended by itself is followed to its last byte, however slow its reader is. */
static bool ended_by_itself(const struct verdict *v)
{
	return v->reason == VERDICT_EXIT || v->reason == VERDICT_SIGNAL;
}

/* ---- its end ---- */

/* What is told beside the verdict: why nothing ran, or who ended it. */
static const char *end_error(const struct session_exec *x, char *room, size_t size)
{
	const struct verdict *v = &x->verdict;

	if (v->limit)
		snprintf(room, size, "command %u was killed: limit %s", x->number, v->limit);
	else if (v->reason == VERDICT_KILLED && v->by)
		snprintf(room, size, "command %u was killed by %s", x->number, v->by);
	else
		return v->text[0] ? v->text : NULL;
	return room;
}

static void tell_end(struct session_exec *x, const json_t *verdict)
{
	char room[128];

	if (x->client.ended)
		x->client.ended(x->client.context, x->session->manifest.id, x->number, verdict,
				verdict_status(&x->verdict), end_error(x, room, sizeof(room)));
	x->client.ended = NULL;
}

void exec_abandon(struct session_exec *x)
{
	const struct verdict lost = {.reason = VERDICT_SUPERVISOR_LOST};

	verdict_decide(&x->verdict, &x->session->verdict);
	verdict_decide(&x->verdict, &lost);
	tell_end(x, NULL);
	exec_free(x);
}

static void measure(struct session_exec *x)
{
	uint64_t cpu_ns = 0, memory_peak = 0;

	exec_limits_measure(x);
	if (sandbox_exec_usage(x->session->sandbox, x->number, &cpu_ns, &memory_peak) < 0)
		return;
	if (cpu_ns > x->verdict.cpu_ns)
		x->verdict.cpu_ns = cpu_ns;
	if (memory_peak > x->verdict.memory_peak)
		x->verdict.memory_peak = memory_peak;
}

/* The command is dead with all that it started: its end can be written. The recorder takes our
 * messages in order, so one that it was not told of yet it knows by then. */
static void finish(struct session_exec *x)
{
	struct session *s = x->session;
	struct verdict *all = &s->verdict;

	x->wall = sd_event_source_disable_unref(x->wall);
	exec_limits_look(x);
	if (x->stage < EXEC_WORKING)
		recorder_event(s->host->recorder, s->manifest.id, "exec.start",
			       session_exec_fields(x));
	x->verdict.wall_ns = session_clock_ns(CLOCK_BOOTTIME) - x->started_boot_ns;
	if (x->verdict.cpu_ns > all->cpu_ns)
		all->cpu_ns = x->verdict.cpu_ns;
	if (x->verdict.memory_peak > all->memory_peak)
		all->memory_peak = x->verdict.memory_peak;
	x->stage = EXEC_DRAINING;
	if (!ended_by_itself(&x->verdict))
		hurry(x);
	recorder_close_exec(s->host->recorder, s->manifest.id, x->number,
			    verdict_fields(&x->verdict), x == s->main && s->is_dead);
}

void exec_finish(struct session_exec *x)
{
	struct session *s = x->session;

	if (x->stage == EXEC_DRAINING)
		return;
	if (x == s->main) {
		verdict_decide(&s->verdict, &x->verdict);
		session_finish(s);
		return;
	}
	measure(x);
	sandbox_kill(s->sandbox, x->number);
	crash_point();
	session_limits_look(s);
	finish(x);
}

/* How a command ends with its session. */
static struct verdict verdict_with(const struct session *s, const struct session_exec *x)
{
	if (x == s->main || !ended_by_itself(&s->verdict))
		return s->verdict;
	return (struct verdict){.reason = VERDICT_KILLED, .by = "session"};
}

void session_finish(struct session *s)
{
	phases_mark(s->phases, "ended");
	s->stage = SESSION_CLOSING;
	s->statuses = sd_event_source_disable_unref(s->statuses);
	session_limits_stop(s);
	s->is_dead = sandbox_end(s->sandbox) == 0;
	for (struct session_exec *x = s->execs; x; x = x->next)
		if (x->stage != EXEC_DRAINING)
			measure(x);
	session_limits_look(s);
	phases_mark(s->phases, "killed");
	for (struct session_exec *x = s->execs; x; x = x->next) {
		const struct verdict with = verdict_with(s, x);

		if (x->stage == EXEC_DRAINING)
			continue;
		verdict_decide(&x->verdict, &with);
		finish(x);
	}
	crash_point();
	if (s->is_dead) /* the recorder is at work by now: pid 1 dies beside it */
		(void)sandbox_kill_all(s->sandbox);
	session_close_record(s);
}

void exec_closed(struct session_exec *x, const struct recorder_message *m)
{
	if (x->stage != EXEC_DRAINING)
		return;
	crash_point();
	tell_end(x, m->verdict);
	exec_free(x);
}

/* ---- what pid 1 says of it ---- */

/* Only a command that could not be executed itself has the exit status of a shell for it. */
static void decide_not_run(struct session_exec *x, const struct sandbox_status *status)
{
	struct verdict failed = {
		.reason = VERDICT_SETUP_FAILED, .step = VERDICT_STEP_EXEC, .error = status->error};
	const char *directory = strcmp(status->step, "directory") ? NULL : x->request->cwd;

	if (strcmp(status->step, "execute") != 0)
		failed.step = status->step;
	snprintf(failed.text, sizeof(failed.text), "cannot run the command: %s%s%s",
		 directory ? directory : "", directory ? ": " : "", strerror(status->error));
	session_redact_words(x->session, failed.text, sizeof(failed.text));
	verdict_decide(&x->verdict, &failed);
}

static void take_end(struct session_exec *x, const struct sandbox_status *status)
{
	struct verdict ended;

	if (status->kind == SANDBOX_FAILED) {
		decide_not_run(x, status);
	} else {
		phases_mark(x->session->phases, "ran");
		x->verdict.cpu_ns = status->cpu_ns;
		x->verdict.memory_peak = status->memory_peak;
		ended = verdict_of_wait_status(status->wait_status);
		session_explain_death(x->session, x, &ended);
		verdict_decide(&x->verdict, &ended);
	}
	exec_finish(x);
}

/* The client's own terminal is held until then. */
static void take_terminal(struct session_exec *x, int master)
{
	recorder_tty(x->session->host->recorder, x->session->manifest.id, x->number, master,
		     &x->streams);
	streams_close(&x->streams);
}

static void take_status(struct session *s, const struct sandbox_status *status)
{
	struct verdict gone = {.reason = VERDICT_KILLED,
			       .text = "the first process of the session ended"};
	struct session_exec *x = exec_find(s, status->exec);
	cleanup(close_fd) int master = status->kind == SANDBOX_TERMINAL ? status->tty_fd : -1;

	if (status->kind == SANDBOX_GONE) {
		session_explain_death(s, NULL, &gone);
		verdict_decide(&s->verdict, &gone);
		session_finish(s);
	} else if (status->kind == SANDBOX_STARTED) {
		phases_mark(s->phases, "started");
		session_sign(s);
	} else if (status->kind == SANDBOX_TERMINAL) {
		if (x && x->stage == EXEC_WORKING)
			take_terminal(x, master);
	} else if (x && x->stage == EXEC_WORKING) {
		take_end(x, status);
	}
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
		session_finish(s);
	}
	return 0;
}

int session_follow(struct session *s)
{
	return sd_event_add_io(s->host->loop, &s->statuses, sandbox_status_fd(s->sandbox), EPOLLIN,
			       on_status, s);
}

/* ---- its start ---- */

int exec_open_streams(struct session_exec *x, const int fds[3], struct fault *f)
{
	struct streams_options options = {
		.client = {fds[0], fds[1], fds[2]},
		.root = x->session->asker.uid == 0,
		.tty = x->request->tty,
		.owner = sandbox_info(x->session->sandbox)->uid_base,
		.pipes = &x->session->pipes,
	};

	if (strcmp(x->request->user, "root") != 0)
		options.owner += SESSION_AGENT;
	return streams_open(&options, &x->streams, f);
}

static int refuse_one_more(const struct session *s, struct fault *f)
{
	return fault_set(f, -EBUSY, "capacity",
			 "%d commands of session %s run, as many as a session may have",
			 INIT_COMMANDS_MAX, s->manifest.id);
}

static bool is_root(const struct session_exec *x)
{
	return strcmp(x->request->user, "root") == 0;
}

/* Its cgroup, and the limits of that. */
static int make_place(struct session_exec *x, struct fault *f)
{
	struct session *s = x->session;
	int r = x->cgroup ? 0 : sandbox_prepare_exec(s->sandbox, x->number, &x->cgroup);

	if (r == -ENOSPC) /* some that were killed have not been reaped */
		return refuse_one_more(s, f);
	if (r < 0)
		return fault_set(f, r, "cgroup", "cgroup: %s", strerror(-r));
	crash_point();
	r = exec_limits_set(x, f);
	crash_point();
	return r;
}

int exec_begin(struct session_exec *x, struct fault *f)
{
	int r = make_place(x, f);

	if (r < 0)
		return r;
	r = sandbox_begin_exec(x->session->sandbox, x->number, is_root(x));
	return r < 0 ? fault_set(f, r, "sandbox", "sandbox: %s", strerror(-r)) : 0;
}

int exec_tell(struct session_exec *x, struct fault *f)
{
	struct session *s = x->session;
	int r = x == s->main ? 0 : make_place(x, f);

	if (r < 0)
		return r;
	const struct recorder_command command = {
		.exec = x->number,
		.cgroup = x->cgroup,
		.output_limit = x->request->limits.output_bytes,
		.tty = x->request->tty,
	};
	r = recorder_exec(s->host->recorder, s->manifest.id, &command, &x->streams);
	return r < 0 ? fault_set(f, r, "record", "record: %s", strerror(-r)) : 0;
}

static int start_command(struct session_exec *x, int gate_fd)
{
	const struct exec_request *r = x->request;
	struct session *s = x->session;
	cleanup(free) const char **env = session_secrets_env(&s->request.secrets, r->env);
	struct sandbox_error error = {0};
	struct sandbox_command command = {
		.exec = x->number,
		.argv = (const char *const *)r->argv,
		.env = env,
		.cwd = r->cwd,
		.as_root = is_root(x),
		.stdin_fd = x->streams.session[0],
		.stdout_fd = x->streams.session[1],
		.stderr_fd = x->streams.session[2],
		.gate_fd = gate_fd,
		.tty = r->tty,
		.columns = r->columns,
		.rows = r->rows,
	};
	int e = env ? sandbox_exec(s->sandbox, &command, &error) : -ENOMEM;

	if (e < 0)
		session_say_failed(s, &x->verdict, error.step ? error.step : "sandbox", e,
				   error.text);
	return e;
}

/* Its process gets ready while the recorder writes that it starts, and lets it go. */
static int start(struct session_exec *x)
{
	struct session *s = x->session;
	cleanup(close_fd) int gate = -1, opener = -1;
	int ends[2];
	int r = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;

	if (r == 0) {
		gate = ends[0];
		opener = ends[1];
		r = recorder_start_exec(s->host->recorder, s->manifest.id, x->number,
					session_exec_fields(x), opener);
		int sent = recorder_release(s->host->recorder);
		r = r < 0 ? r : sent;
	}
	if (r < 0) {
		session_say_failed(s, &x->verdict, "record", r, NULL);
		return r;
	}
	crash_point();
	r = start_command(x, gate);
	streams_close_session(&x->streams);
	if (r < 0)
		return r;
	if (!x->request->tty)
		streams_close(&x->streams);
	r = exec_limits_start(x);
	if (r < 0)
		session_say_failed(s, &x->verdict, "limits", r, NULL);
	return r;
}

void exec_run(struct session_exec *x)
{
	x->stage = EXEC_WORKING;
	if (x->client.started)
		x->client.started(x->client.context, x->session->manifest.id, x->number);
	if (start(x) < 0)
		exec_finish(x);
}

/* The recorder knows it; or it does not, and then there is no command. Nothing waits for that with
 * the first one, which the recorder has to let go. */
void exec_told(struct session_exec *x, const struct recorder_message *m)
{
	struct session *s = x->session;

	if (m->error)
		session_say_failed(s, &x->verdict, "record", -m->error, m->text);
	if (x == s->main) {
		if (m->error)
			session_end(s, &x->verdict, false);
	} else if (x->stage != EXEC_TELLING) {
		return;
	} else if (m->error) {
		sandbox_kill(s->sandbox, x->number);
		tell_end(x, NULL);
		exec_free(x);
	} else {
		exec_run(x);
	}
}

/* ---- what clients ask for ---- */

static size_t count_execs(const struct session *s)
{
	size_t count = 0;

	for (const struct session_exec *x = s->execs; x; x = x->next)
		count++;
	return count;
}

static int check_start(const struct session *s, struct fault *f)
{
	if (s->stage != SESSION_WORKING)
		return fault_set(f, -ESRCH, "not_running", "session %s %s", s->manifest.id,
				 s->is_ready ? "is ending" : "does not run yet");
	return count_execs(s) >= INIT_COMMANDS_MAX ? refuse_one_more(s, f) : 0;
}

int session_exec_start(struct session *s, struct exec_request *request, const int fds[3],
		       const struct exec_client *client, uint32_t *ret_exec,
		       struct fault *ret_fault)
{
	struct exec_request taken = *request;
	struct session_exec *x = NULL;
	int r = check_start(s, ret_fault);

	*request = (struct exec_request){0};
	if (r == 0 && !(x = exec_add(s, NULL)))
		r = fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	if (r < 0) {
		exec_request_free(&taken);
		return r;
	}
	x->own = taken;
	x->request = &x->own;
	r = exec_open_streams(x, fds, ret_fault);
	if (r == 0)
		r = exec_tell(x, ret_fault);
	if (r < 0) {
		sandbox_kill(s->sandbox, x->number);
		exec_free(x);
		return r;
	}
	x->client = *client;
	*ret_exec = x->number;
	return 0;
}

void session_exec_forget_client(struct session *s, uint32_t exec)
{
	struct session_exec *x = exec_find(s, exec);

	if (x)
		x->client = (struct exec_client){0};
}

int session_exec_end(struct session *s, uint32_t exec, const struct verdict *verdict, bool drop)
{
	struct session_exec *x = exec_find(s, exec);

	if (!x || s->stage < SESSION_WORKING || s->stage > SESSION_CLOSING)
		return -ESRCH;
	verdict_decide(&x->verdict, verdict);
	if (x->stage == EXEC_DRAINING)
		hurry(x);
	else
		exec_finish(x);
	/* Its last act: what is freed by then is found no more. */
	if (drop && (x = exec_find(s, exec)))
		discard(x);
	return 0;
}

int session_signal(struct session *s, uint32_t exec, int signal, const char *by)
{
	struct session_exec *x = exec_find(s, exec);

	if (!x || x->stage != EXEC_WORKING)
		return -ESRCH;
	x->signal_sent = signal;
	x->signal_by = by;
	return sandbox_signal(s->sandbox, exec, signal);
}

int session_resize(struct session *s, uint32_t exec, uint16_t columns, uint16_t rows)
{
	struct session_exec *x = exec_find(s, exec);

	if (!x || x->stage != EXEC_WORKING || !x->request->tty)
		return -ESRCH;
	int r = sandbox_resize(s->sandbox, exec, columns, rows);
	if (r < 0)
		return r;
	return recorder_resize(s->host->recorder, s->manifest.id, exec, columns, rows);
}
