/*
 * The streams of one command. Each is a relay and its count of what was kept.
 */
#include "exec_relays.h"

#include "../redact/redact.h"
#include "clock.h"
#include "recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELAY_PRIORITY 10 /* behind rings and requests */

static const struct {
	const char *name;
	enum event_kind kind;
	enum event_field total, kept; /* FIELD_NONE for input */
} stream_table[EXEC_STREAM_COUNT] = {
	[EXEC_STDIN] = {"stdin", EVENT_input, FIELD_NONE, FIELD_NONE},
	[EXEC_STDOUT] = {"stdout", EVENT_output, FIELD_stdout_total, FIELD_stdout_kept},
	[EXEC_STDERR] = {"stderr", EVENT_output, FIELD_stderr_total, FIELD_stderr_kept},
	[EXEC_TTY_INPUT] = {"tty", EVENT_input, FIELD_NONE, FIELD_NONE},
	[EXEC_TTY_OUTPUT] = {"tty", EVENT_output, FIELD_tty_total, FIELD_tty_kept},
};

struct stream {
	struct exec_relays *owner;
	struct relay *relay;
	enum exec_stream which;
	uint64_t offered;  /* bytes that record_piece was given */
	uint64_t recorded; /* bytes that record_piece has emitted */
	uint64_t written;  /* bytes of which the rest is with the redactor, or in the file */
	uint64_t counted;  /* bytes that budgets know */
	uint64_t kept;
	bool truncated;
};

struct exec_relays {
	struct exec_relays_options options;
	struct stream streams[EXEC_STREAM_COUNT];
	bool is_discarding;
	struct output_budget budget;
	bool is_ending; /* exec_relays_finish was called */
	void (*finished)(void *context);
	void *context;
};

/* ---- totals ---- */

void exec_totals_add(struct exec_totals *to, const struct exec_totals *from)
{
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		to->streams[i].is_there |= from->streams[i].is_there;
		to->streams[i].total += from->streams[i].total;
		to->streams[i].kept += from->streams[i].kept;
	}
	to->truncated |= from->truncated;
	to->detached += from->detached;
}

void exec_totals_put(const struct exec_totals *totals, struct event *e)
{
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		if (!totals->streams[i].is_there || !stream_table[i].total)
			continue;
		event_put_u64(e, stream_table[i].total, totals->streams[i].total);
		event_put_u64(e, stream_table[i].kept, totals->streams[i].kept);
	}
	if (totals->truncated)
		event_put_bool(e, FIELD_output_truncated, true);
	if (totals->detached > 0)
		event_put_u64(e, FIELD_detached_writers, totals->detached);
}

struct exec_totals exec_relays_totals(const struct exec_relays *e)
{
	struct exec_totals totals = {0};

	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		const struct stream *s = &e->streams[i];

		if (!s->relay)
			continue;
		totals.streams[i].is_there = true;
		totals.streams[i].total = relay_total(s->relay);
		totals.streams[i].kept = s->kept;
		totals.truncated |= s->truncated && stream_table[i].kind == EVENT_output;
		totals.detached += relay_is_detached(s->relay);
	}
	return totals;
}

/* ---- recording ---- */

static int emit_piece(struct stream *s, struct bytes piece, uint64_t offset)
{
	const struct exec_relays_options *o = &s->owner->options;
	uint64_t left = o->output_cap - s->kept;
	size_t keep = piece.size < left ? piece.size : left;

	if (o->output == OUTPUT_NONE)
		return 0;
	if (o->output == OUTPUT_FULL && keep < piece.size)
		s->truncated = true;
	if (o->output == OUTPUT_FULL && keep == 0)
		return 0;

	struct event *e = recording_begin(o->recording, stream_table[s->which].kind);
	event_put_u64(e, FIELD_exec, o->exec);
	event_put_text(e, FIELD_stream, stream_table[s->which].name);
	event_put_u64(e, FIELD_offset, offset);
	if (o->output == OUTPUT_FULL)
		event_put_bytes(e, FIELD_data, piece.data, keep);
	else
		event_put_u64(e, FIELD_size, piece.size);
	int r = recording_emit(o->recording, e);
	if (r == 0 && o->output == OUTPUT_FULL)
		s->kept += keep;
	return r;
}

static bool is_output(const struct stream *s)
{
	return stream_table[s->which].kind == EVENT_output;
}

static bool is_cut(const struct exec_relays *e)
{
	return e->budget.is_over || e->options.session->is_over;
}

/* What is written past the limit waits for the end that is coming, and is left there. */
static bool has_to_wait(const struct stream *s)
{
	return is_cut(s->owner) && !s->owner->is_ending && is_output(s);
}

/* True when this is what takes it past its limit. */
static bool spend(struct output_budget *budget, uint64_t bytes)
{
	budget->written += bytes;
	if (budget->is_over || !budget->limit || budget->written <= budget->limit)
		return false;
	budget->is_over = true;
	return true;
}

/* The piece that takes output past its limit is the last one. */
static void count_output(struct stream *s, uint64_t end)
{
	struct exec_relays *e = s->owner;
	uint64_t bytes = end - s->counted;

	if (!is_output(s) || end <= s->counted)
		return;
	s->counted = end;
	if (spend(&e->budget, bytes))
		e->options.over_limit(e->options.context, false);
	if (spend(e->options.session, bytes))
		e->options.over_limit(e->options.context, true);
}

/*
 * A piece may be offered again after the journal failed: what was emitted once is not emitted a
 * second time, but it is not relayed before it is in the file.
 */
