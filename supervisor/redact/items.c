/*
 * Lists: each item is looked through on its own, so that no border between two is ever cut away;
 * then what only the list shows: a secret that was split over arguments, and what an option before
 * it makes of an argument.
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

/* Put into r->across what stands in the items without what parts them. */
static int find_across(struct redactor *r, const struct bytes *items, size_t count, size_t size)
{
	char *joined, *out;

	r->across.count = 0;
	if (count < 2 || !secrets_count(r->secrets))
		return 0;
	joined = out = arena_room(r->arena, size);
	if (!joined)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out = mempcpy(out, items[i].data, items[i].size);
	return secrets_find(r->secrets, (struct bytes){joined, (size_t)(out - joined)}, &r->across);
}

/* Of r->across what lies in @item, which stands at @offset of all items, and goes over its ends. */
static int add_across(struct redactor *r, struct bytes item, size_t offset)
{
	for (size_t i = 0; i < r->across.count; i++) {
		struct span span = r->across.items[i];
		int error;

		if (span.end <= offset || span.start >= offset + item.size ||
		    (span.start >= offset && span.end <= offset + item.size))
			continue;
		span.start = span.start > offset ? span.start - offset : 0;
		span.end = span.end < offset + item.size ? span.end - offset : item.size;
		span.is_partial = true;
		error = spans_merge(&r->spans, span);
		if (error)
			return error;
	}
	return 0;
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
	struct place place = {value->field, 0};
	struct bytes *items = NULL, *results;
	size_t count = 0, offset = 0;
	bool is_changed = false;
	int error = unpack_items(r, value->bytes, &items, &count);

	results = error ? NULL : arena_room(r->arena, count * sizeof(*items));
	if (!results)
		return -ENOMEM;
	error = find_across(r, items, count, value->bytes.size);
	for (size_t i = 0; !error && i < count; offset += items[i++].size) {
		results[i] = items[i];
		error = redactor_find(r, items[i]);
		if (!error && value->is_cut && i == count - 1)
			error = redactor_add_begun(r, items[i]);
		if (!error)
			error = add_across(r, items[i], offset);
		if (!error && is_argv)
			error = add_argument(r, items, count, i);
		if (error || !r->spans.count)
			continue;
		redactor_count(r);
		place.item = (int64_t)i;
		error = redactor_cut(r, items[i], 0, items[i].size, &place, &results[i]);
		is_changed = true;
	}
	if (error)
		return error;
	return is_changed ? pack_items(r, results, count, ret_bytes) : 0;
}
