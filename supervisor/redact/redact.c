/*
 * The stage itself: which fields are looked through, and what becomes of an event of which
 * something was cut. The steady state allocates nothing, and what holds no secret is not copied.
 */
#include "redact.h"
#include "redactor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 255
#define MARKS_MOST 64 /* of one event; the rest is counted */

void redactor_free(struct redactor *r)
{
	if (!r)
		return;
	streams_free(r->streams);
	asked_free(r->asked);
	secrets_free(r->secrets);
	shape_search_free(r->shapes);
	arena_free(r->arena);
	spans_free(&r->spans);
	spans_free(&r->across);
	spans_free(&r->named);
	json_buffer_free(&r->marks);
	json_buffer_free(&r->rules);
	json_buffer_free(&r->by_form);
	cuts_free(&r->cuts);
	free(r);
}

/* What may stand between the letters of a secret, all in all, for it to be found in a stream. */
#define BETWEEN_MOST (16 * 1024)

/* No more than this is held back of a stream, with the text that is needed before it. */
static size_t longest_held(const struct redactor *r)
{
	size_t longest = secrets_longest(r->secrets) + BETWEEN_MOST;

	if (!r->shapes)
		return longest;
	return longest + SHAPES_HELD_MOST + SHAPES_CONTEXT_MOST;
}

int redactor_new(const uint8_t key[32], const struct shapes *shapes,
		 const struct redact_secret *secrets, size_t count, struct redactor **ret_redactor)
{
	struct redactor *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	error = secrets_new(key, secrets, count, &r->secrets);
	if (!error && shapes)
		error = shape_search_new(shapes, &r->shapes);
	if (shapes)
		r->argument_rule = shapes_by_name(shapes, "argument");
	r->rule_count = count + (shapes ? shapes_count(shapes) : 0);
	if (!error)
		error = streams_new(longest_held(r), &r->streams);
	if (!error)
		error = asked_new(&r->asked);
	if (!error) {
		r->arena = arena_new();
		if (!r->arena)
			error = -ENOMEM;
	}
	if (error) {
		redactor_free(r);
		return error;
	}
	*ret_redactor = r;
	return 0;
}

int redactor_switch_off(struct redactor *r, const char *detector)
{
	const struct shapes *shapes;
	size_t number;

	if (!r->shapes)
		return 0;
	shapes = shape_search_shapes(r->shapes);
	number = shapes_by_name(shapes, detector);
	if (number == shapes_count(shapes))
		return -ENOENT;
	shape_search_switch_off(r->shapes, number);
	return 0;
}

void redactor_begin(struct redactor *r, const struct event *e)
{
	event_init(&r->record.event, e->kind, e->time_ns, e->boot_ns);
	r->record.event.seq = e->seq;
	r->marks.length = 0;
	r->mark_count = r->marks_left_out = 0;
}

int redactor_send(struct redactor *r, redact_emit *emit, void *context)
{
	struct event *e = &r->record.event;

	if (r->mark_count && kind_has_field(e->kind, FIELD_redacted)) {
		if (r->marks_left_out) {
			json_put_literal(&r->marks, ",{\"more\":");
			json_put_u64(&r->marks, r->marks_left_out);
			json_put_literal(&r->marks, "}");
		}
		json_put_literal(&r->marks, "]");
		if (json_done(&r->marks, 0))
			return -ENOMEM;
		event_put_bytes(e, FIELD_redacted, r->marks.text, r->marks.length);
	}
	return emit(context, &r->record);
}

static void put_mark(struct redactor *r, const struct place *place, const struct span *span,
		     size_t start, size_t length)
{
	const char *form = span_form(span);
	const char *field = field_table[place->field].name;
	const char *rule = redactor_rule(r, span->rule);

	if (r->mark_count == MARKS_MOST) {
		r->marks_left_out++;
		return;
	}
	json_put(&r->marks, r->mark_count++ ? "," : "[", 1);
	json_put_literal(&r->marks, "{\"field\":\"");
	json_put(&r->marks, field, strlen(field));
	json_put_literal(&r->marks, "\",\"rule\":\"");
	json_put(&r->marks, rule, strlen(rule));
	if (place->item >= 0) {
		json_put_literal(&r->marks, "\",\"item\":");
		json_put_i64(&r->marks, place->item);
	} else {
		json_put_literal(&r->marks, "\"");
	}
	json_put_literal(&r->marks, ",\"start\":");
	json_put_u64(&r->marks, start);
	json_put_literal(&r->marks, ",\"length\":");
	json_put_u64(&r->marks, length);
	json_put_literal(&r->marks, ",\"form\":\"");
	json_put(&r->marks, form, strlen(form));
	json_put_literal(&r->marks, "\"}");
}

