/* What vitrined may ask of the recorder: a table of requests, and how each is served. */
#include "../../bpf/wire.h"
#include "../record/cleanup.h"
#include "call.h"
#include "secret_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* ---- sessions ---- */

static int serve_sign(struct call *c)
{
	const struct checkpoints_key *given = NULL;
	uint8_t seed[SIGN_SEED_SIZE] = {0};
	struct checkpoints_key key;
	int e = call_signing(c, seed, &key, &given);

	if (e == 0 && !given)
		e = call_refuse(c, -EINVAL, "no key to sign with");
	if (e == 0)
		e = recording_sign(c->recording, given, &c->why);
	explicit_bzero(seed, sizeof(seed));
	return e;
}

static int serve_event(struct call *c)
{
	const char *name = json_string_value(json_object_get(c->body, "kind"));
	enum event_kind kind = name ? kind_by_name(name) : EVENT_KIND_NONE;
	json_t *fields = NULL;
	int e = call_fields(c, &fields);

	if (e < 0)
		return e;
	if (kind == EVENT_KIND_NONE)
		return call_refuse(c, -EINVAL, "no such kind of event");
	return recording_event(c->recording, kind, fields, &c->why);
}

static int serve_missed(struct call *c)
{
	uint64_t count = 0;
	int e = call_number(c, "count", INT64_MAX, 0, &count);

	if (e < 0)
		return e;
	return recording_missed(c->recording, count);
}

/* What vitrine-final tells of the session's tree. */
static int serve_look(struct call *c)
{
	uint64_t seconds = 0;
	int fd = call_borrow_fd(c, "final");
	int e = call_number(c, "seconds", UINT32_MAX, 0, &seconds);

	if (e == 0)
		e = fd < 0 ? call_refuse(c, -EINVAL, "nobody to look")
			   : recording_look(c->recording, fd, seconds, &c->why);
	if (e == 0)
		(void)call_take_fd(c, "final");
	return e;
}

/* ---- commands ---- */

static int add_stream(struct call *c, struct exec_relays *x, enum exec_stream stream,
		      const char *from_name, const char *to_name)
{
	int from = call_take_fd(c, from_name), to = call_take_fd(c, to_name);

	if (from < 0) {
		if (to >= 0)
			close(to);
		return 0;
	}
	int e = exec_relays_add(x, stream, from, to);
	return e < 0 ? call_refuse(c, e, "cannot relay a stream") : 0;
}

static int serve_exec(struct call *c)
{
	struct exec_relays *x = NULL;
	struct recording_command command = {0};
	uint64_t exec = 0;
	int e = call_number(c, "exec", UINT32_MAX, 0, &exec);

	if (e == 0)
		e = call_number(c, "cgroup", INT64_MAX, 0, &command.cgroup);
	if (e == 0)
		e = call_number(c, "output_limit", INT64_MAX, 0, &command.output_limit);
	if (e < 0)
		return e;
	command.exec = (uint32_t)exec;
	e = recording_add_exec(c->recording, &command, &x);
	if (e < 0)
		return call_refuse(c, e, "cannot add a command");
	e = add_stream(c, x, EXEC_STDIN, "stdin_from", "stdin_to");
	if (e == 0)
		e = add_stream(c, x, EXEC_STDOUT, "stdout_from", "stdout_to");
	if (e == 0)
		e = add_stream(c, x, EXEC_STDERR, "stderr_from", "stderr_to");
	return e;
}

/* It waits for its record at the gate, and ends where that is closed. */
static int serve_exec_start(struct call *c)
{
	struct exec_relays *x = NULL;
	json_t *fields = NULL;
	int gate = call_borrow_fd(c, "gate");
	int e = gate < 0 ? call_refuse(c, -EINVAL, "no gate") : call_exec(c, &x);

	if (e == 0)
		e = call_fields(c, &fields);
	if (e == 0)
		e = recording_start_exec(c->recording, exec_relays_exec(x), fields, gate, &c->why);
	if (e == 0)
		(void)call_take_fd(c, "gate");
	return e;
}

