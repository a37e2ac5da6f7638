/*
 * Starts the recorder and speaks to it. Nothing here waits, but for the one answer at the start.
 */
#include "recorder_client.h"

#include "companion.h"
#include "control.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "sandbox/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

#define START_TIMEOUT_MS 10000
#define STOP_TIMEOUT_MS 10000
#define AHEAD_BYTES (2 << 20) /* that a look may be ahead of the recorder */

struct recorder {
	json_t *held; /* owned; requests that go together; NULL: each goes by itself */
	int held_fds[CONTROL_FDS_MAX]; /* of them, in order; borrowed */
	size_t held_fd_count;
	json_t *received; /* owned; of what came together, what was not given out yet */
	struct companion recorder, names, final;
	char *program_dir; /* owned */
};

/* Descriptors that ride along, with their names. */
struct riders {
	int fds[CONTROL_FDS_MAX];
	const char *names[CONTROL_FDS_MAX];
	size_t count;
};

static void ride(struct riders *riders, const char *name, int fd)
{
	if (fd < 0)
		return;
	riders->fds[riders->count] = fd;
	riders->names[riders->count++] = name;
}

static int name_riders(json_t *message, const struct riders *riders)
{
	json_t *names = json_array();

	for (size_t i = 0; i < riders->count; i++)
		json_array_append_new(names, json_string(riders->names[i]));
	return json_object_set_new(message, "fds", names) < 0 ? -ENOMEM : 0;
}

/* Send @message (its reference is taken). */
static int send_to(int socket, json_t *message, const struct riders *riders)
{
	cleanup(json) json_t *owned = message;

	if (!owned || (riders && name_riders(owned, riders) < 0))
		return -ENOMEM;
	return control_send(socket, owned, riders ? riders->fds : NULL, riders ? riders->count : 0);
}

/* A recorder that cannot be told is none any more. */
static int send_now(struct recorder *r, json_t *message, const int *fds, size_t count)
{
	int e = control_send(r->recorder.socket, message, fds, count);

	if (e < 0 && e != -ENOMEM && e != -EMSGSIZE)
		pidfd_send_signal(r->recorder.pidfd, SIGKILL, NULL, 0);
	return e;
}

/* One by one. */
static int send_each(struct recorder *r, const json_t *requests)
{
	size_t fd = 0, i;
	json_t *request;
	int e = 0;

	json_array_foreach (requests, i, request) {
		size_t count = json_array_size(json_object_get(request, "fds"));

		if (e == 0)
			e = send_now(r, request, r->held_fds + fd, count);
		fd += count;
	}
	return e;
}

void recorder_hold(struct recorder *r)
{
	if (!r->held)
		r->held = json_array();
}

int recorder_release(struct recorder *r)
{
	cleanup(json) json_t *requests = take(r->held);
	size_t count = json_array_size(requests);
	cleanup(json) json_t *all = count > 1 ? json_pack("{s:O}", "requests", requests) : NULL;
	int e = all ? send_now(r, all, r->held_fds, r->held_fd_count) : send_each(r, requests);

	if (e == -EMSGSIZE && all)
		e = send_each(r, requests);
	r->held_fd_count = 0;
	return e;
}

static int add_held(struct recorder *r, json_t *message, const struct riders *riders)
{
	size_t count = riders ? riders->count : 0;
	int e = 0;

	if (r->held_fd_count + count > CONTROL_FDS_MAX - 1) {
		e = recorder_release(r);
		recorder_hold(r);
	}
	if (e == 0 && json_array_append(r->held, message) < 0)
		e = -ENOMEM;
	for (size_t i = 0; e == 0 && i < count; i++)
		r->held_fds[r->held_fd_count++] = riders->fds[i];
	return e;
}

static int send_message(struct recorder *r, json_t *message, const struct riders *riders)
{
	cleanup(json) json_t *owned = message;

	if (!owned || (riders && name_riders(owned, riders) < 0))
		return -ENOMEM;
	if (!r->held)
		return send_now(r, owned, riders ? riders->fds : NULL, riders ? riders->count : 0);
	return add_held(r, owned, riders);
}

