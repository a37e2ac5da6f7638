/*
 * Lists: secrets are looked for in the list as a whole, for they may be split over its items; each
 * item is cut for itself, so that no border between two is ever cut away. What an option makes of
 * the argument behind it, only the list shows.
 */
#include "arguments.h"
#include "detector.h"
#include "redactor.h"

#include <errno.h>
#include <string.h>

/* Make one list of its items again. */
static int pack_items(struct redactor *r, const struct bytes *items, size_t count,
		      struct bytes *ret_packed)
{
	size_t size = 0;
	char *out, *room;

	for (size_t i = 0; i < count; i++)
		size += items[i].size + 1;
	room = out = arena_room(r->arena, size);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		out = mempcpy(out, items[i].data, items[i].size);
		*out++ = 0;
	}
	*ret_packed = (struct bytes){room, size};
	return 0;
}

static int unpack_items(struct redactor *r, struct bytes packed, struct bytes **ret_items,
			size_t *ret_count)
{
	size_t cursor = 0, count = 0;
	struct bytes item, *items;

	while (bytes_next_item(packed, &cursor, &item))
		count++;
	items = arena_room(r->arena, count * sizeof(*items));
	if (!items)
		return -ENOMEM;
	cursor = 0;
	for (size_t i = 0; bytes_next_item(packed, &cursor, &item); i++)
		items[i] = item;
	*ret_items = items;
	*ret_count = count;
	return 0;
}

/* The list as one text: what parts its items is no letter, so a secret may go over any of them. */
static int find_across(struct redactor *r, struct bytes packed, enum event_field field)
{
	int error = secrets_find(r->secrets, packed, &r->across);

	for (size_t i = 0; !error && i < r->across.count; i++)
		error = redactor_count_span(r, &r->across.items[i], field);
	return error;
}

/* Put into r->spans what of r->across lies in @item, which stands at @offset of all. */
static int take_across(struct redactor *r, struct bytes item, size_t offset)
{
	size_t to = offset + item.size;

	r->spans.count = 0;
	for (size_t i = 0; i < r->across.count; i++) {
		struct span span = r->across.items[i];
		int error;

		if (span.end <= offset || span.start >= to)
			continue;
		span.is_partial = span.start < offset || span.end > to;
		span.start = span.start > offset ? span.start - offset : 0;
		span.end = span.end < to ? span.end - offset : item.size;
		error = spans_add(&r->spans, span);
		if (error)
			return error;
	}
	return 0;
}

/* Secrets were counted for the whole list. */
static int count_shapes(struct redactor *r, enum event_field field)
{
	int error = 0;

	for (size_t i = 0; !error && i < r->spans.count; i++) {
		if (r->spans.items[i].rule >= secrets_count(r->secrets))
			error = redactor_count_span(r, &r->spans.items[i], field);
	}
	return error;
}

static int add_begun(struct redactor *r, struct bytes item, enum event_field field)
{
	size_t before = r->spans.count;
	int error = redactor_add_begun(r, item);

	if (!error && r->spans.count > before)
		error = redactor_count_span(r, &r->spans.items[before], field);
	return error;
}

static int add_argument(struct redactor *r, const struct bytes *items, size_t count, size_t i)
{
	size_t start, end;

	if (!r->shapes || shape_search_is_off(r->shapes, r->argument_rule) ||
	    !argument_is_secret(items, count, i, &start, &end))
		return 0;
	return redactor_add_shape(r, items[i], start, end, r->argument_rule, "field");
}

int redactor_cut_items(struct redactor *r, const struct event_value *value, struct bytes *ret_bytes)
{
	bool is_argv = field_table[value->field].redact == REDACT_ARGV;
	bool is_ours = field_table[value->field].redact == REDACT_NEVER;
	struct place place = {value->field, 0};
	struct bytes *items = NULL, *results;
	size_t count = 0, offset = 0;
	bool is_changed = false;
	int error = unpack_items(r, value->bytes, &items, &count);

	results = error ? NULL : arena_room(r->arena, count * sizeof(*items));
	if (!results)
		return -ENOMEM;
	error = find_across(r, value->bytes, value->field);
	for (size_t i = 0; !error && i < count; offset += items[i++].size + 1) {
		results[i] = items[i];
		error = take_across(r, items[i], offset);
		if (!error && !is_ours)
			error = redactor_add_shapes(r, items[i]);
		if (!error && value->is_cut && i == count - 1)
			error = add_begun(r, items[i], value->field);
		if (!error && is_argv)
			error = add_argument(r, items, count, i);
		if (error || !r->spans.count)
			continue;
		place.item = (int64_t)i;
		error = count_shapes(r, value->field);
		if (error)
			break;
		error = redactor_cut(r, items[i], 0, items[i].size, &place, &results[i]);
		is_changed = true;
	}
	if (error)
		return error;
	return is_changed ? pack_items(r, results, count, ret_bytes) : 0;
}