/* The master is one end of both directions. */
static int serve_tty(struct call *c)
{
	struct exec_relays *x = NULL;
	int e = call_exec(c, &x);
	if (e < 0)
		return e;

	int master = call_borrow_fd(c, "tty_master");
	int second = master < 0 ? -1 : fcntl(master, F_DUPFD_CLOEXEC, 3);
	if (second < 0)
		return call_refuse(c, -EINVAL, "no terminal");
	int from = call_take_fd(c, "tty_from");
	if (from >= 0)
		e = exec_relays_add(x, EXEC_TTY_INPUT, from, second);
	else
		close(second);
	if (e < 0)
		return call_refuse(c, e, "cannot relay the terminal's input");
	return add_stream(c, x, EXEC_TTY_OUTPUT, "tty_master", "tty_to");
}

static int serve_resize(struct call *c)
{
	struct exec_relays *x = NULL;
	uint64_t columns = 0, rows = 0;
	int e = call_exec(c, &x);

	if (e == 0)
		e = call_number(c, "columns", UINT16_MAX, 0, &columns);
	if (e == 0)
		e = call_number(c, "rows", UINT16_MAX, 0, &rows);
	return e < 0 ? e : exec_relays_resize(x, columns, rows);
}

static void put_totals(json_t *reply, const struct exec_totals *totals)
{
	static const struct {
		enum exec_stream stream;
		const char *name;
	} outputs[] = {
		{EXEC_STDOUT, "stdout"}, {EXEC_STDERR, "stderr"}, {EXEC_TTY_OUTPUT, "terminal"}};

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		enum exec_stream s = outputs[i].stream;

		if (totals->streams[s].is_there)
			json_object_set_new(reply, outputs[i].name,
					    json_pack("{s:I, s:I}", "total",
						      (json_int_t)totals->streams[s].total, "kept",
						      (json_int_t)totals->streams[s].kept));
	}
	json_object_set_new(reply, "detached", json_boolean(totals->detached > 0));
	if (totals->truncated)
		json_object_set_new(reply, "output_truncated", json_true());
}

static void on_exec_closed(void *context, struct recording *r, uint32_t exec,
			   const struct exec_totals *totals, int error)
{
	json_t *reply = json_pack("{s:s, s:s, s:I}", "reply", "exec.closed", "session",
				  recording_session(r), "exec", (json_int_t)exec);

	put_totals(reply, totals);
	if (error < 0)
		call_put_error(reply, -error, "the end of the command could not be written");
	else
		json_object_set_new(reply, "verdict", recording_verdict_object(r));
	recordings_send(context, reply);
}

/* What has ended meanwhile has nothing to discard. */
static int serve_discard(struct call *c)
{
	struct exec_relays *x = NULL;

	if (call_exec(c, &x) == 0)
		exec_relays_discard(x);
	return 0;
}

static int serve_exec_close(struct call *c)
{
	struct exec_relays *x = NULL;
	json_t *fields = NULL;
	int e = call_exec(c, &x);

	if (e == 0)
		e = call_fields(c, &fields);
	if (e < 0)
		return e;
	bool is_last = json_is_true(json_object_get(c->body, "last"));
	return recording_close_exec(c->recording, exec_relays_exec(x), fields,
				    is_last ? NULL : on_exec_closed, c->all, &c->why);
}

/* ---- the table ---- */

enum needs {
	NEEDS_NOTHING,
	NEEDS_START,
	NEEDS_SESSION, /* prepared at least */
	NEEDS_OPEN,
};