/* The part of @span that lies between @from and @to; false if there is none. */
static bool part_of(const struct span *span, size_t from, size_t to, size_t *ret_start,
		    size_t *ret_end)
{
	*ret_start = span->start > from ? span->start : from;
	*ret_end = span->end < to ? span->end : to;
	return *ret_start < *ret_end;
}

int redactor_cut(struct redactor *r, struct bytes text, size_t from, size_t to,
		 const struct place *place, struct bytes *ret_text)
{
	const char *data = text.data;
	size_t size = to - from, at = from, start, end;
	char *out, *room;

	size += r->spans.count * MARKER_ROOM;
	room = out = arena_room(r->arena, size);
	if (!out)
		return -ENOMEM;

	for (size_t i = 0; i < r->spans.count; i++) {
		const struct span *span = &r->spans.items[i];

		if (!part_of(span, from, to, &start, &end))
			continue;
		out = mempcpy(out, data + at, start - at);
		out += redactor_marker(r, span, out);
		at = end;
		put_mark(r, place, span, start - from, end - start);
	}
	out = mempcpy(out, data + at, to - at);
	*ret_text = (struct bytes){room, (size_t)(out - room)};
	return 0;
}

void redactor_watch(struct redactor *r, redact_cut *cut, void *context)
{
	r->cut = cut;
	r->cut_context = context;
}

void redactor_share(struct redactor *r, struct clean *clean)
{
	r->clean = clean;
}

int redactor_count_span(struct redactor *r, const struct span *span, enum event_field field)
{
	size_t secrets = secrets_count(r->secrets);

	if (r->cut)
		r->cut(r->cut_context, span->rule < secrets ? 0 : span->rule - secrets + 1,
		       span->form && !strcmp(span->form, "budget"));
	return cuts_add(&r->cuts, span, field);
}

int redactor_count(struct redactor *r, enum event_field field)
{
	int error = 0;

	for (size_t i = 0; !error && i < r->spans.count; i++)
		error = redactor_count_span(r, &r->spans.items[i], field);
	return error;
}

int redactor_cut_begun(struct redactor *r, const struct begun *begun)
{
	return spans_merge(&r->spans, begun->span);
}

int redactor_add_begun(struct redactor *r, struct bytes text)
{
	struct begun begun;
	int error = secrets_begun(r->secrets, text, &begun);

	if (error || begun.start == text.size || !begun_is_certain(&begun))
		return error;
	return redactor_cut_begun(r, &begun);
}

/* What the names before and behind show of it. */
static int add_named(struct redactor *r)
{
	int error = 0;

	for (size_t i = 0; !error && i < r->named.count; i++)
		error = spans_merge(&r->spans, r->named.items[i]);
	return error;
}

static int cut_text(struct redactor *r, const struct event_value *value, struct bytes *ret_bytes)
{
	struct place place = {value->field, -1};
	bool is_ours = field_table[value->field].redact == REDACT_NEVER;
	int error = is_ours ? redactor_find_exact(r, value->bytes) : redactor_find(r, value->bytes);

	if (!error && value->field == FIELD_name)
		error = add_named(r);

	if (!error && value->is_cut)
		error = redactor_add_begun(r, value->bytes);

	if (error || !r->spans.count)
		return error;
	error = redactor_count(r, value->field);
	return error ? error
		     : redactor_cut(r, value->bytes, 0, value->bytes.size, &place, ret_bytes);
}

/* *ret_bytes changes only if something is cut. */
static int cut_value(struct redactor *r, const struct event_value *value, struct bytes *ret_bytes)
{
	switch (field_table[value->field].type) {
	case FIELD_TYPE_TEXT:
		return cut_text(r, value, ret_bytes);
	case FIELD_TYPE_TEXTS:
	case FIELD_TYPE_MAP:
		return redactor_cut_items(r, value, ret_bytes);
	case FIELD_TYPE_JSON:
		if (field_table[value->field].redact == REDACT_NEVER)
			return 0; /* numbers, and names that were made harmless */
		return redactor_cut_json(r, value->bytes, value->field, ret_bytes);
	default:
		return 0;
	}
}

/* Only these have bytes. */
static bool is_text(enum event_field field)
{
	enum field_type type = field_table[field].type;

	return type == FIELD_TYPE_TEXT || type == FIELD_TYPE_TEXTS || type == FIELD_TYPE_MAP ||
	       type == FIELD_TYPE_JSON;
}

