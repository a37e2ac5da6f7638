/*
 * The life of a session, as a row of stages. In each it waits for one thing, and what comes moves
 * it to the next:
 *
 *   OPENING --opened--> EXECING --execed--> WORKING --exit--> DRAINING --exec.closed--> CLOSING
 * --closed--> gone
 *
 * Whatever ends it early puts a verdict in place; the first verdict is the true one, and every
 * stage looks for it before it goes on. A session that could not be set up is bare: OPENING,
 * CLOSING, gone.
 */
#include "session.h"

#include "jansson_cleanup.h"
#include "session_state.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* ---- the list of all sessions ---- */

static void link_session(struct session *s)
{
	s->next = s->host->sessions;
	s->host->sessions = s;
	s->host->session_count++;
}

static void free_session(struct session *s)
{
	for (struct session **at = &s->host->sessions; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			s->host->session_count--;
			break;
		}
	session_tear_down(s);
	session_request_free(&s->request);
	manifest_free(&s->manifest);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free(s);
}

const char *session_id(const struct session *s)
{
	return s->manifest.id;
}

struct session *session_find(struct host *h, const char *id)
{
	struct session *s = h->sessions;

	while (s && (!id || strcmp(s->manifest.id, id) != 0))
		s = s->next;
	return s;
}

struct session *session_next(const struct session *s)
{
	return s->next;
}

json_t *session_describe(const struct session *s)
{
	const struct manifest *m = &s->manifest;

	return json_pack("{s:s, s:s?, s:s?, s:s, s:I, s:o?}", "id", m->id, "name", m->name,
			 "tenant", m->tenant, "state",
			 m->state == SESSION_RUNNING ? "running" : "starting", "started_ns",
			 (json_int_t)m->started_ns, "command",
			 json_loads(m->command ? m->command : "null", JSON_DECODE_ANY, NULL));
}

/* ---- the end ---- */

/* What the client is told beside the verdict: why nothing ran, or what is wrong with the record. */
static const char *end_error(const struct session *s, int record_error, char *room, size_t size)
{
	if (record_error) {
		snprintf(room, size, "the record of session %s is not whole: %s", s->manifest.id,
			 strerror(record_error));
		return room;
	}
	if (s->verdict.reason == VERDICT_LIMIT) {
		snprintf(room, size, "session %s was killed: limit %s", s->manifest.id,
			 s->verdict.limit);
		return room;
	}
	return s->verdict.text[0] ? s->verdict.text : NULL;
}

static void tell_end(struct session *s, const json_t *verdict, const char *error)
{
	if (s->client.ended)
		s->client.ended(s->client.context, s->manifest.id, verdict,
				verdict_status(&s->verdict), error);
	s->client.ended = NULL;
}

/* The reason that stands in the record; a record that had its end already knows better than we. */
static void end_manifest(struct session *s, const struct recorder_message *m)
{
	struct manifest *manifest = &s->manifest;
	const char *reason = json_string_value(json_object_get(m->verdict, "reason"));
	const json_t *code = json_object_get(m->verdict, "exit_code");
	const json_t *signal = json_object_get(m->verdict, "signal");

	free(manifest->reason);
	manifest->reason = strdup(reason ? reason : verdict_reason_name(s->verdict.reason));
	manifest->exit_code = json_is_integer(code) ? json_integer_value(code) : -1;
	manifest->signal = json_is_integer(signal) ? json_integer_value(signal) : -1;
	manifest->state = SESSION_ENDED;
	manifest->ended_ns = session_clock_ns(CLOCK_REALTIME);
	manifest->records = m->records;
	manifest->lost = m->lost;
}

static void closed(struct session *s, const struct recorder_message *m)
{
	char room[512];
	int error = m->error;

	/* A record that has no end is left as running: the next start finishes it. */
	if (!error) {
		end_manifest(s, m);
		error = -manifest_write(s->dir_fd, &s->manifest);
	}
	session_tear_down(s);
	tell_end(s, m->verdict, end_error(s, error, room, sizeof(room)));
	free_session(s);
}