static const struct {
	const char *name;
	const char *reply; /* NULL: it is not answered */
	enum needs needs;
	bool is_answered_later; /* unless it is refused */
	int (*serve)(struct call *c);
} requests[] = {
	{"start", "started", NEEDS_NOTHING, false, call_serve_start},
	{"prepare", "prepared", NEEDS_START, false, call_serve_prepare},
	{"forget", NULL, NEEDS_SESSION, false, call_serve_forget},
	{"open", "opened", NEEDS_START, false, call_serve_open},
	{"sign", NULL, NEEDS_OPEN, false, serve_sign},
	{"event", NULL, NEEDS_OPEN, false, serve_event},
	{"exec", "execed", NEEDS_OPEN, false, serve_exec},
	{"exec.start", NULL, NEEDS_OPEN, false, serve_exec_start},
	{"tty", NULL, NEEDS_OPEN, false, serve_tty},
	{"exec.close", "exec.closed", NEEDS_OPEN, true, serve_exec_close},
	{"resize", NULL, NEEDS_OPEN, false, serve_resize},
	{"discard", NULL, NEEDS_OPEN, false, serve_discard},
	{"look", NULL, NEEDS_OPEN, false, serve_look},
	{"missed", NULL, NEEDS_OPEN, false, serve_missed},
	{"close", "closed", NEEDS_OPEN, true, call_serve_close},
};

static int find_request(const json_t *body)
{
	const char *name = json_string_value(json_object_get(body, "request"));
	size_t count = sizeof(requests) / sizeof(requests[0]);

	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(requests[i].name, name))
			return (int)i;
	return -1;
}

static int serve(struct call *c, int request)
{
	const char *session = json_string_value(json_object_get(c->body, "session"));

	if (requests[request].needs != NEEDS_NOTHING && !c->all->is_started)
		return call_refuse(c, -EPERM, "the recorder was not started");
	if (requests[request].needs >= NEEDS_SESSION) {
		c->recording = session ? recordings_find(c->all, session) : NULL;
		if (!c->recording ||
		    (requests[request].needs == NEEDS_OPEN && !recording_is_open(c->recording)))
			return call_refuse(c, -ENOENT, "no such session");
		recordings_ask(c->all, c->recording);
	}
	return requests[request].serve(c);
}

static void serve_one(struct recordings *all, struct control_message *m)
{
	struct call c = {.all = all, .message = m, .body = m->body};
	int request = find_request(m->body);
	json_t *session = json_object_get(m->body, "session");
	json_t *exec = json_object_get(m->body, "exec");

	recordings_let_go(all);
	if (request < 0) {
		log_write(all->log, LOG_LEVEL_ERROR, "vitrined asked for what is not known");
		return;
	}
	c.reply = json_pack("{s:s, s:O?, s:O*}", "reply",
			    requests[request].reply ? requests[request].reply : "", "session",
			    session, "exec", exec);
	if (!c.reply)
		return;

	int e = serve(&c, request);
	if (e < 0)
		call_put_error(c.reply, -e, c.why);
	if (requests[request].reply && (e < 0 || !requests[request].is_answered_later)) {
		recordings_send(all, c.reply);
		return;
	}
	if (e < 0)
		log_write(all->log, LOG_LEVEL_ERROR, "%s: %s", requests[request].name,
			  c.why ? c.why : strerror(-e));
	json_decref(c.reply);
}

/* Descriptors ride with all of them, in the order of the requests. */
static void serve_next(struct recordings *all, json_t *request, struct control_message *m,
		       size_t *next_fd)
{
	struct control_message one = {.body = json_incref(request)};
	size_t count = json_array_size(json_object_get(request, "fds"));

	for (; one.fd_count < count && *next_fd < m->fd_count; (*next_fd)++)
		one.fds[one.fd_count++] = take_fd(m->fds[*next_fd]);
	serve_one(all, &one);
	control_message_free(&one);
}

void recordings_serve(struct recordings *all, struct control_message *m)
{
	const json_t *list = json_object_get(m->body, "requests");
	size_t next_fd = 0, i;
	json_t *request;

	if (!list) {
		serve_one(all, m);
		return;
	}
	recordings_hold(all);
	json_array_foreach (list, i, request)
		serve_next(all, request, m, &next_fd);
	recordings_release(all);
}
