/*
 * Chrome trace JSON, as ui.perfetto.dev and chrome://tracing read it ("Trace Event Format"): each
 * process of the session is a track; its life and each program that it ran are complete events (X),
 * one within the other; connections are asynchronous (b, e) because they overlap; forks are flows
 * (s, f); all else is an instant (i). Times are microseconds since the session's first record.
 *
 * Track 1 is the session itself. A process has a number of its own, because pids are used again.
 */
#include "../keymap.h"
#include "../message.h"
#include "../units.h"
#include "formats.h"

#include "../../supervisor/record/attack.h"
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/json_put.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRACKS_MAX (1 << 20)
#define NAME_MAX_BYTES 64
#define SESSION_TRACK 1

struct track {
	uint64_t start_ns, last_ns, program_ns;
	bool fork_seen, has_program, is_over;
	uint64_t pid;
	char name[NAME_MAX_BYTES + 1]; /* of the program, safe text */
};

struct perfetto {
	FILE *out;
	const char *session;
	struct json_buffer line;
	struct message message;
	struct keymap *procs, *sockets;
	struct track *tracks; /* by number of the process */
	bool *connected;      /* by number of the socket */
	size_t track_room, socket_room;
	uint64_t last_ns, left_out;
	int error;
	bool any;
};

static void perfetto_free(void *state)
{
	struct perfetto *p = state;

	if (!p)
		return;
	keymap_free(p->procs);
	keymap_free(p->sockets);
	message_close(&p->message);
	json_buffer_free(&p->line);
	free(p->tracks);
	free(p->connected);
	free(p);
}

/* ---- one event of the trace ---- */

static void put_micros(struct json_buffer *b, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	json_put(b, text, strlen(text));
}

/* {"ph":"X","pid":2,"tid":2,"ts":0.000,"cat":"process","name":"sh" */
static void begin(struct perfetto *p, char phase, uint64_t track, uint64_t ns, const char *category,
		  struct bytes name)
{
	struct json_buffer *b = &p->line;

	b->length = 0;
	json_put(b, p->any ? ",\n" : "\n", p->any ? 2 : 1);
	p->any = true;
	json_put_literal(b, "{\"ph\":\"");
	json_put(b, &phase, 1);
	json_put_literal(b, "\",\"pid\":");
	json_put_u64(b, track);
	json_put_literal(b, ",\"tid\":");
	json_put_u64(b, track);
	json_put_literal(b, ",\"ts\":");
	put_micros(b, ns);
	json_put_literal(b, ",\"cat\":");
	json_put_string(b, bytes_of(category));
	json_put_literal(b, ",\"name\":");
	json_put_string(b, name);
}

static void finish(struct perfetto *p)
{
	json_put_literal(&p->line, "}");
	if (!p->error)
		p->error = json_done(&p->line, 0);
	if (!p->error && fwrite(p->line.text, 1, p->line.length, p->out) != p->line.length)
		p->error = errno ? -errno : -EIO;
}

static void put_arguments(struct perfetto *p, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);
	struct json_buffer *b = &p->line;

	json_put_literal(b, ",\"args\":{\"seq\":");
	json_put_u64(b, e->seq);
	json_put_literal(b, ",\"what\":");
	json_put_string(b, message_of(&p->message, e));
	for (size_t i = 0; i < count; i++) {
		json_put_literal(b, ",\"");
		json_put(b, tags[i]->technique, strlen(tags[i]->technique));
		json_put_literal(b, "\":");
		json_put_string(b, bytes_of(tags[i]->reason));
	}
	json_put_literal(b, "}");
}

static void put_metadata(struct perfetto *p, uint64_t track, const char *what, const char *key,
			 const char *name)
{
	struct json_buffer *b = &p->line;

	begin(p, 'M', track, 0, "__metadata", bytes_of(what));
	json_put_literal(b, ",\"args\":{");
	json_put_string(b, bytes_of(key));
	json_put_literal(b, ":");
	json_put_string(b, bytes_of(name));
	json_put_literal(b, "}");
	finish(p);
}

static void put_names(struct perfetto *p, uint64_t track, const char *name)
{
	put_metadata(p, track, "process_name", "name", name);
	put_metadata(p, track, "thread_name", "name", name);
}

/* ---- tracks ---- */

static int grow(void **memory, size_t *room, size_t number, size_t size)
{
	size_t wanted = *room ? *room : 64;
	void *larger;

	if (number < *room)
		return 0;
	while (wanted <= number)
		wanted *= 2;
	larger = reallocarray(*memory, wanted, size);
	if (!larger)
		return -ENOMEM;
	memset((char *)larger + *room * size, 0, (wanted - *room) * size);
	*memory = larger;
	*room = wanted;
	return 0;
}

