/*
 * The canonical line of an event.
 */
#include "json_put.h"

#include <string.h>

/* The name of a field in its table row, taken apart. */
struct field_name {
	struct bytes group; /* before the dot; empty where there is none */
	struct bytes leaf;
};

static struct field_name name_of(enum event_field field)
{
	const char *name = field_table[field].name, *dot = strchr(name, '.');
	size_t length = strlen(name);

	if (!dot)
		return (struct field_name){.group = {name, 0}, .leaf = {name, length}};
	return (struct field_name){
		.group = {name, (size_t)(dot - name)},
		.leaf = {dot + 1, length - (size_t)(dot + 1 - name)},
	};
}

struct line {
	struct json_buffer *out;
	struct bytes group;   /* the object that is open */
	bool is_first_member; /* of that object */
};

static void put_name(struct line *line, struct bytes leaf, const char *suffix)
{
	if (!line->is_first_member)
		json_put_literal(line->out, ",");
	line->is_first_member = false;
	json_put_literal(line->out, "\"");
	json_put(line->out, leaf.data, leaf.size);
	json_put(line->out, suffix, strlen(suffix));
	json_put_literal(line->out, "\":");
}

static void enter_group(struct line *line, struct bytes group)
{
	if (group.size == line->group.size && !memcmp(group.data, line->group.data, group.size))
		return;
	if (line->group.size) {
		json_put_literal(line->out, "}");
		line->is_first_member = false;
	}
	if (group.size) {
		put_name(line, group, "");
		json_put_literal(line->out, "{");
		line->is_first_member = true;
	}
	line->group = group;
}

static void put_text(struct line *line, struct bytes leaf, struct bytes text)
{
	put_name(line, leaf, "");
	if (json_put_string(line->out, text))
		return;
	put_name(line, leaf, "_b64");
	json_put_base64(line->out, text);
}

static bool is_utf8(struct json_buffer *out, struct bytes text)
{
	size_t start = out->length;
	bool is_whole = json_put_string(out, text);

	out->length = start;
	return is_whole;
}

static void put_texts(struct line *line, struct bytes leaf, struct bytes packed)
{
	struct json_buffer *out = line->out;
	struct bytes item;
	bool is_whole = true;
	size_t cursor = 0;

	put_name(line, leaf, "");
	json_put_literal(out, "[");
	while (bytes_next_item(packed, &cursor, &item)) {
		is_whole &= json_put_string(out, item);
		if (cursor < packed.size)
			json_put_literal(out, ",");
	}
	json_put_literal(out, "]");
	if (is_whole)
		return;

	put_name(line, leaf, "_b64");
	json_put_literal(out, "[");
	cursor = 0;
	while (bytes_next_item(packed, &cursor, &item)) {
		if (is_utf8(out, item))
			json_put_literal(out, "null");
		else
			json_put_base64(out, item);
		if (cursor < packed.size)
			json_put_literal(out, ",");
	}
	json_put_literal(out, "]");
}

#define MAP_KEYS_COMPARED 32

/* True if @key stands in the first @end bytes of @packed, or they are too many to look through. */
static bool is_key_before(struct bytes packed, size_t end, struct bytes key)
{
	struct bytes before = {packed.data, end}, other, value;
	size_t cursor = 0;

	for (int i = 0; bytes_next_item(before, &cursor, &other); i++) {
		bytes_next_item(before, &cursor, &value);
		if (i == MAP_KEYS_COMPARED ||
		    (other.size == key.size && !memcmp(other.data, key.data, key.size)))
			return true;
	}
	return false;
}