/* ---- life ---- */

static int send_start(struct recorder *r, const struct recorder_options *o)
{
	struct riders riders = {0};
	ride(&riders, "numbers", o->numbers_fd);
	ride(&riders, "losses", o->losses_fd);
	ride(&riders, "written_files", o->written_files_fd);
	ride(&riders, "file_counts", o->file_counts_fd);
	ride(&riders, "exec_bytes", o->exec_bytes_fd);
	ride(&riders, "in_hand", o->in_hand_fd);
	ride(&riders, "names", r->names.socket);
	ride(&riders, "metrics", o->metrics_fd);
	return send_message(r,
			    json_pack("{s:s, s:O, s:o, s:I, s:I, s:I}", "request", "start", "about",
				      o->about, "key", control_base64(o->key, 32), "uid",
				      (json_int_t)o->uid, "gid", (json_int_t)o->gid, "rings",
				      (json_int_t)o->rings),
			    &riders);
}

static int wait_started(struct recorder *r, struct fault *f)
{
	struct pollfd ready = {.fd = r->recorder.socket, .events = POLLIN};
	struct recorder_message m;

	if (poll(&ready, 1, START_TIMEOUT_MS) <= 0)
		return fault_set(f, -ETIMEDOUT, "recorder", "the recorder does not answer");
	int e = recorder_receive(r, &m);
	if (e < 0)
		return fault_set(f, e, "recorder", "the recorder ended before it had started: %s",
				 strerror(-e));
	enum recorder_word word = m.word;
	int error = m.error;
	fault_say(f, "recorder", "the recorder cannot start: %s",
		  m.text[0] ? m.text : strerror(error));
	recorder_message_free(&m);
	return word == RECORDER_STARTED && error == 0 ? 0 : error ? -error : -EBADMSG;
}

int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder,
		   struct fault *ret_fault)
{
	struct recorder *r = malloc(sizeof(*r));

	if (!r)
		return fault_set(ret_fault, -ENOMEM, "recorder", "out of memory");
	*r = (struct recorder){.recorder = COMPANION_NONE,
			       .names = COMPANION_NONE,
			       .final = COMPANION_NONE,
			       .program_dir = strdup(options->program_dir)};

	int e = r->program_dir ? 0 : -ENOMEM;
	if (e == 0)
		e = companion_start(options->program_dir, "vitrine-names", NULL, &r->names);
	if (e == 0)
		e = companion_start(options->program_dir, "vitrine-final", NULL, &r->final);
	if (e == 0)
		e = companion_start(options->program_dir, "vitrine-recorder", NULL, &r->recorder);
	if (e == 0)
		e = send_start(r, options);
	if (e < 0)
		fault_say(ret_fault, "recorder", "cannot start the recorder from %s: %s",
			  options->program_dir, strerror(-e));
	else
		e = wait_started(r, ret_fault);
	if (e < 0) {
		recorder_stop(r);
		return e;
	}

	/* From here on the recorder alone speaks with the resolver of names, and nothing that it
	 * does may hold us up. */
	close(r->names.socket);
	r->names.socket = -1;
	fcntl(r->recorder.socket, F_SETFL, O_NONBLOCK);
	*ret_recorder = r;
	return 0;
}

void recorder_stop(struct recorder *r)
{
	if (!r)
		return;
	companion_stop(&r->recorder, STOP_TIMEOUT_MS);
	companion_stop(&r->names, STOP_TIMEOUT_MS);
	companion_stop(&r->final, STOP_TIMEOUT_MS);
	free(r->program_dir);
	json_decref(r->held);
	json_decref(r->received);
	free(r);
}

int recorder_socket(const struct recorder *r)
{
	return r->recorder.socket;
}

