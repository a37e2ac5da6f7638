/*
 * Another command for a session that is alive: the request exec.run, and what is told to who sent
 * it. The command ends with the connection that asked for it, and the session goes on.
 */
#include "client.h"

#include "exec_request.h"
#include "grant.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <string.h>

#define STREAMS 3

static void tell_started(void *context, const char *id, uint32_t exec)
{
	struct client *c = context;

	log_write(&c->host->log, LOG_LEVEL_NOTICE, "session %s: command %u for uid %u", id, exec,
		  c->who.uid);
	c->is_exec_answered = true;
	client_send(c,
		    json_pack("{s:b, s:s, s:I}", "ok", 1, "session", id, "exec", (json_int_t)exec));
}

static void tell_ended(void *context, const char *id, uint32_t exec, const json_t *verdict,
		       int status, const char *error)
{
	struct client *c = context;

	c->exec = 0;
	if (!c->is_exec_answered) {
		client_send(c, json_pack("{s:b, s:s, s:O?, s:{s:s, s:s}}", "ok", 0, "session", id,
					 "verdict", verdict, "error", "code", "setup_failed",
					 "message",
					 error ? error : "the command could not be started"));
		return;
	}
	client_send(c, json_pack("{s:s, s:s, s:I, s:O?, s:i, s:s?}", "notice", "ended", "session",
				 id, "exec", (json_int_t)exec, "verdict", verdict, "status", status,
				 "error", error));
}

/* Who may not run sessions as root gets no root in one that was started by somebody who may. */
static int check_user(struct client *c, const struct exec_request *request, struct fault *f)
{
	struct grant grant = {0};

	if (strcmp(request->user, "root") != 0)
		return 0;
	int r = grant_find(c->host->config.users, c->socket, &c->who, &grant, f);
	if (r == 0 && grant.row && !grant.root)
		r = fault_set(f, -EPERM, "forbidden",
			      "user: this vitrined does not let you run commands as root");
	grant_free(&grant);
	return r;
}

void client_serve_exec(struct client *c, struct control_message *m)
{
	const struct exec_client told = {
		.context = c, .started = tell_started, .ended = tell_ended};
	struct session *s = client_session(c, m);
	struct exec_request request = {0};
	struct fault f = {0};

	if (!s)
		return;
	if (c->exec) {
		client_refuse(c, "busy", "this connection has a command already");
		return;
	}
	if (m->fd_count != STREAMS) {
		client_refuse(c, "bad_request", "exec.run needs three descriptors");
		return;
	}
	struct exec_ground ground = session_ground(s);
	ground.may_limit = true;
	int r = exec_request_parse(m->body, &ground, &request, &f);
	if (r == 0)
		r = check_user(c, &request, &f);
	c->is_exec_answered = false;
	memcpy(c->exec_session, session_id(s), sizeof(c->exec_session));
	if (r == 0)
		r = session_exec_start(s, &request, m->fds, &told, &c->exec, &f);
	exec_request_free(&request);
	if (r < 0)
		client_refuse(c, f.code ? f.code : "failed", f.text[0] ? f.text : strerror(-r));
}

void client_end_exec(struct client *c)
{
	const struct verdict gone = {.reason = VERDICT_KILLED, .by = "client"};
	struct session *s = c->exec ? session_find(c->host, c->exec_session) : NULL;

	if (!s)
		return;
	session_exec_forget_client(s, c->exec);
	session_exec_end(s, c->exec, &gone, true);
}