/* An event that is whole by itself. */
static int pass_plain(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	bool is_changed = false;

	redactor_begin(r, e);
	for (size_t i = 0; i < e->count; i++) {
		struct event_value value = e->values[i];
		struct bytes bytes;
		int error;

		if (is_text(value.field)) {
			bytes = value.bytes;
			error = cut_value(r, &value, &bytes);
			if (error)
				return error;
			is_changed |= bytes.data != value.bytes.data;
			value.bytes = bytes;
		}
		event_put_value(&r->record.event, &value);
	}
	return is_changed ? redactor_send(r, emit, context) : redactor_pass(e, emit, context);
}

int redactor_pass_named(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	return pass_plain(r, e, emit, context);
}

static bool asks_for_name(const struct event *e)
{
	size_t size = event_bytes(e, FIELD_name).size;

	return (e->kind == EVENT_dns_query || e->kind == EVENT_dns_answer) && size &&
	       size <= NAME_MOST;
}

int redact_event(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	if (!secrets_count(r->secrets) && !r->shapes)
		return redactor_pass(e, emit, context);
	arena_reset(r->arena);
	if (event_get(e, FIELD_data))
		return streams_pass(r, e, emit, context);
	if (secrets_count(r->secrets) && asks_for_name(e))
		return asked_pass(r, e, emit, context);
	return pass_plain(r, e, emit, context);
}

int redact_flush(struct redactor *r, uint64_t now_ns, redact_emit *emit, void *context)
{
	int error = asked_flush(r, now_ns, emit, context);

	return error ? error : streams_flush(r, now_ns, emit, context);
}

struct redact_held redact_held(const struct redactor *r)
{
	return (struct redact_held){
		.output_bytes = streams_held(r->streams, EVENT_output),
		.input_bytes = streams_held(r->streams, EVENT_input),
		.names = asked_held(r->asked),
	};
}

int redact_end(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	return streams_end(r, e, emit, context);
}

/* {"RULE":COUNT,...}; the sum in *ret_total. */
static void write_rules(struct redactor *r, uint64_t *ret_total)
{
	uint64_t total = 0;

	r->rules.length = 0;
	json_put_literal(&r->rules, "{");
	for (size_t i = 0; i < r->rule_count; i++) {
		uint64_t count = cuts_of_rule(&r->cuts, (uint32_t)i);

		if (!count)
			continue;
		if (total)
			json_put_literal(&r->rules, ",");
		json_put_string(&r->rules, bytes_of(redactor_rule(r, (uint32_t)i)));
		json_put_literal(&r->rules, ":");
		json_put_u64(&r->rules, count);
		total += count;
	}
	json_put_literal(&r->rules, "}");
	*ret_total = total;
}

/* [{"rule","field","form","count"},...] */
static void write_cuts(struct redactor *r)
{
	struct json_buffer *out = &r->by_form;

	out->length = 0;
	for (size_t i = 0; i < r->cuts.count; i++) {
		const struct cut *cut = &r->cuts.items[i];

		json_put(out, i ? "," : "[", 1);
		json_put_literal(out, "{\"rule\":");
		json_put_string(out, bytes_of(redactor_rule(r, cut->rule)));
		json_put_literal(out, ",\"field\":");
		json_put_string(out, bytes_of(field_table[cut->field].name));
		json_put_literal(out, ",\"form\":");
		json_put_string(out, bytes_of(cut->form));
		json_put_literal(out, ",\"count\":");
		json_put_u64(out, cut->count);
		json_put_literal(out, "}");
	}
	json_put_literal(out, "]");
}

bool redact_summary(struct redactor *r, struct event *ret_event)
{
	uint64_t total;

	write_rules(r, &total);
	if (!total)
		return false;
	write_cuts(r);
	event_init(ret_event, EVENT_redact_summary, 0, 0);
	if (!json_done(&r->rules, 0))
		event_put_bytes(ret_event, FIELD_rules, r->rules.text, r->rules.length);
	event_put_u64(ret_event, FIELD_count, total);
	if (!json_done(&r->by_form, 0))
		event_put_bytes(ret_event, FIELD_cuts, r->by_form.text, r->by_form.length);
	return true;
}

void redact_digest(struct redactor *r, const void *data, size_t size,
		   uint8_t ret_digest[EVENT_DIGEST_SIZE])
{
	secrets_digest(r->secrets, (struct bytes){data, size}, ret_digest);
}
