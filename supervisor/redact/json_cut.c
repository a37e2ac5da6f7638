/*
 * Redaction within a JSON value: what a reader of it would see is looked through, not how it is
 * written.
 */
#include "redactor.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

struct document {
	struct redactor *r;
	struct place place;
	bool is_changed;
	int error;
};

static bool is_utf8(struct bytes text)
{
	for (size_t cursor = 0; cursor < text.size;) {
		if (utf8_next(text, &cursor) < 0)
			return false;
	}
	return true;
}

static struct bytes marker_alone(struct document *d)
{
	char *room = arena_room(d->r->arena, MARKER_ROOM);

	if (!room) {
		d->error = -ENOMEM;
		return (struct bytes){"", 0};
	}
	return (struct bytes){room, redactor_marker(d->r, &d->r->spans.items[0], room)};
}

/* The text with its secrets cut out; @text itself if there are none. */
static struct bytes cut(struct document *d, struct bytes text)
{
	struct bytes result = text;

	if (!d->error)
		d->error = redactor_find(d->r, text);
	if (d->error || !d->r->spans.count)
		return text;
	d->error = redactor_count(d->r, d->place.field);
	if (d->error)
		return text;
	d->is_changed = true;
	d->error = redactor_cut(d->r, text, 0, text.size, &d->place, &result);
	/* A secret that ends within a character leaves half of it, which JSON cannot hold. */
	return is_utf8(result) ? result : marker_alone(d);
}

/* Each of these gives a value that is the caller's, or NULL with d->error. */
static json_t *rewrite(struct document *d, json_t *value);

static json_t *rewrite_string(struct document *d, json_t *value)
{
	struct bytes text =
		cut(d, (struct bytes){json_string_value(value), json_string_length(value)});

	if (text.data == json_string_value(value))
		return json_incref(value);
	return json_stringn(text.data, text.size);
}

static json_t *rewrite_number(struct document *d, json_t *value)
{
	char number[64];
	size_t size = json_dumpb(value, number, sizeof(number), JSON_ENCODE_ANY);
	struct bytes text = {number, size < sizeof(number) ? size : 0};
	struct bytes result = cut(d, text);

	return result.data == text.data ? json_incref(value)
					: json_stringn(result.data, result.size);
}

static json_t *rewrite_array(struct document *d, json_t *value)
{
	json_t *array = json_array(), *item;
	size_t i;

	json_array_foreach (value, i, item) {
		if (json_array_append_new(array, rewrite(d, item)))
			d->error = d->error ? d->error : -ENOMEM;
	}
	return array;
}

static json_t *rewrite_object(struct document *d, json_t *value)
{
	json_t *object = json_object(), *member;
	const char *key;

	json_object_foreach (value, key, member) {
		struct bytes name = cut(d, bytes_of(key));
		char *copy = arena_copy(d->r->arena, name.data, name.size);

		if (!copy || json_object_set_new(object, copy, rewrite(d, member)))
			d->error = d->error ? d->error : -ENOMEM;
	}
	return object;
}

static json_t *rewrite(struct document *d, json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return rewrite_string(d, value);
	case JSON_INTEGER:
	case JSON_REAL:
		return rewrite_number(d, value);
	case JSON_ARRAY:
		return rewrite_array(d, value);
	case JSON_OBJECT:
		return rewrite_object(d, value);
	default:
		return json_incref(value);
	}
}

/* The text of @value in the arena. */
static int write_down(struct redactor *r, const json_t *value, struct bytes *ret_text)
{
	struct json_buffer text = {0};
	char *copy = NULL;
	int error = json_write_value(&text, value);

	if (!error) {
		copy = arena_copy(r->arena, text.text, text.length);
		error = copy ? 0 : -ENOMEM;
	}
	if (!error)
		*ret_text = (struct bytes){copy, text.length};
	json_buffer_free(&text);
	return error;
}

/* A secret that is a piece of JSON itself, or a text that is none: all of it goes. */
static int cut_whole(struct redactor *r, struct bytes text, const struct place *place,
		     struct bytes *ret_text)
{
	struct bytes marker;
	char *quoted;

	r->spans.items[0].start = 0;
	r->spans.items[0].end = text.size;
	r->spans.count = 1;
	if (redactor_count(r, place->field) || redactor_cut(r, text, 0, text.size, place, &marker))
		return -ENOMEM;
	quoted = arena_room(r->arena, marker.size + 2);
	if (!quoted)
		return -ENOMEM;
	quoted[0] = '"';
	memcpy(quoted + 1, marker.data, marker.size);
	quoted[marker.size + 1] = '"';
	*ret_text = (struct bytes){quoted, marker.size + 2};
	return 0;
}

int redactor_cut_json(struct redactor *r, struct bytes text, enum event_field field,
		      struct bytes *ret_text)
{
	if (r->clean && clean_has(r->clean, field, text))
		return 0;

	struct document d = {.r = r, .place = {field, -1}};
	json_t *value = json_loadb(text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	json_t *result = value ? rewrite(&d, value) : NULL;
	struct bytes now = text;
	int error = d.error;

	if (!error && value && !result)
		error = -ENOMEM;
	if (!error && d.is_changed)
		error = write_down(r, result, &now);
	json_decref(value);
	json_decref(result);
	if (error)
		return error;

	error = redactor_find_exact(r, now);
	if (!error && r->spans.count)
		error = cut_whole(r, now, &d.place, &now);
	if (error)
		return error;
	if (r->clean && now.data == text.data)
		clean_keep(r->clean, field, text);
	*ret_text = now;
	return 0;
}