bool recorder_is_alive(const struct recorder *r)
{
	struct pollfd ended = {.fd = r->recorder.pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 0;
}

int recorder_names_pidfd(const struct recorder *r)
{
	return r->names.pidfd;
}

/* ---- messages to the recorder ---- */

static void add_ground(json_t *message, const struct recorder_ground *g, struct riders *riders)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"slot", g->slot},
		{"ring_id", g->ring_id},
		{"ring_bytes", g->ring_bytes},
		{"high_water", g->high_water},
		{"uid_base", g->uid_base},
		{"uid_count", g->uid_count},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_set_new(message, numbers[i].name,
				    json_integer((json_int_t)numbers[i].value));
	ride(riders, "journal", g->journal_fd);
	ride(riders, "ring", g->ring_fd);
	ride(riders, "freeze", g->freeze_fd);
	ride(riders, "fanotify", g->fanotify_fd);
	ride(riders, "root_mount", g->root_mount_fd);
}

int recorder_prepare(struct recorder *r, const char *session, const struct recorder_ground *ground)
{
	json_t *message = json_pack("{s:s, s:s}", "request", "prepare", "session", session);
	struct riders riders = {0};

	if (message)
		add_ground(message, ground, &riders);
	return send_message(r, message, &riders);
}

int recorder_forget(struct recorder *r, const char *session)
{
	return send_message(r, json_pack("{s:s, s:s}", "request", "forget", "session", session),
			    NULL);
}

int recorder_open(struct recorder *r, const struct recorder_open *o)
{
	const struct policy *p = o->policy;
	struct riders riders = {0};
	json_t *message = json_pack(
		"{s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:O, s:O, s:O, s:O?, s:O?, s:b, s:b, s:o, "
		"s:O?, s:I, s:I}",
		"request", "open", "session", o->session, "on_loss", p->on_loss, "disk_wait_s",
		(json_int_t)p->disk_wait_s, "output", p->output, "output_cap",
		(json_int_t)p->output_cap, "output_limit", (json_int_t)p->limits.output_bytes,
		"watch_reads", p->watch_reads, "seccomp_deny", p->seccomp_deny, "seccomp_allow",
		p->seccomp_allow, "redact_off", p->redact_off, "redact_rules", p->redact_rules,
		"redact_output", p->redact_output, "explain", strcmp(p->final, "off") != 0,
		"secrets", session_secrets_values(o->secrets), "key", o->key, "exec",
		(json_int_t)o->exec, "cgroup", (json_int_t)o->exec_cgroup);

	if (message && o->ground)
		add_ground(message, o->ground, &riders);
	return send_message(r, message, &riders);
}

int recorder_open_journal(struct recorder *r, const char *session, int journal_fd,
			  const struct session_secrets *secrets, const json_t *key)
{
	struct riders riders = {0};

	ride(&riders, "journal", journal_fd);
	return send_message(r,
			    json_pack("{s:s, s:s, s:b, s:o, s:O?}", "request", "open", "session",
				      session, "bare", 1, "secrets",
				      session_secrets_values(secrets), "key", key),
			    &riders);
}

int recorder_sign(struct recorder *r, const char *session, const json_t *key)
{
	return send_message(
		r, json_pack("{s:s, s:s, s:O}", "request", "sign", "session", session, "key", key),
		NULL);
}

int recorder_event(struct recorder *r, const char *session, const char *kind, json_t *fields)
{
	return send_message(r,
			    json_pack("{s:s, s:s, s:s, s:o}", "request", "event", "session",
				      session, "kind", kind, "fields", fields),
			    NULL);
}

int recorder_exec(struct recorder *r, const char *session, const struct recorder_command *command,
		  const struct streams *s)
{
	static const char *const from[] = {"stdin_from", "stdout_from", "stderr_from"};
	static const char *const to[] = {"stdin_to", "stdout_to", "stderr_to"};
	struct riders riders = {0};

	for (size_t i = 0; i < 3 && !command->tty; i++) {
		ride(&riders, from[i], s->from[i]);
		ride(&riders, to[i], s->to[i]);
	}
	return send_message(r,
			    json_pack("{s:s, s:s, s:I, s:I, s:I, s:b}", "request", "exec",
				      "session", session, "exec", (json_int_t)command->exec,
				      "cgroup", (json_int_t)command->cgroup, "output_limit",
				      (json_int_t)command->output_limit, "tty", command->tty),
			    &riders);
}

