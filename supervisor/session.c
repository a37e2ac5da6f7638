/*
 * The life of a session, as a row of stages. In each it waits for one thing, and what comes moves
 * it to the next:
 *
 *   OPENING   until the recorder has opened the record and knows the command, and the sandbox is
 *             ready
 *   WORKING   until the command that it lives for ends, or, without one, somebody ends it
 *   CLOSING   until the recorder has what its commands wrote, and has written the end; by then the
 *             ground is cleaned, and the client is told
 *   SEALING   until the record is closed and on disk; then the session is gone
 *
 * Whatever ends it early puts a verdict in place; the first verdict is the true one, and every
 * stage looks for it before it goes on. A session that could not be set up is bare: OPENING,
 * CLOSING, gone.
 */
#include "session.h"
#include "record/crash.h"

#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "record/stack_wipe.h"
#include "session_loss.h"
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

void session_free(struct session *s)
{
	for (struct session **at = &s->host->sessions; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			s->host->session_count--;
			break;
		}
	if (s->is_prepared)
		recorder_forget(s->host->recorder, s->manifest.id);
	session_tear_down(s);
	spare_dir_remove(&s->dir, s->host->sessions_fd);
	json_decref(s->key);
	free(s->phases);
	session_request_free(&s->request);
	manifest_free(&s->manifest);
	sd_event_source_disable_unref(s->settle);
	cleanup_close_fd(&s->manifest_fd);
	cleanup_close_fd(&s->dir_fd);
	free(s);
	stack_wipe();
}

const char *session_id(const struct session *s)
{
	return s->manifest.id;
}

uid_t session_asker(const struct session *s)
{
	return s->asker.uid;
}

struct session *session_find(struct host *h, const char *id)
{
	struct session *s = h->sessions;

	while (s && (!id || strcmp(s->manifest.id, id) != 0))
		s = s->next;
	return s;
}

bool session_is_detached(const struct session *s)
{
	return s->is_ready && !s->request.has_command;
}

bool session_has_ended(const struct session *s)
{
	return s->stage == SESSION_SEALING;
}

struct exec_ground session_ground(const struct session *s)
{
	return session_request_ground(&s->request);
}

struct session *session_next(const struct session *s)
{
	return s->next;
}

json_t *session_describe(const struct session *s)
{
	const struct manifest *m = &s->manifest;

	return json_pack("{s:s, s:s?, s:s?, s:s, s:I, s:o?}", "id", m->id, "name", m->name,
			 "tenant", m->tenant, "state", s->is_ready ? "running" : "starting",
			 "started_ns", (json_int_t)m->started_ns, "command",
			 json_loads(m->command ? m->command : "null", JSON_DECODE_ANY, NULL));
}

/* ---- the start ---- */

static int record_start(struct session *s)
{
	int r = recorder_event(s->host->recorder, s->manifest.id, "session.start",
			       session_start_fields(s));

	if (r < 0)
		session_decide_failed(s, "record", r, NULL);
	return r;
}

static int record_ready(struct session *s)
{
	uint64_t took_ns = session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns;

	return recorder_event(s->host->recorder, s->manifest.id, "session.ready",
			      json_pack("{s:{s:I}}", "usage", "wall_ns", (json_int_t)took_ns));
}

static int guard_secrets(struct session *s)
{
	struct fault why = {0};
	int r = session_guard_secrets(s, &why);

	if (r < 0)
		session_decide_failed(s, "secrets", r, why.text);
	return r;
}

static int tell_command(struct session *s, const int fds[3])
{
	struct fault f = {0};
	int r = exec_open_streams(s->main, fds, &f);

	if (r < 0)
		f.code = "streams";
	crash_point();
	phases_mark(s->phases, "streams");
	if (r == 0)
		r = exec_tell(s->main, &f);
	if (r < 0)
		session_decide_failed(s, f.code, r, f.text);
	return r;
}

/*
 * What the recorder has to know before the command runs; it is told at once, with the opening,
 * whatever the sandbox still needs.
 */
static void tell_recorder(struct session *s, const int fds[3])
{
	if (record_start(s) < 0 || s->is_bare || session_record_secrets(s) < 0)
		return;
	if (s->main && tell_command(s, fds) < 0)
		return;
	phases_mark(s->phases, "told");
}

static void count_start(const struct session *s)
{
	phases_mark(s->phases, "asked");
	metric_add(s->host->metrics->sessions_started, 1);
	metric_observe(s->host->metrics->session_start, METRIC_SECONDS,
		       session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns);
}

static int set_going(struct session *s)
{
	s->is_ready = true;
	int r = record_ready(s);
	if (r < 0)
		return session_decide_failed(s, "record", r, NULL), r;
	crash_point();
	s->stage = SESSION_WORKING;
	r = session_follow(s);
	if (r < 0)
		session_decide_failed(s, "sandbox", r, NULL);
	else if ((r = session_limits_start(s)) < 0)
		session_decide_failed(s, "limits", r, NULL);
	if (r < 0)
		session_finish(s);
	else if (s->main)
		exec_run(s->main);
	else
		session_sign(s);
	count_start(s);
	return 0;
}

static int run(struct session *s)
{
	int r = guard_secrets(s);
	if (r < 0)
		return r;
	recorder_hold(s->host->recorder);
	r = set_going(s);
	recorder_release(s->host->recorder);
	return r;
}

/* Not before its record is open; nor earlier than needed: to wake the client takes a processor from
 * the command. */
static void tell_started(struct session *s)
{
	if (s->is_open && s->is_ready && s->client.started)
		s->client.started(s->client.context, s->manifest.id);
}