/* The journal could not even be opened: there is no session. */
static void refuse(struct session *s, const struct recorder_message *m)
{
	char text[sizeof(s->verdict.text)];

	snprintf(text, sizeof(text), "the journal cannot be written: %s%s%s", strerror(m->error),
		 m->text[0] ? ": " : "", m->text);
	session_tear_down(s);
	if (!s->is_adopted)
		session_dir_remove(s->host->sessions_fd, s->dir_fd, s->manifest.id);
	s->verdict = (struct verdict){.reason = VERDICT_SETUP_FAILED, .error = m->error};
	tell_end(s, NULL, text);
	free_session(s);
}

/* The cgroup knows of all processes, where it counts; else what was reaped is what is known. */
static void measure(struct session *s)
{
	uint64_t cpu_ns = 0, memory_peak = 0;

	if (sandbox_usage(s->sandbox, &cpu_ns, &memory_peak) < 0)
		return;
	if (cpu_ns > s->verdict.cpu_ns)
		s->verdict.cpu_ns = cpu_ns;
	if (memory_peak > s->verdict.memory_peak)
		s->verdict.memory_peak = memory_peak;
}

static void close_record(struct session *s)
{
	struct host *h = s->host;

	if (s->sandbox) {
		sandbox_kill(s->sandbox, 0);
		measure(s);
	}
	if (s->is_watched) {
		uint64_t missed = sensors_missed(h->sensors) - s->missed_before;

		if (missed > 0)
			recorder_missed(h->recorder, s->manifest.id, missed);
	}
	if (!s->is_adopted)
		s->verdict.wall_ns = session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns;
	s->stage = SESSION_CLOSING;
	recorder_close(h->recorder, s->manifest.id, verdict_fields(&s->verdict));
}

static void finish_exec(struct session *s)
{
	struct verdict v = s->verdict;

	s->statuses = sd_event_source_disable_unref(s->statuses);
	sandbox_kill(s->sandbox,
		     v.reason == VERDICT_EXIT || v.reason == VERDICT_SIGNAL ? SESSION_EXEC : 0);
	v.wall_ns = session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns;
	s->stage = SESSION_DRAINING;
	recorder_close_exec(s->host->recorder, s->manifest.id, SESSION_EXEC, verdict_fields(&v));
}

/* A step of the set-up failed after the record was open. */
static void decide_failed(struct session *s, const char *step, int error, const char *text)
{
	struct verdict failed = {.reason = VERDICT_SETUP_FAILED, .step = step, .error = -error};

	snprintf(failed.text, sizeof(failed.text), "%s: %s", step,
		 text && *text ? text : strerror(-error));
	verdict_decide(&s->verdict, &failed);
}

/* ---- the command ---- */

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
	verdict_decide(&s->verdict, &failed);
}

static void take_status(struct session *s, const struct sandbox_status *status)
{
	struct verdict gone = {.reason = VERDICT_KILLED,
			       .text = "the first process of the session ended"};
	struct verdict ended;

	switch (status->kind) {
	case SANDBOX_STARTED:
		return;
	case SANDBOX_FAILED:
		decide_not_run(s, status);
		break;
	case SANDBOX_EXITED:
		s->verdict.cpu_ns = status->cpu_ns;
		s->verdict.memory_peak = status->memory_peak;
		ended = verdict_of_wait_status(status->wait_status);
		verdict_decide(&s->verdict, &ended);
		break;
	case SANDBOX_GONE:
		verdict_decide(&s->verdict, &gone);
		break;
	}
	finish_exec(s);
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
		decide_failed(s, "sandbox", r, NULL);
		finish_exec(s);
	}
	return 0;
}