int recorder_start_exec(struct recorder *r, const char *session, uint32_t exec, json_t *fields,
			int gate_fd)
{
	struct riders riders = {0};

	ride(&riders, "gate", gate_fd);
	return send_message(r,
			    json_pack("{s:s, s:s, s:I, s:o}", "request", "exec.start", "session",
				      session, "exec", (json_int_t)exec, "fields", fields),
			    &riders);
}

int recorder_tty(struct recorder *r, const char *session, uint32_t exec, int master,
		 const struct streams *s)
{
	struct riders riders = {0};

	ride(&riders, "tty_master", master);
	ride(&riders, "tty_from", s->from[0]);
	ride(&riders, "tty_to", s->to[1]);
	return send_message(r,
			    json_pack("{s:s, s:s, s:I}", "request", "tty", "session", session,
				      "exec", (json_int_t)exec),
			    &riders);
}

int recorder_resize(struct recorder *r, const char *session, uint32_t exec, uint16_t columns,
		    uint16_t rows)
{
	return send_message(r,
			    json_pack("{s:s, s:s, s:I, s:i, s:i}", "request", "resize", "session",
				      session, "exec", (json_int_t)exec, "columns", columns, "rows",
				      rows),
			    NULL);
}

/* One that has ended is replaced: it holds nothing that has to be kept. */
static int give_to_final(struct recorder *r, int socket)
{
	int e = message_send(r->final.socket, "", 1, &socket, 1);

	if (e == 0)
		return 0;
	companion_stop(&r->final, 0);
	e = companion_start(r->program_dir, "vitrine-final", NULL, &r->final);
	return e < 0 ? e : message_send(r->final.socket, "", 1, &socket, 1);
}

/* A child of vitrine-final's, for this session alone, speaks with the recorder alone. */
int recorder_look(struct recorder *r, const char *session, const struct recorder_look *o)
{
	cleanup(close_fd) int ours = -1, theirs = -1;
	struct riders riders = {0}, trees = {0};
	int sockets[2];
	int e = recorder_release(r); /* our end is open until we return */

	if (e < 0)
		return e;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	ours = sockets[0];
	theirs = sockets[1];
	setsockopt(theirs, SOL_SOCKET, SO_SNDBUFFORCE, &(int){AHEAD_BYTES}, sizeof(int));
	ride(&trees, "upper", o->upper_fd);
	ride(&trees, "base", o->base_fd);
	ride(&trees, "lower", o->lower_fd);
	ride(&trees, "root", o->root_fd);
	ride(&trees, "workspace", o->workspace_fd);
	e = send_to(ours,
		    json_pack("{s:b, s:I, s:I, s:I, s:o}", "hash",
			      strcmp(o->policy->final, "full") == 0, "bytes",
			      (json_int_t)o->policy->final_bytes, "files",
			      (json_int_t)o->policy->final_files, "seconds",
			      (json_int_t)o->policy->final_s, "secrets",
			      session_secrets_values(o->secrets)),
		    &trees);
	if (e == 0)
		e = give_to_final(r, theirs);
	ride(&riders, "final", ours);
	/* Where nobody looks the recorder finds the socket closed, and says that. */
	int told = send_message(r,
				json_pack("{s:s, s:s, s:I}", "request", "look", "session", session,
					  "seconds", (json_int_t)o->policy->final_s),
				&riders);
	return e < 0 ? e : told;
}

int recorder_discard(struct recorder *r, const char *session, uint32_t exec)
{
	return send_message(r,
			    json_pack("{s:s, s:s, s:I}", "request", "discard", "session", session,
				      "exec", (json_int_t)exec),
			    NULL);
}

int recorder_close_exec(struct recorder *r, const char *session, uint32_t exec, json_t *fields,
			bool is_last)
{
	return send_message(r,
			    json_pack("{s:s, s:s, s:I, s:o, s:b}", "request", "exec.close",
				      "session", session, "exec", (json_int_t)exec, "fields",
				      fields, "last", is_last),
			    NULL);
}

