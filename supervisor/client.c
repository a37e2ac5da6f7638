/*
 * What clients may ask for: one table of requests, each with the role that may send it. Whatever
 * comes in is checked here or in session_request.c before anything else sees it.
 */
#include "client.h"

#include "clerk.h"
#include "jansson_cleanup.h"
#include "record/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define TERMINAL_MAX UINT16_MAX

void client_send(struct client *c, json_t *message)
{
	cleanup(json) json_t *owned = message;

	if (!owned)
		return;
	if (control_send(c->socket, owned, NULL, 0) < 0)
		shutdown(c->socket, SHUT_RDWR);
}

void client_refuse(struct client *c, const char *code, const char *text)
{
	client_send(c, json_pack("{s:b, s:{s:s, s:s}}", "ok", 0, "error", "code", code, "message",
				 text));
}

static void refuse_error(struct client *c, int error, const char *text)
{
	client_refuse(c, error == -ESRCH ? "not_running" : "failed",
		      error == -ESRCH ? text : strerror(-error));
}

/* ---- session.run ---- */

static void tell_started(void *context, const char *id)
{
	struct client *c = context;

	log_write(&c->host->log, LOG_LEVEL_NOTICE, "session %s: started for uid %u", id,
		  c->who.uid);
	c->is_answered = true;
	client_send(c, json_pack("{s:b, s:s}", "ok", 1, "session", id));
}

static void tell_ended(void *context, const char *id, const json_t *verdict, int status,
		       const char *error)
{
	struct client *c = context;

	c->session[0] = 0;
	log_write(&c->host->log, LOG_LEVEL_NOTICE, "session %s: ended: %s", id,
		  verdict ? json_string_value(json_object_get(verdict, "reason")) : error);
	if (!c->is_answered) {
		client_send(c, json_pack("{s:b, s:s, s:O?, s:{s:s, s:s}}", "ok", 0, "session", id,
					 "verdict", verdict, "error", "code", "setup_failed",
					 "message",
					 error ? error : "the session could not be set up"));
		return;
	}
	client_send(c, json_pack("{s:s, s:s, s:O?, s:i, s:s?}", "notice", "ended", "session", id,
				 "verdict", verdict, "status", status, "error", error));
}

static void serve_run(struct client *c, struct control_message *m)
{
	struct host *h = c->host;
	struct session_request request;
	struct session *s = NULL;
	struct fault f = {0};
	struct session_client told = {.context = c, .started = tell_started, .ended = tell_ended};

	if (c->session[0]) {
		client_refuse(c, "busy", "this connection has a session already");
		return;
	}
	if (h->session_count >= h->config.sessions_max) {
		client_refuse(c, "too_many", "as many sessions as sessions_max allows are alive");
		return;
	}
	if (m->fd_count != 3) {
		client_refuse(c, "bad_request", "session.run needs three descriptors");
		return;
	}
	const char *state = json_string_value(json_object_get(m->body, "state"));
	if (state && strcmp(state, h->config.state) != 0) {
		fault_say(&f, NULL, "this daemon keeps its records in %s, not in %s",
			  h->config.state, state);
		client_refuse(c, "bad_request", f.text);
		return;
	}

	c->is_answered = false;
	int r = session_request_parse(m->body, &request, &f);
	if (r == 0)
		r = session_start(h, &request, &c->who, m->fds, &told, &s, &f);
	if (r < 0)
		client_refuse(c, f.code ? f.code : "failed", f.text[0] ? f.text : strerror(-r));
	else
		memcpy(c->session, session_id(s), sizeof(c->session));
}

/* ---- requests about a session ---- */

/* The session that the request names, if the client may have it. */
static struct session *named_session(struct client *c, const struct control_message *m)
{
	const char *id = json_string_value(json_object_get(m->body, "session"));
	struct session *s = session_find(c->host, id);

	if (s && (c->who.uid == 0 || strcmp(c->session, session_id(s)) == 0))
		return s;
	client_refuse(c, "no_session", "no such session is alive");
	return NULL;
}

static void answer(struct client *c, int r)
{
	if (r < 0)
		refuse_error(c, r, "the command does not run");
	else
		client_send(c, json_pack("{s:b}", "ok", 1));
}

static void serve_resize(struct client *c, struct control_message *m)
{
	struct session *s = named_session(c, m);
	json_int_t columns = json_integer_value(json_object_get(m->body, "columns"));
	json_int_t rows = json_integer_value(json_object_get(m->body, "rows"));

	if (!s)
		return;
	if (columns < 1 || columns > TERMINAL_MAX || rows < 1 || rows > TERMINAL_MAX) {
		client_refuse(c, "bad_request", "columns, rows: allowed: 1 to 65535");
		return;
	}
	answer(c, session_resize(s, (uint16_t)columns, (uint16_t)rows));
}

