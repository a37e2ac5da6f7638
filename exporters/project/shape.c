/*
 * Writes rows as nested objects.
 */
#include "shape.h"

#include "../../supervisor/record/printable.h"

#include <string.h>

/* ---- objects ---- */

/* Length of the part of @path that names objects: up to its last dot, that included. */
static size_t objects_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? (size_t)(dot - path) + 1 : 0;
}

/* How many bytes of whole components @a and @b share at their beginning. */
static size_t shared(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t whole = 0;

	for (size_t i = 0; i < a_length && i < b_length && a[i] == b[i]; i++)
		if (a[i] == '.')
			whole = i + 1;
	return whole;
}

static void close_objects(struct shape *s, size_t keep)
{
	for (size_t i = keep; i < s->open_length; i++)
		if (s->open[i] == '.') {
			json_put_literal(s->out, "}");
			s->has_member = true;
		}
	s->open_length = keep;
}

static void put_key(struct shape *s, const char *name, size_t length)
{
	if (s->has_member)
		json_put_literal(s->out, ",");
	s->has_member = true;
	json_put_literal(s->out, "\"");
	json_put(s->out, name, length);
	json_put_literal(s->out, "\":");
}

/* Leave the objects that @path is not in, enter those that it is, and write its key. */
static void enter(struct shape *s, const char *path)
{
	size_t length = objects_of(path);
	size_t from = shared(s->open, s->open_length, path, length);

	close_objects(s, from);
	while (from < length) {
		size_t end = from + strcspn(path + from, ".");

		put_key(s, path + from, end - from);
		json_put_literal(s->out, "{");
		s->has_member = false;
		from = end + 1;
	}
	s->open = path;
	s->open_length = length;
	put_key(s, path + length, strlen(path + length));
}

void shape_begin(struct shape *s, struct json_buffer *out, const struct projected *p)
{
	*s = (struct shape){.out = out, .p = p, .open = ""};
	json_put_literal(out, "{");
}

int shape_end(struct shape *s, size_t start)
{
	close_objects(s, 0);
	json_put_literal(s->out, "}\n");
	return json_done(s->out, start);
}

/* ---- values ---- */

static bool put_items(struct json_buffer *out, struct bytes packed)
{
	bool is_whole = true;
	struct bytes item;
	size_t cursor = 0;

	json_put_literal(out, "[");
	while (bytes_next_item(packed, &cursor, &item)) {
		is_whole &= json_put_string(out, item);
		if (cursor < packed.size)
			json_put_literal(out, ",");
	}
	json_put_literal(out, "]");
	return is_whole;
}

/* Returns false where the value is not carried whole. */
static bool put_value(struct json_buffer *out, const struct event_value *value, bool as_text)
{
	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		if (as_text && value->u64 <= INT64_MAX)
			json_put_literal(out, "\"");
		json_put_u64(out, value->u64);
		if (as_text && value->u64 <= INT64_MAX)
			json_put_literal(out, "\"");
		/* A schema that wants a number gets none past 2^63: the canonical form has it. */
		return true;
	case FIELD_TYPE_I64:
		if (as_text)
			json_put_literal(out, "\"");
		json_put_i64(out, value->i64);
		if (as_text)
			json_put_literal(out, "\"");
		return true;
	case FIELD_TYPE_BOOL:
		json_put(out, value->u64 ? "true" : "false", value->u64 ? 4 : 5);
		return true;
	case FIELD_TYPE_TEXT:
		return json_put_string(out, value->bytes);
	case FIELD_TYPE_TEXTS:
		return put_items(out, value->bytes);
	case FIELD_TYPE_MAP:
	case FIELD_TYPE_JSON:
		json_put_string(out, value->bytes);
		return false;
	}
	return false;
}

/* A number that does not fit where numbers are signed is not written: the rest has it. */
static bool fits(const struct event_value *value, enum shape_source source)
{
	return field_table[value->field].type != FIELD_TYPE_U64 || value->u64 <= INT64_MAX ||
	       source == SHAPE_TEXT;
}