int recorder_missed(struct recorder *r, const char *session, uint64_t count)
{
	return send_message(r,
			    json_pack("{s:s, s:s, s:I}", "request", "missed", "session", session,
				      "count", (json_int_t)count),
			    NULL);
}

int recorder_close(struct recorder *r, const char *session, json_t *fields, bool is_untouched)
{
	return send_message(r,
			    json_pack("{s:s, s:s, s:o, s:b}", "request", "close", "session",
				      session, "fields", fields, "untouched", is_untouched),
			    NULL);
}

/* ---- messages from it ---- */

static const struct {
	const char *key, *name;
} words[] = {
	[RECORDER_STARTED] = {"reply", "started"},
	[RECORDER_PREPARED] = {"reply", "prepared"},
	[RECORDER_OPENED] = {"reply", "opened"},
	[RECORDER_EXECED] = {"reply", "execed"},
	[RECORDER_EXEC_CLOSED] = {"reply", "exec.closed"},
	[RECORDER_CLOSING] = {"reply", "closing"},
	[RECORDER_CLOSED] = {"reply", "closed"},
	[RECORDER_TROUBLE] = {"notice", "trouble"},
	[RECORDER_LOST] = {"notice", "lost"},
	[RECORDER_OUTPUT] = {"notice", "output"},
};

static enum recorder_word find_word(const json_t *body)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *name = json_string_value(json_object_get(body, words[i].key));

		if (name && !strcmp(name, words[i].name))
			return i;
	}
	return RECORDER_UNKNOWN;
}

static uint64_t get_number(const json_t *body, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(body, name));

	return value > 0 ? (uint64_t)value : 0;
}

static void get_text(const json_t *body, const char *name, char *to, size_t room)
{
	const char *text = json_string_value(json_object_get(body, name));

	snprintf(to, room, "%s", text ? text : "");
}

/* The recorder's word is taken for what it is: 32 bytes. */
static bool get_note(const json_t *body, uint8_t note[32])
{
	char *bytes = NULL;
	size_t size = 0;
	bool is_note =
		control_get_bytes(json_object_get(body, "note"), &bytes, &size) == 0 && size == 32;

	if (is_note)
		memcpy(note, bytes, size);
	free(bytes);
	return is_note;
}

void recorder_message_free(struct recorder_message *m)
{
	json_decref(m->verdict);
	m->verdict = NULL;
}

/* The next of those that came together, or what comes. The caller's. */
static int next_body(struct recorder *r, json_t **ret_body)
{
	struct control_message raw;

	if (json_array_size(r->received) == 0) {
		int e = control_receive(r->recorder.socket, &raw);

		if (e < 0)
			return e;
		json_t *body = take(raw.body);

		control_message_free(&raw);
		if (!json_is_array(json_object_get(body, "messages"))) {
			*ret_body = body;
			return 0;
		}
		json_decref(r->received);
		r->received = json_incref(json_object_get(body, "messages"));
		json_decref(body);
	}
	*ret_body = json_incref(json_array_get(r->received, 0));
	json_array_remove(r->received, 0);
	return *ret_body ? 0 : -EBADMSG;
}

int recorder_receive(struct recorder *r, struct recorder_message *ret_message)
{
	cleanup(json) json_t *body = NULL;
	int e = next_body(r, &body);

	if (e < 0)
		return e;
	struct recorder_message m = {
		.word = find_word(body),
		.exec = (uint32_t)get_number(body, "exec"),
		.error = (int)(get_number(body, "errno") & 4095),
		.ended = json_is_true(json_object_get(body, "ended")),
		.records = get_number(body, "records"),
		.lost = get_number(body, "lost"),
	};
	m.has_note = get_note(body, m.note);
	get_text(body, "session", m.session, sizeof(m.session));
	get_text(body, "error", m.text, sizeof(m.text));
	if (json_is_object(json_object_get(body, "verdict")))
		m.verdict = json_incref(json_object_get(body, "verdict"));

	*ret_message = m;
	return 0;
}
