/*
 * Streams of output and input: a secret may be split over any number of pieces.
 *
 * What could be the beginning of a secret is held back until it is clear. If it stays unclear, one
 * or two letters are given out after REDACT_HOLD_NS, for a prompt has to show; more than that are
 * cut after REDACT_HOLD_MOST_NS, or when more lies between them than there is room for. What was
 * given out or cut still counts: if the secret goes on, the rest of it is cut. So of a secret that
 * is written one byte a minute, less than BEGUN_LEAST can be seen.
 */
#include "redactor.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MOST 64
#define NAME_MOST 16

struct stream {
	uint64_t exec;
	uint16_t kind; /* 0: not in use */
	char name[NAME_MOST];
	uint64_t last_used;
	bool has_offset;
	uint64_t offset;	   /* of the first byte that is kept, in its stream */
	uint64_t time_ns, boot_ns; /* of the oldest byte that was not given out */
	size_t kept;		   /* bytes that may be the beginning of a secret */
	size_t given;		   /* so many of them were given out */
	bool was_marked;	   /* what was given out of them began a secret that was counted */
	uint8_t *bytes;
};

struct streams {
	size_t room; /* of each stream */
	uint64_t uses;
	uint8_t *joined; /* what was kept and what came, side by side */
	size_t joined_room;
	struct stream streams[STREAMS_MOST];
};

int streams_new(size_t room, struct streams **ret_streams)
{
	struct streams *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->room = room;
	*ret_streams = s;
	return 0;
}

void streams_free(struct streams *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < STREAMS_MOST; i++) {
		if (s->streams[i].bytes)
			OPENSSL_cleanse(s->streams[i].bytes, s->room);
		free(s->streams[i].bytes);
	}
	if (s->joined)
		OPENSSL_cleanse(s->joined, s->joined_room);
	free(s->joined);
	free(s);
}

/* A stretch of the text in hand that becomes one record. */
struct piece {
	size_t from, to;
	uint64_t time_ns, boot_ns;
	bool has_size; /* the event had a size: so has the piece */
	const struct event_cut *cut;
};

static bool holds_span(const struct redactor *r, const struct piece *piece)
{
	for (size_t i = 0; i < r->spans.count; i++) {
		const struct span *span = &r->spans.items[i];

		if (span->start < piece->to && span->end > piece->from)
			return true;
	}
	return false;
}

static int send_piece(struct redactor *r, const struct stream *stream, struct bytes text,
		      const struct piece *piece, redact_emit *emit, void *context)
{
	const struct place place = {FIELD_data, -1};
	struct event head;
	struct event *e = &r->record.event;
	struct bytes data = {(const char *)text.data + piece->from, piece->to - piece->from};
	bool has_span = holds_span(r, piece);

	event_init(&head, stream->kind, piece->time_ns, piece->boot_ns);
	redactor_begin(r, &head);
	if (has_span && redactor_cut(r, text, piece->from, piece->to, &place, &data))
		return -ENOMEM;
	if (stream->exec)
		event_put_u64(e, FIELD_exec, stream->exec);
	event_put_text(e, FIELD_stream, stream->name);
	if (stream->has_offset)
		event_put_u64(e, FIELD_offset, stream->offset + piece->from);
	event_put_bytes(e, FIELD_data, data.data, data.size);
	if (piece->cut)
		event_mark_cut(e, FIELD_data, piece->cut->full_length,
			       piece->cut->has_digest ? piece->cut->digest : NULL);
	if (has_span || piece->has_size)
		event_put_u64(e, FIELD_size, piece->to - piece->from);
	return redactor_send(r, emit, context);
}

/* Count the spans that are given out up to @to for the first time. */
static int count(struct redactor *r, const struct stream *stream, size_t to)
{
	int error = 0;

	for (size_t i = 0; !error && i < r->spans.count; i++) {
		const struct span *span = &r->spans.items[i];

		if (span->start < to && span->end > stream->given &&
		    (span->start >= stream->given || !stream->was_marked))
			error = redactor_count_span(r, span, FIELD_data);
	}
	return error;
}

/* Keep of @text what is behind @from; @given says how much of the text was given out. */
static void keep(struct stream *stream, struct bytes text, size_t from, size_t given)
{
	memmove(stream->bytes, (const uint8_t *)text.data + from, text.size - from);
	stream->kept = text.size - from;
	stream->given = given > from ? given - from : 0;
	stream->was_marked &= stream->given > 0;
	stream->offset += from;
}

/* Keep of @text the letters alone that began a secret: there is no room for what lies between. */
static void keep_letters(struct stream *stream, struct bytes text, const struct begun *begun)
{
	uint64_t next = stream->offset + text.size;

	stream->was_marked = begun_has_to_wait(begun);
	memcpy(stream->bytes, begun->prefix.data, begun->prefix.size);
	stream->kept = stream->given = begun->prefix.size;
	stream->offset = next - stream->kept;
}