static void serve_signal(struct client *c, struct control_message *m)
{
	struct session *s = named_session(c, m);
	json_int_t signal = json_integer_value(json_object_get(m->body, "signal"));

	if (!s)
		return;
	if (signal < 1 || signal >= NSIG) {
		client_refuse(c, "bad_request", "signal: not the number of a signal");
		return;
	}
	answer(c, session_signal(s, (int)signal,
				 strcmp(c->session, session_id(s)) == 0 ? "client" : "user"));
}

static void serve_kill(struct client *c, struct control_message *m)
{
	struct session *s = named_session(c, m);
	struct verdict killed = {.reason = VERDICT_KILLED, .by = "user"};

	if (!s)
		return;
	client_send(c, json_pack("{s:b}", "ok", 1));
	session_end(s, &killed, false);
}

/* ---- requests about records ---- */

#define QUERY_MOST 4096

/* The id of the record that @what means, "-" for all. */
static int find_record(const struct host *h, const char *what, char ret_id[SESSION_ID_LENGTH + 1])
{
	cleanup(close_fd) int fd = -1;
	struct manifest m;
	int r;

	if (!strcmp(what, "-")) {
		memcpy(ret_id, "-", 2);
		return 0;
	}
	r = store_find(h->state_fd, what, &m, &fd);
	if (r < 0)
		return r;
	memcpy(ret_id, m.id, sizeof(m.id));
	manifest_free(&m);
	return 0;
}

static int note_access(struct client *c, const char *id, const char *query, size_t size,
		       struct fault *f)
{
	const struct clerk_client client = {.uid = c->who.uid, .by = "user"};
	struct clerk *clerk = NULL;
	struct event e;
	int r = clerk_open(c->host->config.state, ACTS_APPEND, &clerk, f);

	if (r < 0)
		return r;
	event_init(&e, EVENT_record_access, 0, 0);
	event_put_bytes(&e, FIELD_query, query, size);
	r = clerk_note(clerk, LEDGER_ACCESS, id, &e, &client, false);
	clerk_close(clerk);
	return r < 0 ? fault_set(f, r, "failed", "%s", strerror(-r)) : 0;
}

/* Somebody is about to read a record; what there is none of is no reading. */
static void serve_access(struct client *c, struct control_message *m)
{
	const char *what = json_string_value(json_object_get(m->body, "session"));
	cleanup(free) char *query = NULL;
	char id[SESSION_ID_LENGTH + 1];
	struct fault f = {0};
	size_t size = 0;
	int r;

	if (!what || control_get_bytes(json_object_get(m->body, "query"), &query, &size) < 0 ||
	    size > QUERY_MOST) {
		client_refuse(c, "bad_request",
			      "session, query: allowed: texts, at most 4096 bytes");
		return;
	}
	r = find_record(c->host, what, id);
	if (r == 0)
		r = note_access(c, id, query, size, &f);
	else
		r = 0;
	if (r < 0)
		client_refuse(c, f.code ? f.code : "failed", f.text);
	else
		client_send(c, json_pack("{s:b}", "ok", 1));
}

/* ---- requests about the daemon ---- */

static void serve_list(struct client *c, struct control_message *m)
{
	json_t *list = json_array();

	(void)m;
	for (struct session *s = c->host->sessions; list && s; s = session_next(s))
		json_array_append_new(list, session_describe(s));
	client_send(c, json_pack("{s:b, s:o}", "ok", 1, "sessions", list));
}

static json_t *names(const char *const *list)
{
	json_t *array = json_array();

	for (; array && list && *list; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

static void serve_info(struct client *c, struct control_message *m)
{
	(void)m;
	client_send(c, json_pack("{s:b, s:s, s:s, s:o, s:o}", "ok", 1, "version", VITRINE_VERSION,
				 "state", c->host->config.state, "sensors",
				 names(sensors_names(c->host->sensors)), "missing",
				 names(sensors_missing(c->host->sensors))));
}

/* ---- the table ---- */

enum role {
	ROLE_ROOT,    /* uid 0 */
	ROLE_OWNER,   /* who started the session (checked with the session's name), or root */
	ROLE_ANYBODY, /* who can connect */
};

static const struct {
	const char *name;
	enum role role;
	void (*serve)(struct client *c, struct control_message *m);
} requests[] = {
	{"session.run", ROLE_ROOT, serve_run},	       {"session.signal", ROLE_OWNER, serve_signal},
	{"session.kill", ROLE_OWNER, serve_kill},      {"exec.resize", ROLE_OWNER, serve_resize},
	{"record.access", ROLE_ANYBODY, serve_access}, {"session.list", ROLE_ANYBODY, serve_list},
	{"daemon.info", ROLE_ANYBODY, serve_info},
};

void client_serve(struct client *c, struct control_message *m)
{
	const char *name = json_string_value(json_object_get(m->body, "request"));

	for (size_t i = 0; name && i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].name, name) != 0)
			continue;
		if (requests[i].role == ROLE_ROOT && c->who.uid != 0)
			client_refuse(c, "forbidden", "only root may ask for this");
		else
			requests[i].serve(c, m);
		return;
	}
	client_refuse(c, "bad_request", "no such request");
}