static int start_command(struct session *s, int *ret_master)
{
	const struct session_request *r = &s->request;
	struct sandbox_error error = {0};
	struct sandbox_command command = {
		.exec = SESSION_EXEC,
		.argv = (const char *const *)r->argv,
		.env = (const char *const *)r->env,
		.cwd = r->cwd,
		.as_root = strcmp(r->policy.user, "root") == 0,
		.stdin_fd = s->streams.session[0],
		.stdout_fd = s->streams.session[1],
		.stderr_fd = s->streams.session[2],
		.tty = r->tty,
		.columns = r->columns,
		.rows = r->rows,
	};
	int e = sandbox_exec(s->sandbox, &command, ret_master, &error);

	if (e < 0)
		decide_failed(s, error.step ? error.step : "sandbox", e, error.text);
	return e;
}

static int run_command(struct session *s)
{
	struct recorder *recorder = s->host->recorder;
	cleanup(close_fd) int master = -1;
	int r = recorder_event(recorder, s->manifest.id, "exec.start", session_exec_fields(s));
	if (r < 0)
		return decide_failed(s, "record", r, NULL), r;

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
		decide_failed(s, "sandbox", r, NULL);
	return r;
}

static void execed(struct session *s, const struct recorder_message *m)
{
	if (m->error)
		decide_failed(s, "record", -m->error, m->text);
	s->stage = SESSION_WORKING;
	if (s->verdict.reason != VERDICT_NONE || run_command(s) < 0)
		finish_exec(s);
}

/* ---- the start ---- */

static int record_start(struct session *s)
{
	int r = recorder_event(s->host->recorder, s->manifest.id, "session.start",
			       session_start_fields(s));

	if (r < 0)
		decide_failed(s, "record", r, NULL);
	return r;
}

static int record_ready(struct session *s)
{
	uint64_t took_ns = session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns;

	return recorder_event(s->host->recorder, s->manifest.id, "session.ready",
			      json_pack("{s:{s:I}}", "usage", "wall_ns", (json_int_t)took_ns));
}

static int prepare_command(struct session *s)
{
	int r = sandbox_prepare_exec(s->sandbox, SESSION_EXEC, &s->exec_cgroup);
	if (r < 0)
		return decide_failed(s, "cgroup", r, NULL), r;

	s->manifest.state = SESSION_RUNNING;
	r = manifest_write(s->dir_fd, &s->manifest);
	if (r < 0)
		return decide_failed(s, "state", r, NULL), r;

	r = record_ready(s);
	if (r == 0)
		r = recorder_exec(s->host->recorder, s->manifest.id, SESSION_EXEC, s->exec_cgroup,
				  &s->streams, s->request.tty);
	if (r < 0)
		return decide_failed(s, "record", r, NULL), r;
	s->stage = SESSION_EXECING;
	if (s->client.started)
		s->client.started(s->client.context, s->manifest.id);
	return 0;
}

static void opened(struct session *s, const struct recorder_message *m)
{
	if (m->error) {
		refuse(s, m);
		return;
	}
	if (!s->is_adopted)
		record_start(s);
	if (s->verdict.reason != VERDICT_NONE || prepare_command(s) < 0)
		close_record(s);
}

static struct session *new_session(struct host *h)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->host = h;
	s->dir_fd = s->slot_fd = -1;
	s->streams = (struct streams)STREAMS_NONE;
	s->started_boot_ns = session_clock_ns(CLOCK_BOOTTIME);
	return s;
}

int session_start(struct host *h, struct session_request *request, const struct ucred *asker,
		  const int fds[3], const struct session_client *client,
		  struct session **ret_session, struct fault *ret_fault)
{
	struct session *s = new_session(h);

	if (!s) {
		session_request_free(request);
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	}
	s->request = *request;
	*request = (struct session_request){0};
	s->asker = *asker;
	s->client = *client;
	link_session(s);

	int r = session_set_up(s, fds, ret_fault);
	if (r < 0) {
		session_tear_down(s);
		if (s->verdict.reason == VERDICT_NONE) {
			free_session(s);
			return r;
		}
		s->is_bare = true;
	}
	r = session_open_record(s);
	if (r < 0) {
		fault_set(ret_fault, r, "recorder", "the recorder cannot be told: %s",
			  strerror(-r));
		session_dir_remove(h->sessions_fd, s->dir_fd, s->manifest.id);
		free_session(s);
		return r;
	}
	*ret_session = s;
	return 0;
}