/* A secret that was found goes out whole, even if its end may begin another one. */
static size_t end_of_piece(const struct redactor *r, size_t held)
{
	const struct span *over = spans_over(&r->spans, held);

	return over ? over->end : held;
}

/* Put into r->spans what goes of @text, which waited until @now_ns; *ret_to: what goes out of it.
 */
static int judge_held(struct redactor *r, const struct stream *stream, struct bytes text,
		      uint64_t now_ns, size_t *ret_to)
{
	bool is_final = now_ns - stream->boot_ns >= REDACT_HOLD_MOST_NS;
	struct begun begun;
	size_t to = text.size;
	int error = redactor_find(r, text);

	if (!error)
		error = secrets_begun(r->secrets, text, &begun);
	if (error)
		return error;
	if (begun.letters >= BEGUN_LEAST && !is_final)
		to = begun.start;
	else if (begun.letters && begun_is_certain(&begun))
		error = redactor_cut_begun(r, &begun);
	*ret_to = end_of_piece(r, to);
	return error;
}

static int flush_stream(struct redactor *r, struct stream *stream, uint64_t now_ns,
			redact_emit *emit, void *context)
{
	struct bytes text = {stream->bytes, stream->kept};
	struct piece piece = {
		.from = stream->given,
		.time_ns = stream->time_ns,
		.boot_ns = stream->boot_ns,
	};
	int error;

	if (stream->given == stream->kept)
		return 0;
	error = judge_held(r, stream, text, now_ns, &piece.to);
	if (error || piece.to <= stream->given)
		return error;
	error = count(r, stream, piece.to);
	if (error)
		return error;
	stream->was_marked |= r->spans.count;
	stream->given = piece.to;
	return send_piece(r, stream, text, &piece, emit, context);
}

static void forget(struct stream *stream)
{
	stream->kept = stream->given = 0;
	stream->was_marked = false;
}

static bool is_stream(const struct stream *stream, const struct event *e, struct bytes name)
{
	return stream->kind == e->kind && stream->exec == event_u64(e, FIELD_exec, 0) &&
	       strlen(stream->name) == name.size && !memcmp(stream->name, name.data, name.size);
}

/* The stream of @e; if it is new, the one that was not used for the longest time makes way. */
static int find_stream(struct redactor *r, const struct event *e, redact_emit *emit, void *context,
		       struct stream **ret_stream)
{
	struct bytes name = event_bytes(e, FIELD_stream);
	struct streams *s = r->streams;
	struct stream *oldest = &s->streams[0];
	int error;

	if (name.size >= NAME_MOST)
		return -EINVAL;
	s->uses++;
	for (size_t i = 0; i < STREAMS_MOST; i++) {
		struct stream *stream = &s->streams[i];

		if (is_stream(stream, e, name)) {
			stream->last_used = s->uses;
			*ret_stream = stream;
			return 0;
		}
		if (stream->last_used < oldest->last_used)
			oldest = stream;
	}
	error = oldest->kind ? flush_stream(r, oldest, UINT64_MAX, emit, context) : 0;
	if (error)
		return error;
	if (!oldest->bytes)
		oldest->bytes = malloc(s->room);
	if (!oldest->bytes)
		return -ENOMEM;
	forget(oldest);
	oldest->kind = e->kind;
	oldest->exec = event_u64(e, FIELD_exec, 0);
	oldest->last_used = s->uses;
	memset(oldest->name, 0, sizeof(oldest->name));
	if (name.size)
		memcpy(oldest->name, name.data, name.size);
	*ret_stream = oldest;
	return 0;
}

/* What was kept and what came, as one text; what came alone if nothing was kept. */
static int join(struct streams *s, const struct stream *stream, struct bytes data,
		struct bytes *ret_text)
{
	size_t size = stream->kept + data.size;
	uint8_t *larger;

	if (!stream->kept) {
		*ret_text = data;
		return 0;
	}
	if (size > s->joined_room) {
		larger = malloc(size);
		if (!larger)
			return -ENOMEM;
		if (s->joined)
			OPENSSL_cleanse(s->joined, s->joined_room);
		free(s->joined);
		s->joined = larger;
		s->joined_room = size;
	}
	memcpy(mempcpy(s->joined, stream->bytes, stream->kept), data.data, data.size);
	*ret_text = (struct bytes){s->joined, size};
	return 0;
}

/*
 * Give out @text from what was given of it before up to @to: what was kept with its own time, what
 * came with the event's. A secret goes with its beginning.
 */
static int give_out(struct redactor *r, const struct stream *stream, const struct event *e,
		    struct bytes text, size_t to, redact_emit *emit, void *context)
{
	const struct event_value *value = event_get(e, FIELD_data);
	const struct event_cut *cut = value->is_cut ? &value->cut : NULL;
	bool has_size = event_get(e, FIELD_size);
	size_t border = stream->kept < to ? stream->kept : to;
	const struct span *over = spans_over(&r->spans, border);
	int error = 0;