static uint64_t track_id(const struct perfetto *p, const struct track *t)
{
	return (uint64_t)(t - p->tracks) + SESSION_TRACK + 1;
}

/* The track of process @key, begun at @ns if it is new. NULL: none, or there are too many. */
static struct track *track_of(struct perfetto *p, struct bytes key, uint64_t pid, uint64_t ns,
			      bool fork_seen)
{
	size_t before = keymap_count(p->procs), number;
	struct track *t;
	int r = key.data ? keymap_add(p->procs, key, &number) : -ENOENT;

	if (!r)
		r = grow((void **)&p->tracks, &p->track_room, number, sizeof(*p->tracks));
	if (r) {
		p->left_out += r == -ENOSPC;
		p->error = r == -ENOMEM && !p->error ? r : p->error;
		return NULL;
	}
	t = &p->tracks[number];
	if (keymap_count(p->procs) > before)
		*t = (struct track){
			.start_ns = ns, .last_ns = ns, .fork_seen = fork_seen, .pid = pid};
	return t;
}

/* A moment of the track: never before the last one, or what is nested would overlap. */
static uint64_t moment_of(struct track *t, uint64_t ns)
{
	if (ns > t->last_ns)
		t->last_ns = ns;
	return t->last_ns;
}

static void put_span(struct perfetto *p, const struct track *t, const char *name, uint64_t from,
		     const char *more)
{
	begin(p, 'X', track_id(p, t), from, "process", bytes_of(name));
	json_put_literal(&p->line, ",\"dur\":");
	put_micros(&p->line, t->last_ns - from);
	json_put(&p->line, more, strlen(more));
	finish(p);
}

static void end_program(struct perfetto *p, struct track *t)
{
	if (t->has_program)
		put_span(p, t, t->name, t->program_ns, "");
	t->has_program = false;
}

static void end_track(struct perfetto *p, struct track *t, bool seen)
{
	char name[NAME_MAX_BYTES + 64], more[96];

	if (t->is_over)
		return;
	end_program(p, t);
	t->is_over = true;
	snprintf(name, sizeof(name), "%s (pid %" PRIu64 ")", t->name[0] ? t->name : "fork", t->pid);
	snprintf(more, sizeof(more), ",\"args\":{\"start_seen\":%s,\"end_seen\":%s}",
		 t->fork_seen ? "true" : "false", seen ? "true" : "false");
	put_span(p, t, "process", t->start_ns, more);
	put_names(p, track_id(p, t), name);
}

static void take_program(struct perfetto *p, struct track *t, const struct event *e, uint64_t ns)
{
	size_t cursor = 0;
	struct bytes first = event_bytes(e, FIELD_exe_path), text;

	ns = moment_of(t, ns);
	end_program(p, t);
	bytes_next_item(event_bytes(e, FIELD_argv), &cursor, &first);
	if (first.size && memrchr(first.data, '/', first.size)) {
		const char *base = (const char *)memrchr(first.data, '/', first.size) + 1;

		first.size -= (size_t)(base - (const char *)first.data);
		first.data = base;
	}
	text = message_text(&p->message, first);
	snprintf(t->name, sizeof(t->name), "%.*s", (int)text.size, (const char *)text.data);
	t->has_program = true;
	t->program_ns = ns;
}

/* ---- what events are told as ---- */

static void put_instant(struct perfetto *p, const struct event *e, uint64_t track, uint64_t ns)
{
	bool is_global = e->kind == EVENT_gap || e->kind == EVENT_session_end;

	begin(p, 'i', track, ns, event_class_names[kind_table[e->kind].class],
	      bytes_of(kind_table[e->kind].name));
	json_put_literal(&p->line, ",\"s\":\"");
	json_put(&p->line, is_global ? "g" : "t", 1);
	json_put_literal(&p->line, "\"");
	put_arguments(p, e);
	finish(p);
}

static void put_flow(struct perfetto *p, char phase, uint64_t track, uint64_t ns, uint64_t id)
{
	begin(p, phase, track, ns, "process", bytes_of("fork"));
	json_put_literal(&p->line, ",\"id\":");
	json_put_u64(&p->line, id);
	if (phase == 'f')
		json_put_literal(&p->line, ",\"bp\":\"e\"");
	finish(p);
}

static void take_fork(struct perfetto *p, const struct event *e, struct track *parent, uint64_t ns)
{
	uint64_t from = parent ? track_id(p, parent) : 0, at = parent ? moment_of(parent, ns) : ns;
	struct track *child = track_of(p, event_bytes(e, FIELD_child_proc),
				       event_u64(e, FIELD_child_pid, 0), at, true);

	if (!child || !from)
		return;
	put_flow(p, 's', from, at, e->seq);
	put_flow(p, 'f', track_id(p, child), moment_of(child, at), e->seq);
}