static int record_piece(void *context, struct bytes piece, uint64_t offset)
{
	struct stream *s = context;
	struct recording *recording = s->owner->options.recording;

	if (s->offered < offset + piece.size) {
		s->offered = offset + piece.size;
		recording_tell_taken(recording);
	}
	if (recording_gave_up(recording)) {
		s->truncated = true;
		s->written = s->recorded = s->offered;
		return 0;
	}
	if (recording_is_waiting(recording) || has_to_wait(s))
		return -EAGAIN;

	if (s->recorded < offset + piece.size) {
		recording_drain(recording);
		int r = emit_piece(s, piece, offset);
		if (r < 0)
			return r;
		s->recorded = offset + piece.size;
	}
	int r = recording_commit(recording);
	if (r < 0)
		return r;
	s->written = s->recorded;
	recording_tell_written(recording);
	count_output(s, offset + piece.size);
	return 0;
}

/* ---- delivering it redacted ---- */

int exec_relays_deliver(struct exec_relays *e, struct bytes name, struct bytes data)
{
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		const struct stream *s = &e->streams[i];
		const char *its = stream_table[i].name;

		if (s->relay && is_output(s) && strlen(its) == name.size &&
		    !memcmp(its, name.data, name.size))
			return relay_put(s->relay, data);
	}
	return 0;
}

static int deliver(void *context, const struct redacted *record)
{
	return exec_relays_deliver(context, event_bytes(&record->event, FIELD_stream),
				   event_bytes(&record->event, FIELD_data));
}

/* It goes through a redactor of its own, because all of it is delivered, whatever is recorded. */
static int change_piece(void *context, const struct bytes *piece, uint64_t offset)
{
	struct stream *s = context;
	const struct exec_relays_options *o = &s->owner->options;
	struct event e;

	event_init(&e, EVENT_output, 0, clock_ns(CLOCK_BOOTTIME));
	event_put_u64(&e, FIELD_exec, o->exec);
	event_put_text(&e, FIELD_stream, stream_table[s->which].name);
	event_put_u64(&e, FIELD_offset, offset);
	if (!piece)
		return redact_end(o->delivery, &e, deliver, s->owner);
	event_put_bytes(&e, FIELD_data, piece->data, piece->size);
	return redact_event(o->delivery, &e, deliver, s->owner);
}

void exec_relays_waiting(const struct exec_relays *e, uint64_t *ret_output, uint64_t *ret_input)
{
	*ret_output = *ret_input = 0;
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		const struct stream *s = &e->streams[i];

		*(is_output(s) ? ret_output : ret_input) += s->offered - s->written;
	}
}

int exec_relays_resize(struct exec_relays *x, uint64_t columns, uint64_t rows)
{
	struct event *e = recording_begin(x->options.recording, EVENT_input);

	event_put_u64(e, FIELD_exec, x->options.exec);
	event_put_text(e, FIELD_stream, "tty");
	event_put_u64(e, FIELD_columns, columns);
	event_put_u64(e, FIELD_rows, rows);
	return recording_emit(x->options.recording, e);
}

/* ---- life ---- */

int exec_relays_new(const struct exec_relays_options *options, struct exec_relays **ret_relays)
{
	struct exec_relays *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;

	e->options = *options;
	e->budget.limit = options->output_limit;
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		e->streams[i].owner = e;
		e->streams[i].which = i;
	}
	*ret_relays = e;
	return 0;
}

void exec_relays_free(struct exec_relays *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++)
		relay_free(e->streams[i].relay);
	free(e);
}

uint32_t exec_relays_exec(const struct exec_relays *e)
{
	return e->options.exec;
}

static void finish_if_done(struct exec_relays *e)
{
	if (!e->finished)
		return;
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++)
		if (e->streams[i].relay && !relay_is_done(e->streams[i].relay))
			return;

	void (*finished)(void *) = e->finished;
	e->finished = NULL;
	finished(e->context);
}

/* Who closes its output is about to end: what it did is taken before there is more to do. */
static void on_done(void *context)
{
	struct stream *s = context;

	if (!s->owner->is_ending && is_output(s))
		recording_drain(s->owner->options.recording);
	finish_if_done(s->owner);
}

int exec_relays_add(struct exec_relays *e, enum exec_stream stream, int from, int to)
{
	struct stream *s = &e->streams[stream];

	if (s->relay) {
		close(from);
		if (to >= 0)
			close(to);
		return -EEXIST;
	}
	if (e->is_discarding && is_output(s) && to >= 0) {
		close(to);
		to = -1;
	}
	return relay_new(
		&(struct relay_options){
			.loop = e->options.loop,
			.priority = RELAY_PRIORITY,
			.from = from,
			.to = to,
			.record = record_piece,
			.change = e->options.delivery && is_output(s) ? change_piece : NULL,
			.done = on_done,
			.context = s,
		},
		&s->relay);
}

void exec_relays_resume(struct exec_relays *e)
{
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++)
		if (e->streams[i].relay)
			relay_resume(e->streams[i].relay);
}

void exec_relays_discard(struct exec_relays *e)
{
	e->is_discarding = true;
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++)
		if (e->streams[i].relay && is_output(&e->streams[i]))
			relay_discard(e->streams[i].relay);
}

void exec_relays_finish(struct exec_relays *e, void (*finished)(void *context), void *context)
{
	bool cut = is_cut(e);

	e->is_ending = true;
	for (size_t i = 0; i < EXEC_STREAM_COUNT; i++) {
		struct stream *s = &e->streams[i];

		s->truncated |= cut && is_output(s);
		if (s->relay && is_output(s) && !cut)
			relay_finish(s->relay);
		else if (s->relay)
			relay_stop(s->relay);
	}
	e->finished = finished;
	e->context = context;
	finish_if_done(e);
}

bool exec_relays_is_finishing(const struct exec_relays *e)
{
	return e->finished != NULL;
}
