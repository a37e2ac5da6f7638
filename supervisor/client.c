/*
 * What clients may ask for: one table of requests, each with the role that may send it. Whatever
 * comes in is checked here or in session_request.c before anything else sees it.
 */
#include "client.h"

#include "access.h"
#include "grant.h"
#include "lend.h"
#include "pool.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define TERMINAL_MAX UINT16_MAX
#define STREAMS 3
#define FIRST_EXEC 1 /* the command that is meant where none is named */

void client_send_fds(struct client *c, json_t *message, const int *fds, size_t fd_count)
{
	cleanup(json) json_t *owned = message;

	if (!owned)
		return;
	if (control_send(c->socket, owned, fds, fd_count) < 0)
		shutdown(c->socket, SHUT_RDWR);
}

void client_send(struct client *c, json_t *message)
{
	client_send_fds(c, message, NULL, 0);
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

/* ---- session.run, session.start ---- */

/* Who asked for a session that lives for no command has done so, and may go. */
static void let_go(struct client *c, const char *id)
{
	struct session *s = session_find(c->host, id);

	if (s && session_is_detached(s)) {
		session_forget_client(s);
		c->session[0] = 0;
	}
}

static void tell_started(void *context, const char *id)
{
	struct client *c = context;

	log_write(&c->host->log, LOG_LEVEL_NOTICE, "session %s: started for uid %u", id,
		  c->who.uid);
	c->is_answered = true;
	client_send(c, json_pack("{s:b, s:s}", "ok", 1, "session", id));
	let_go(c, id);
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

/* One too many is told so at once, and can come again. What was told to have ended is none any
 * more, although its record may still be sealed. */
static int check_capacity(const struct client *c, const struct grant *g, struct fault *f)
{
	const struct host *h = c->host;
	uint64_t all = 0, own = 0;

	for (struct session *s = h->sessions; s; s = session_next(s)) {
		if (session_has_ended(s))
			continue;
		all++;
		own += session_asker(s) == c->who.uid;
	}
	if (all >= h->config.sessions_max)
		return fault_set(f, -EBUSY, "capacity",
				 "%" PRIu64 " sessions are alive, as many as this vitrined takes "
				 "(sessions_max)",
				 all);
	return g->row && own >= g->sessions
		       ? fault_set(f, -EBUSY, "capacity",
				   "%" PRIu64
				   " sessions of yours are alive, as many as this vitrined "
				   "takes of you",
				   own)
		       : 0;
}

static int make_request(struct client *c, struct control_message *m, size_t streams,
			struct session_request *ret_request, struct fault *f)
{
	struct session_request request = {.workspace_fd = -1};
	struct grant grant = {0};
	int workspace_fd = m->fd_count > streams ? m->fds[streams] : -1;
	int r = grant_find(c->host->config.users, c->socket, &c->who, &grant, f);

	if (r == 0)
		r = check_capacity(c, &grant, f);
	if (r == 0) {
		m->fds[streams] = -1;
		r = session_request_parse(m->body, &grant, workspace_fd, &request, f);
	}
	if (r == 0)
		r = grant_check(&grant, &c->who, &request, f);
	grant_free(&grant);
	if (r < 0) {
		session_request_free(&request);
		return r;
	}
	*ret_request = request;
	return 0;
}

static void serve_session(struct client *c, struct control_message *m, size_t streams)
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
	if (m->fd_count < streams || m->fd_count > streams + 1) {
		client_refuse(c, "bad_request",
			      streams ? "session.run needs three descriptors or four"
				      : "session.start takes one descriptor at most");
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
	int r = make_request(c, m, streams, &request, &f);
	if (r == 0)
		r = session_start(h, &request, &c->who, m->fds, &told, &s, &f);
	if (r < 0)
		metric_add(h->metrics->sessions_refused, 1);
	if (r < 0)
		client_refuse(c, f.code ? f.code : "failed", f.text[0] ? f.text : strerror(-r));
	else
		memcpy(c->session, session_id(s), sizeof(c->session));
}

static void serve_run(struct client *c, struct control_message *m)
{
	serve_session(c, m, STREAMS);
}

static void serve_start(struct client *c, struct control_message *m)
{
	serve_session(c, m, 0);
}

/* ---- requests about a session ---- */

static bool may_have(const struct client *c, const struct session *s)
{
	return c->who.uid == 0 || c->who.uid == session_asker(s);
}

struct session *client_session(struct client *c, const struct control_message *m)
{
	const char *id = json_string_value(json_object_get(m->body, "session"));
	struct session *s = session_find(c->host, id);

	if (s && may_have(c, s))
		return s;
	client_refuse(c, "no_session", "no such session is alive");
	return NULL;
}

bool client_number(struct client *c, const struct control_message *m, const char *key,
		   uint32_t *ret_number)
{
	const json_t *value = json_object_get(m->body, key);
	json_int_t number = json_integer_value(value);
	char text[64];

	if (!value)
		return true;
	if (json_is_integer(value) && number >= 1 && number <= UINT32_MAX) {
		*ret_number = (uint32_t)number;
		return true;
	}
	snprintf(text, sizeof(text), "%s: bad value; allowed: a number from 1", key);
	client_refuse(c, "bad_request", text);
	return false;
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
	struct session *s = client_session(c, m);
	json_int_t columns = json_integer_value(json_object_get(m->body, "columns"));
	json_int_t rows = json_integer_value(json_object_get(m->body, "rows"));
	uint32_t exec = FIRST_EXEC;

	if (!s || !client_number(c, m, "exec", &exec))
		return;
	if (columns < 1 || columns > TERMINAL_MAX || rows < 1 || rows > TERMINAL_MAX) {
		client_refuse(c, "bad_request", "columns, rows: allowed: 1 to 65535");
		return;
	}
	answer(c, session_resize(s, exec, (uint16_t)columns, (uint16_t)rows));
}

static bool is_own(const struct client *c, const struct session *s, uint32_t exec)
{
	const char *id = session_id(s);

	return strcmp(c->session, id) == 0 || (c->exec == exec && !strcmp(c->exec_session, id));
}

static void serve_signal(struct client *c, struct control_message *m)
{
	struct session *s = client_session(c, m);
	json_int_t signal = json_integer_value(json_object_get(m->body, "signal"));
	uint32_t exec = FIRST_EXEC;

	if (!s || !client_number(c, m, "exec", &exec))
		return;
	if (signal < 1 || signal >= NSIG) {
		client_refuse(c, "bad_request", "signal: not the number of a signal");
		return;
	}
	answer(c, session_signal(s, exec, (int)signal, is_own(c, s, exec) ? "client" : "user"));
}

static void serve_kill(struct client *c, struct control_message *m)
{
	struct session *s = client_session(c, m);
	struct verdict killed = {.reason = VERDICT_KILLED, .by = "user"};
	uint32_t exec = 0;

	if (!s || !client_number(c, m, "exec", &exec))
		return;
	if (exec) {
		answer(c, session_exec_end(s, exec, &killed, false));
		return;
	}
	client_send(c, json_pack("{s:b}", "ok", 1));
	session_end(s, &killed, false);
}

/* ---- requests about the daemon ---- */

static void serve_list(struct client *c, struct control_message *m)
{
	json_t *list = json_array();

	(void)m;
	for (struct session *s = c->host->sessions; list && s; s = session_next(s))
		if (may_have(c, s))
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
	client_send(c, json_pack("{s:b, s:s, s:s, s:{s:I, s:I, s:I}, s:o, s:o}", "ok", 1, "version",
				 VITRINE_VERSION, "state", c->host->config.state, "pool", "size",
				 (json_int_t)pool_size(c->host->pool), "ready",
				 (json_int_t)pool_ready(c->host->pool), "taken",
				 (json_int_t)pool_taken(c->host->pool), "sensors",
				 names(sensors_names(c->host->sensors)), "missing",
				 names(sensors_missing(c->host->sensors))));
}

/* ---- the table ---- */

enum role {
	ROLE_GRANTED, /* root, or who a row of the configuration grants it (grant.h) */
	ROLE_OWNER,   /* the user who started the session (checked with its name), or root */
	ROLE_READER,  /* root, or a member of the group that may read records */
	ROLE_ANYBODY, /* who can connect; of sessions only the user's own are told */
};

static const struct {
	const char *name;
	enum role role;
	void (*serve)(struct client *c, struct control_message *m);
} requests[] = {
	{"session.run", ROLE_GRANTED, serve_run},     {"session.start", ROLE_GRANTED, serve_start},
	{"exec.run", ROLE_OWNER, client_serve_exec},  {"session.signal", ROLE_OWNER, serve_signal},
	{"session.kill", ROLE_OWNER, serve_kill},     {"exec.resize", ROLE_OWNER, serve_resize},
	{"record.access", ROLE_READER, access_serve}, {"record.list", ROLE_ANYBODY, lend_list},
	{"record.open", ROLE_OWNER, lend_open},	      {"record.more", ROLE_OWNER, lend_more},
	{"session.list", ROLE_ANYBODY, serve_list},   {"daemon.info", ROLE_ANYBODY, serve_info},
};

/* A request that does not fit a packet has to be read to know it, and nothing else is that long. */
static bool begins_session(const json_t *packet)
{
	const char *name = json_string_value(json_object_get(packet, "request"));

	return json_object_get(packet, "memfd") ||
	       (name && (!strcmp(name, "session.run") || !strcmp(name, "session.start")));
}

int client_has_to_wait(const struct client *c)
{
	cleanup(json) json_t *packet = NULL;

	if (!session_has_to_wait(c->host, c->who.uid))
		return 0;
	int r = control_peek(c->socket, &packet);
	if (r == -EAGAIN)
		return r;
	return r == 0 && begins_session(packet);
}

void client_serve(struct client *c, struct control_message *m)
{
	const char *name = json_string_value(json_object_get(m->body, "request"));

	metric_add(c->host->metrics->requests, 1);
	for (size_t i = 0; name && i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].name, name) != 0)
			continue;
		requests[i].serve(c, m);
		return;
	}
	client_refuse(c, "bad_request", "no such request");
}