static void put_map(struct line *line, struct bytes leaf, struct bytes packed)
{
	struct bytes key, value;
	bool is_whole = true;
	size_t cursor = 0, from = 0;

	put_name(line, leaf, "");
	json_put_literal(line->out, "{");
	while (bytes_next_item(packed, &cursor, &key)) {
		if (is_whole && is_key_before(packed, from, key))
			is_whole = false;
		is_whole &= json_put_string(line->out, key);
		json_put_literal(line->out, ":");
		if (bytes_next_item(packed, &cursor, &value)) {
			is_whole &= json_put_string(line->out, value);
		} else {
			json_put_literal(line->out, "null");
			is_whole = false;
		}
		if (cursor < packed.size)
			json_put_literal(line->out, ",");
		from = cursor;
	}
	json_put_literal(line->out, "}");
	if (is_whole)
		return;
	put_name(line, leaf, "_b64");
	json_put_base64(line->out, packed);
}

static void put_json(struct line *line, struct bytes leaf, struct bytes json)
{
	put_name(line, leaf, "");
	if (!json_put_text(line->out, json))
		json_put_string(line->out, json);
}

static void put_cut(struct line *line, struct bytes leaf, const struct event_cut *cut)
{
	put_name(line, leaf, "_truncated");
	json_put_literal(line->out, "true");
	put_name(line, leaf, "_length");
	json_put_u64(line->out, cut->full_length);
	if (!cut->has_digest)
		return;
	put_name(line, leaf, "_digest");
	json_put_hex(line->out, cut->digest, EVENT_DIGEST_SIZE);
}

static void put_value(struct line *line, const struct event_value *value)
{
	struct field_name name = name_of(value->field);

	enter_group(line, name.group);
	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		put_name(line, name.leaf, "");
		json_put_u64(line->out, value->u64);
		break;
	case FIELD_TYPE_I64:
		put_name(line, name.leaf, "");
		json_put_i64(line->out, value->i64);
		break;
	case FIELD_TYPE_BOOL:
		put_name(line, name.leaf, "");
		json_put(line->out, value->u64 ? "true" : "false", value->u64 ? 4 : 5);
		break;
	case FIELD_TYPE_TEXT:
		put_text(line, name.leaf, value->bytes);
		break;
	case FIELD_TYPE_TEXTS:
		put_texts(line, name.leaf, value->bytes);
		break;
	case FIELD_TYPE_MAP:
		put_map(line, name.leaf, value->bytes);
		break;
	case FIELD_TYPE_JSON:
		put_json(line, name.leaf, value->bytes);
	}
	if (value->is_cut)
		put_cut(line, name.leaf, &value->cut);
}

static void put_fields(struct line *line, const struct event *e)
{
	const struct kind_info *kind = &kind_table[e->kind];

	for (size_t i = 0; i < kind->field_count; i++) {
		const struct event_value *value = event_get(e, kind->fields[i]);

		if (value)
			put_value(line, value);
	}
	enter_group(line, (struct bytes){"", 0});
}

int json_write_event(struct json_buffer *buffer, const char *session, const struct event *e)
{
	struct line line = {.out = buffer, .group = {"", 0}};
	const struct kind_info *kind = &kind_table[e->kind];
	size_t start = buffer->length;

	json_put_literal(buffer, "{\"seq\":");
	json_put_u64(buffer, e->seq);
	json_put_literal(buffer, ",\"session\":");
	json_put_string(buffer, (struct bytes){session, strlen(session)});
	json_put_literal(buffer, ",\"time\":");
	json_put_time(buffer, e->time_ns);
	json_put_literal(buffer, ",\"boot_ns\":");
	json_put_u64(buffer, e->boot_ns);
	json_put_literal(buffer, ",\"kind\":\"");
	json_put(buffer, kind->name, strlen(kind->name));
	json_put_literal(buffer, "\"");
	put_fields(&line, e);
	json_put_literal(buffer, "}\n");
	return json_done(buffer, start);
}

int json_write_fields(struct json_buffer *buffer, const char *session, const struct event *e)
{
	struct line line = {.out = buffer, .group = {"", 0}};
	size_t start = buffer->length;

	json_put_literal(buffer, "{\"session\":");
	json_put_string(buffer, (struct bytes){session, strlen(session)});
	put_fields(&line, e);
	json_put_literal(buffer, "}");
	return json_done(buffer, start);
}