/* Connections overlap, so they are told by the cookie of their socket. */
static void put_connection(struct perfetto *p, char phase, size_t socket, uint64_t ns,
			   const struct event *e)
{
	begin(p, phase, SESSION_TRACK, ns, "connection", bytes_of("connection"));
	json_put_literal(&p->line, ",\"id\":");
	json_put_u64(&p->line, socket + 1);
	if (e)
		put_arguments(p, e);
	finish(p);
}

static void take_socket(struct perfetto *p, const struct event *e, uint64_t ns)
{
	const struct event_value *cookie = event_get(e, FIELD_socket);
	const struct event_value *result = event_get(e, FIELD_result);
	bool begins = e->kind == EVENT_net_connect || e->kind == EVENT_net_accept;
	size_t number;
	int r;

	if (!cookie || (!begins && e->kind != EVENT_net_close))
		return;
	if (begins && result && result->i64 < 0 && result->i64 != -EINPROGRESS)
		return;
	r = keymap_add(p->sockets, (struct bytes){&cookie->u64, sizeof(cookie->u64)}, &number);
	if (!r)
		r = grow((void **)&p->connected, &p->socket_room, number, sizeof(bool));
	if (r) {
		p->left_out += r == -ENOSPC;
		return;
	}
	if (p->connected[number] != begins)
		put_connection(p, begins ? 'b' : 'e', number, ns, e);
	p->connected[number] = begins;
}

static int perfetto_event(void *state, const struct event *e, const struct origin *origin,
			  bool wanted)
{
	struct perfetto *p = state;
	uint64_t ns = origin_elapsed(origin, e);
	struct track *t;

	p->last_ns = ns > p->last_ns ? ns : p->last_ns;
	if (!wanted || e->kind == EVENT_KIND_NONE || e->kind >= EVENT_KIND_COUNT)
		return p->error;
	t = track_of(p, event_bytes(e, FIELD_proc), event_u64(e, FIELD_pid, 0), ns, false);
	if (e->kind == EVENT_process_fork) {
		take_fork(p, e, t, ns);
		return p->error;
	}
	if (t && e->kind == EVENT_process_exec)
		take_program(p, t, e, ns);
	put_instant(p, e, t ? track_id(p, t) : SESSION_TRACK, t ? moment_of(t, ns) : ns);
	take_socket(p, e, ns);
	if (t && e->kind == EVENT_process_exit)
		end_track(p, t, true);
	return p->error;
}

static void perfetto_damage(void *state, const struct reader_damage *damage)
{
	struct perfetto *p = state;

	begin(p, 'i', SESSION_TRACK, p->last_ns, "session", bytes_of("damage"));
	json_put_literal(&p->line, ",\"s\":\"g\",\"args\":{\"after\":");
	json_put_u64(&p->line, damage->after_seq);
	json_put_literal(&p->line, ",\"what\":");
	json_put_string(&p->line, bytes_of(damage->why));
	json_put_literal(&p->line, "}");
	finish(p);
}

static int perfetto_end(void *state, enum view_end how)
{
	const char *text = view_end_text(how);
	struct perfetto *p = state;
	char name[64];

	for (size_t i = 0; i < keymap_count(p->procs); i++) {
		if (!p->tracks[i].is_over)
			moment_of(&p->tracks[i], p->last_ns);
		end_track(p, &p->tracks[i], false);
	}
	for (size_t i = 0; i < keymap_count(p->sockets); i++)
		if (p->connected && p->connected[i])
			put_connection(p, 'e', i, p->last_ns, NULL);
	snprintf(name, sizeof(name), "session %s", p->session);
	put_names(p, SESSION_TRACK, name);
	fprintf(p->out,
		"\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"session\":\"%s\",\"left_out\":"
		"\"%" PRIu64 "\",\"end\":\"%s\"}}\n",
		p->session, p->left_out, text ? text : "ended");
	return p->error ? p->error : ferror(p->out) ? -EIO : 0;
}

static int perfetto_begin(const struct view_options *options, void **ret_state)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->out = options->out;
	p->session = options->session;
	p->procs = keymap_new(TRACKS_MAX);
	p->sockets = keymap_new(TRACKS_MAX);
	r = message_open(&p->message);
	if (r < 0 || !p->procs || !p->sockets) {
		perfetto_free(p);
		return -ENOMEM;
	}
	fputs("{\"traceEvents\":[", p->out);
	*ret_state = p;
	return 0;
}

const struct view view_perfetto = {
	.begin = perfetto_begin,
	.event = perfetto_event,
	.damage = perfetto_damage,
	.end = perfetto_end,
	.free = perfetto_free,
};