	if (over && stream->given < border)
		border = over->end < to ? over->end : to;
	if (stream->given < border) {
		struct piece piece = {stream->given,   border,	 stream->time_ns,
				      stream->boot_ns, has_size, border == to ? cut : NULL};

		error = send_piece(r, stream, text, &piece, emit, context);
	}
	if (border < stream->given)
		border = stream->given;
	if (!error && border < to) {
		struct piece piece = {border, to, e->time_ns, e->boot_ns, has_size, cut};

		error = send_piece(r, stream, text, &piece, emit, context);
	}
	return error;
}

/* What of @text may go out now, and what has to be kept. */
static int judge(struct redactor *r, const struct event_value *value, struct bytes text,
		 struct unfinished *rest)
{
	int error;

	if (!value->is_cut)
		return redactor_find_begun(r, text, rest);
	/* Nothing follows. */
	*rest = (struct unfinished){{.start = text.size}, text.size, text.size};
	error = redactor_find(r, text);
	return error ? error : redactor_add_begun(r, text);
}

/* The time of what is held: of the oldest of it. */
static void set_time(struct stream *stream, const struct event *e, bool is_all_new)
{
	if (!is_all_new)
		return;
	stream->time_ns = e->time_ns;
	stream->boot_ns = e->boot_ns;
}

static int pass(struct redactor *r, struct stream *stream, const struct event *e, redact_emit *emit,
		void *context)
{
	size_t to, kept = stream->kept, room = r->streams->room;
	struct unfinished rest;
	struct bytes text;
	bool is_far;
	int error = join(r->streams, stream, event_get(e, FIELD_data)->bytes, &text);

	if (!error)
		error = judge(r, event_get(e, FIELD_data), text, &rest);
	if (error)
		return error;
	is_far = text.size - rest.begun.start > room;
	if (text.size - rest.held > room) {
		error = redactor_cut_begun(r, &rest.begun);
		rest.held = text.size;
	}
	if (text.size - rest.context > room)
		rest.context = rest.held;
	if (kept == stream->given && !r->spans.count && rest.held == text.size) {
		to = text.size;
		error = redactor_pass(e, emit, context);
	} else {
		to = end_of_piece(r, rest.held);
		if (!error)
			error = count(r, stream, to);
		if (!error)
			error = give_out(r, stream, e, text, to, emit, context);
		if (to < stream->given)
			to = stream->given;
		set_time(stream, e, to >= kept);
	}
	if (is_far)
		keep_letters(stream, text, &rest.begun);
	else
		keep(stream, text, rest.context, to);
	return error;
}

/* True if the piece at @offset (NULL: it has none) comes right behind what is kept. */
static bool follows(const struct stream *stream, const struct event_value *offset)
{
	if (!offset || !stream->has_offset)
		return !offset && !stream->has_offset;
	return offset->u64 == stream->offset + stream->kept;
}

int streams_pass(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	const struct event_value *offset = event_get(e, FIELD_offset);
	struct stream *stream;
	int error = find_stream(r, e, emit, context, &stream);

	if (error)
		return error;
	if (stream->kept && !follows(stream, offset)) {
		error = flush_stream(r, stream, UINT64_MAX, emit, context);
		if (error)
			return error;
		forget(stream);
	}
	stream->has_offset = offset;
	if (!stream->kept)
		stream->offset = offset ? offset->u64 : 0;
	return pass(r, stream, e, emit, context);
}

int streams_end(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	struct bytes name = event_bytes(e, FIELD_stream);

	for (size_t i = 0; i < STREAMS_MOST; i++) {
		struct stream *stream = &r->streams->streams[i];

		if (!is_stream(stream, e, name))
			continue;
		arena_reset(r->arena);
		return flush_stream(r, stream, UINT64_MAX, emit, context);
	}
	return 0;
}

int streams_flush(struct redactor *r, uint64_t now_ns, redact_emit *emit, void *context)
{
	struct streams *s = r->streams;

	for (size_t i = 0; i < STREAMS_MOST; i++) {
		struct stream *stream = &s->streams[i];
		int error;

		if (!stream->kind || stream->given == stream->kept ||
		    now_ns < stream->boot_ns + REDACT_HOLD_NS)
			continue;
		arena_reset(r->arena);
		error = flush_stream(r, stream, now_ns, emit, context);
		if (error)
			return error;
	}
	return 0;
}

uint64_t streams_held(const struct streams *s, enum event_kind kind)
{
	uint64_t held = 0;

	for (size_t i = 0; i < STREAMS_MOST; i++)
		if (s->streams[i].kind == kind)
			held += s->streams[i].kept - s->streams[i].given;
	return held;
}