int session_adopt(struct host *h, struct manifest *manifest, int dir_fd)
{
	struct session *s = new_session(h);

	if (!s) {
		close(dir_fd);
		return -ENOMEM;
	}
	s->manifest = *manifest;
	*manifest = (struct manifest){0};
	s->dir_fd = dir_fd;
	s->is_bare = s->is_adopted = true;
	s->verdict.reason = VERDICT_SUPERVISOR_LOST;
	link_session(s);

	int r = session_open_record(s);
	if (r < 0)
		free_session(s);
	return r;
}

/* ---- what happens meanwhile ---- */

void session_forget_client(struct session *s)
{
	s->client = (struct session_client){0};
}

void session_end(struct session *s, const struct verdict *verdict, bool discard)
{
	verdict_decide(&s->verdict, verdict);
	if (discard && !s->discard && !s->is_bare && s->stage > SESSION_OPENING &&
	    s->stage < SESSION_CLOSING) {
		s->discard = true;
		recorder_discard(s->host->recorder, s->manifest.id);
	}
	if (s->stage == SESSION_WORKING)
		finish_exec(s);
}

int session_signal(struct session *s, int signal)
{
	if (s->stage != SESSION_WORKING)
		return -ESRCH;
	return sandbox_signal(s->sandbox, SESSION_EXEC, signal);
}

int session_resize(struct session *s, uint16_t columns, uint16_t rows)
{
	if (s->stage != SESSION_WORKING || !s->request.tty)
		return -ESRCH;
	int r = sandbox_resize(s->sandbox, SESSION_EXEC, columns, rows);
	if (r < 0)
		return r;
	return recorder_resize(s->host->recorder, s->manifest.id, SESSION_EXEC, columns, rows);
}

static int on_disk_wait(sd_event_source *source, uint64_t now_us, void *context)
{
	struct session *s = context;
	struct verdict full = {.reason = VERDICT_LIMIT, .limit = "journal"};

	(void)source, (void)now_us;
	session_end(s, &full, true);
	return 0;
}

/* The recorder has frozen the session already, and thaws it when it can write again. */
static void trouble(struct session *s, const struct recorder_message *m)
{
	s->disk_wait = sd_event_source_disable_unref(s->disk_wait);
	if (m->error)
		sd_event_add_time_relative(s->host->loop, &s->disk_wait, CLOCK_MONOTONIC,
					   s->request.policy.disk_wait_s * 1000000, 0, on_disk_wait,
					   s);
}

void session_recorder_message(struct session *s, struct recorder_message *m)
{
	struct verdict lost = {.reason = VERDICT_KILLED, .by = "on_loss"};

	if (m->word == RECORDER_OPENED && s->stage == SESSION_OPENING)
		opened(s, m);
	else if (m->word == RECORDER_EXECED && s->stage == SESSION_EXECING)
		execed(s, m);
	else if (m->word == RECORDER_EXEC_CLOSED && s->stage == SESSION_DRAINING)
		close_record(s);
	else if (m->word == RECORDER_CLOSED && s->stage == SESSION_CLOSING)
		closed(s, m);
	else if (m->word == RECORDER_TROUBLE)
		trouble(s, m);
	else if (m->word == RECORDER_LOST)
		session_end(s, &lost, false);
}

void session_lost(struct session *s)
{
	session_tear_down(s);
	s->verdict = (struct verdict){
		.reason = VERDICT_SUPERVISOR_LOST,
		.text = "the recorder ended; the session was killed and its record is not whole",
	};
	s->is_bare = s->is_adopted = true;
	s->stage = SESSION_OPENING;
	if (session_open_record(s) < 0)
		session_abandon(s);
}

void session_abandon(struct session *s)
{
	session_tear_down(s);
	s->verdict = (struct verdict){.reason = VERDICT_SUPERVISOR_LOST};
	tell_end(s, NULL, "the recorder ended; the session was killed and its record is not whole");
	free_session(s);
}