/* What fails needs an open record for its end. What runs is let go by the recorder, which has our
 * messages in order: nothing waits for its answer. */
void session_go_on(struct session *s)
{
	bool is_waiting = s->building || s->limits.is_measuring;

	if (s->stage != SESSION_OPENING)
		return;
	if (!s->is_bare && s->verdict.reason == VERDICT_NONE) {
		if (is_waiting)
			return;
		if (run(s) == 0) {
			tell_started(s);
			return;
		}
	}
	if (s->is_open)
		session_close_record(s);
}

static void opened(struct session *s, const struct recorder_message *m)
{
	phases_mark(s->phases, "opened");
	if (m->error) {
		session_refuse(s, m);
		return;
	}
	crash_point();
	s->is_open = true;
	if (s->is_bare && !m->ended)
		session_loss_tell(s);
	if (s->stage == SESSION_OPENING)
		session_go_on(s);
	else
		tell_started(s);
}

static struct session *new_session(struct host *h)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->host = h;
	s->phases = h->config.is_debugged ? phases_new() : NULL;
	s->dir_fd = s->manifest_fd = s->slot_fd = s->request.workspace_fd = -1;
	s->dir = (struct spare_dir)SPARE_DIR_NONE;
	s->pipes = (struct streams_pipes)STREAMS_PIPES_NONE;
	s->template = TEMPLATE_USE_NONE;
	s->started_boot_ns = session_clock_ns(CLOCK_BOOTTIME);
	return s;
}

/* In one message, which the recorder serves while the command is set going. */
static int begin_record(struct session *s, const int fds[3])
{
	struct recorder *recorder = s->host->recorder;

	recorder_hold(recorder);
	int r = session_open_record(s);
	crash_point();
	if (r == 0)
		tell_recorder(s, fds);
	int sent = recorder_release(recorder);
	r = r < 0 ? r : sent;
	if (r < 0)
		return r;
	crash_point();
	session_follow_building(s);
	session_go_on(s);
	return 0;
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
	*request = (struct session_request){.workspace_fd = -1};
	s->asker = *asker;
	s->client = *client;
	link_session(s);
	if (s->request.has_command)
		s->main = exec_add(s, &s->request.command);

	int r = session_set_up(s, ret_fault);
	if (r < 0) {
		session_tear_down(s);
		if (s->verdict.reason == VERDICT_NONE) {
			session_free(s);
			return r;
		}
		s->is_bare = true;
	}
	r = begin_record(s, fds);
	if (r < 0) {
		fault_say(ret_fault, "recorder", "the recorder cannot be told: %s", strerror(-r));
		session_dir_remove(h->sessions_fd, s->dir_fd, s->manifest.id);
		session_free(s);
		return r;
	}
	*ret_session = s;
	return 0;
}

/* A session may have ended before its supervisor did, with a record that had no room for its end.
 */
static struct verdict adopted_verdict(const struct manifest *m)
{
	struct verdict v = {.reason = verdict_reason_by_name(m->reason)};

	if (v.reason == VERDICT_NONE)
		v.reason = VERDICT_SUPERVISOR_LOST;
	if (v.reason == VERDICT_LIMIT)
		v.limit = "journal";
	v.exit_code = m->exit_code > 0 ? (int)m->exit_code : 0;
	v.signal = m->signal > 0 ? (int)m->signal : 0;
	return v;
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
	s->verdict = adopted_verdict(&s->manifest);
	link_session(s);

	int r = session_open_record(s);
	if (r < 0)
		session_free(s);
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
	if (discard)
		session_discard(s);
	if (s->stage == SESSION_OPENING)
		session_go_on(s);
	else if (s->stage == SESSION_WORKING)
		session_finish(s);
	else if (s->stage == SESSION_CLOSING)
		session_hurry(s);
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
	struct session_exec *x = exec_find(s, m->exec);

	if (m->word == RECORDER_OPENED && !s->is_open)
		opened(s, m);
	else if (m->word == RECORDER_EXECED && x)
		exec_told(x, m);
	else if (m->word == RECORDER_EXEC_CLOSED && x)
		exec_closed(x, m);
	else if (m->word == RECORDER_CLOSING && s->stage == SESSION_CLOSING)
		session_closing(s, m);
	else if (m->word == RECORDER_CLOSED && s->stage >= SESSION_CLOSING)
		session_closed(s, m);
	else if (m->word == RECORDER_TROUBLE)
		trouble(s, m);
	else if (m->word == RECORDER_OUTPUT)
		session_limits_output(s, m->exec);
	else if (m->word == RECORDER_LOST)
		session_end(s, &lost, false);
}

void session_lost(struct session *s)
{
	bool was_watched = s->is_watched;

	session_tear_down(s);
	if (was_watched)
		session_loss_measure(s);
	s->verdict = (struct verdict){
		.reason = VERDICT_SUPERVISOR_LOST,
		.text = "the recorder ended; the session was killed and its record is not whole",
	};
	s->is_bare = s->is_adopted = true;
	s->is_open = false;
	s->stage = SESSION_OPENING;
	if (session_open_record(s) < 0)
		session_abandon(s);
}

void session_abandon(struct session *s)
{
	session_tear_down(s);
	s->verdict = (struct verdict){.reason = VERDICT_SUPERVISOR_LOST};
	session_count_end(s, VERDICT_SUPERVISOR_LOST, false);
	session_tell_end(s, NULL,
			 "the recorder ended; the session was killed and its record is not whole");
	session_free(s);
}