static void put_field(struct shape *s, const struct shape_row *row)
{
	const struct event_value *value = event_get(s->p->event, row->field);
	bool is_whole;

	if (!value || !fits(value, row->source))
		return;
	enter(s, row->path);
	if (row->source == SHAPE_ARRAY1)
		json_put_literal(s->out, "[");
	is_whole = put_value(s->out, value, row->source == SHAPE_TEXT);
	if (row->source == SHAPE_ARRAY1)
		json_put_literal(s->out, "]");
	if (is_whole && !value->is_cut)
		s->carried[row->field / 64] |= UINT64_C(1) << row->field % 64;
}

static void put_call(struct shape *s, const struct shape_row *row)
{
	struct shape before = *s;
	size_t length = s->out->length;

	if (row->field && !event_get(s->p->event, row->field))
		return;
	enter(s, row->path);
	if (row->call(s->out, s->p, row->field))
		return;
	s->out->length = s->out->failed ? s->out->length : length;
	s->open = before.open;
	s->open_length = before.open_length;
	s->has_member = before.has_member;
}

void shape_rows(struct shape *s, const struct shape_row *rows)
{
	for (; rows && rows->path; rows++) {
		switch (rows->source) {
		case SHAPE_FIELD:
		case SHAPE_TEXT:
		case SHAPE_ARRAY1:
			put_field(s, rows);
			break;
		case SHAPE_CALL:
			put_call(s, rows);
			break;
		case SHAPE_WORD:
			shape_word(s, rows->path, rows->text);
			break;
		case SHAPE_JSON:
			enter(s, rows->path);
			json_put(s->out, rows->text, strlen(rows->text));
		}
	}
}

void shape_word(struct shape *s, const char *path, const char *text)
{
	enter(s, path);
	json_put_string(s->out, bytes_of(text));
}

void shape_u64(struct shape *s, const char *path, uint64_t number)
{
	enter(s, path);
	json_put_u64(s->out, number);
}

void shape_rest(struct shape *s, const char *path)
{
	const struct event *e = s->p->event;
	struct event rest;

	event_init(&rest, e->kind, e->time_ns, e->boot_ns);
	rest.seq = e->seq;
	for (size_t i = 0; i < e->count; i++) {
		uint16_t field = e->values[i].field;

		if (!(s->carried[field / 64] >> field % 64 & 1))
			event_put_value(&rest, &e->values[i]);
	}
	enter(s, path);
	if (json_write_event(s->out, s->p->session, &rest) < 0)
		s->out->failed = true;
	else
		s->out->length--; /* the end of its line */
}

/* ---- values that several projections make ---- */

bool shape_put_uid(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	char text[PROJECTED_UID_ROOM];
	size_t length = projected_uid(p, text);

	(void)field;
	return json_put_string(out, (struct bytes){text, length});
}

static bool is_plain(struct bytes word)
{
	const char *text = word.data;

	for (size_t i = 0; i < word.size; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= 'A' && text[i] <= 'Z') &&
		    !(text[i] >= '0' && text[i] <= '9') && !strchr("_@%+=:,./-", text[i]))
			return false;
	return word.size > 0 && !memchr(text, 0, word.size);
}

static void put_quoted(struct json_buffer *out, struct bytes word)
{
	json_put_literal(out, "'");
	for (size_t cursor = 0; cursor < word.size;) {
		int32_t code = utf8_next(word, &cursor);

		if (code == '\'')
			json_put_literal(out, "'\\\\''");
		else
			json_put_code(out, code);
	}
	json_put_literal(out, "'");
}

bool shape_put_command_line(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	struct bytes packed = event_bytes(p->event, field), word;
	size_t cursor = 0;

	json_put_literal(out, "\"");
	for (bool first = true; bytes_next_item(packed, &cursor, &word); first = false) {
		if (!first)
			json_put_literal(out, " ");
		if (is_plain(word))
			json_put(out, word.data, word.size);
		else
			put_quoted(out, word);
	}
	json_put_literal(out, "\"");
	return packed.size > 0;
}

bool shape_put_base_name(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	struct bytes path = event_bytes(p->event, field);
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	size_t from = slash ? (size_t)(slash + 1 - (const char *)path.data) : 0;

	if (from >= path.size) {
		json_put_string(out, path); /* the root, or a name that ends with a slash */
		return true;
	}
	json_put_string(out, (struct bytes){(const char *)path.data + from, path.size - from});
	return true;
}

bool shape_put_time(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	(void)field;
	json_put_time(out, p->event->time_ns);
	return true;
}
