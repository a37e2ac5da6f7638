/*
 * Events out of JSON: the canonical line, and the objects in which other processes hand fields
 * over. The grammar is jansson's; what the members mean is in event.def.
 */
#include "arena.h"
#include "base64.h"
#include "json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_arena {
	struct arena *memory;
	struct json_buffer text; /* scratch for packed lists and canonical values */
	char error[160];
};

struct json_arena *json_arena_new(void)
{
	struct json_arena *arena = calloc(1, sizeof(*arena));

	if (arena)
		arena->memory = arena_new();
	if (arena && arena->memory)
		return arena;
	free(arena);
	return NULL;
}

void json_arena_free(struct json_arena *arena)
{
	if (!arena)
		return;
	arena_free(arena->memory);
	json_buffer_free(&arena->text);
	free(arena);
}

const char *json_arena_error(const struct json_arena *arena)
{
	return arena->error;
}

__attribute__((format(printf, 2, 3))) static int refuse(struct json_arena *arena,
							const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(arena->error, sizeof(arena->error), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* The members that say one field: its value and what stands beside it. */
struct members {
	json_t *value, *b64, *truncated, *length, *digest;
	size_t count;
};

static const char *const sibling_suffixes[] = {"_b64", "_truncated", "_length", "_digest"};

static bool is_sibling(const char *key)
{
	size_t length = strlen(key);

	for (size_t i = 0; i < sizeof(sibling_suffixes) / sizeof(sibling_suffixes[0]); i++) {
		size_t its = strlen(sibling_suffixes[i]);

		if (length > its && !memcmp(key + length - its, sibling_suffixes[i], its))
			return true;
	}
	return false;
}

/* Most events have none in @object or in a group of it, and then none is looked for. */
static bool has_siblings(const json_t *object, bool in_groups)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value)
		if (is_sibling(key) ||
		    (in_groups && json_is_object(value) && has_siblings(value, false)))
			return true;
	return false;
}

static json_t *member(const json_t *object, const char *name, const char *suffix,
		      struct members *found)
{
	size_t length = strlen(name), its = strlen(suffix);
	char key[96];
	json_t *value;

	if (length + its >= sizeof(key))
		return NULL;
	memcpy(key, name, length);
	memcpy(key + length, suffix, its + 1);
	value = json_object_get(object, key);
	if (!value)
		return NULL;
	found->count++;
	return json_is_null(value) ? NULL : value;
}

static struct members members_of(const json_t *object, const char *name, bool with_siblings)
{
	struct members found = {0};

	found.value = member(object, name, "", &found);
	if (!with_siblings)
		return found;
	found.b64 = member(object, name, "_b64", &found);
	found.truncated = member(object, name, "_truncated", &found);
	found.length = member(object, name, "_length", &found);
	found.digest = member(object, name, "_digest", &found);
	return found;
}

/* The members of @field in @object: within its group's object, or side by side with all others. */
static struct members find_members(const json_t *object, enum event_field field, bool with_siblings)
{
	const char *name = field_table[field].name, *dot = strchr(name, '.');
	struct members found = members_of(object, name, with_siblings);
	char group[64] = "";

	if (found.count || !dot || (size_t)(dot - name) >= sizeof(group))
		return found;
	memcpy(group, name, (size_t)(dot - name));
	object = json_object_get(object, group);
	return json_is_object(object) ? members_of(object, dot + 1, with_siblings) : found;
}

/* An integer of 0 or more, or the string of digits that stands for one past 2^63 - 1. */
static bool get_u64(const json_t *value, uint64_t *ret_number)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);
	uint64_t number = 0;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret_number = (uint64_t)json_integer_value(value);
		return true;
	}
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
			return false;
	}
	*ret_number = number;
	return length;
}

static int scratch_append(struct json_arena *arena, const void *data, size_t size)
{
	return json_write_raw(&arena->text, data, size);
}

static int append_base64(struct json_arena *arena, const json_t *b64)
{
	size_t length = json_string_length(b64);
	char *data = arena_room(arena->memory, length + 1);
	ssize_t size;

	if (!data)
		return -ENOMEM;
	size = base64_decode(json_string_value(b64), length, data);
	if (size < 0)
		return refuse(arena, "not base64");
	return scratch_append(arena, data, (size_t)size);
}

/* Append the bytes that @value stands for; @b64, if there is one, is the exact form. */
static int append_bytes(struct json_arena *arena, const json_t *value, const json_t *b64)
{
	if (!b64 && json_is_object(value) && json_object_size(value) == 1)
		b64 = json_object_get(value, "b64");
	if (json_is_string(b64))
		return append_base64(arena, b64);
	if (b64 || !json_is_string(value))
		return refuse(arena, "not a text");
	return scratch_append(arena, json_string_value(value), json_string_length(value));
}

/* As append_bytes, closed by a NUL; there may be none inside. */
static int append_item(struct json_arena *arena, const json_t *value, const json_t *b64)
{
	size_t from = arena->text.length;
	int r = append_bytes(arena, value, b64);

	if (r)
		return r;
	if (arena->text.length > from &&
	    memchr(arena->text.text + from, 0, arena->text.length - from))
		return refuse(arena, "a NUL in an item of a list");
	return scratch_append(arena, "", 1);
}

static int append_texts(struct json_arena *arena, const struct members *found)
{
	size_t i;
	json_t *item;

	if (!json_is_array(found->value) || (found->b64 && !json_is_array(found->b64)))
		return refuse(arena, "not an array");
	json_array_foreach (found->value, i, item) {
		json_t *b64 = json_array_get(found->b64, i);
		int r = append_item(arena, item, json_is_null(b64) ? NULL : b64);

		if (r)
			return r;
	}
	return 0;
}

static int append_map(struct json_arena *arena, const struct members *found)
{
	const char *key;
	json_t *value;
	int r;

	if (found->b64)
		return append_bytes(arena, NULL, found->b64);
	if (!json_is_object(found->value))
		return refuse(arena, "not an object");
	json_object_foreach (found->value, key, value) {
		r = scratch_append(arena, key, strlen(key) + 1);
		if (!r)
			r = append_item(arena, value, NULL);
		if (r)
			return r;
	}
	return 0;
}

static int put_bytes(struct json_arena *arena, struct event *e, enum event_field field,
		     const struct members *found)
{
	size_t size;
	void *copy;
	int r;

	arena->text.length = 0;
	if (field_table[field].type == FIELD_TYPE_TEXT)
		r = append_bytes(arena, found->value, found->b64);
	else if (field_table[field].type == FIELD_TYPE_TEXTS)
		r = append_texts(arena, found);
	else if (field_table[field].type == FIELD_TYPE_MAP)
		r = append_map(arena, found);
	else
		r = json_write_value(&arena->text, found->value);
	if (r)
		return r;

	size = arena->text.length;
	copy = arena_copy(arena->memory, arena->text.text, size);
	if (!copy)
		return -ENOMEM;
	event_put_bytes(e, field, copy, size);
	return 0;
}

static int put_value(struct json_arena *arena, struct event *e, enum event_field field,
		     const struct members *found)
{
	uint64_t number;

	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
		if (!get_u64(found->value, &number))
			return refuse(arena, "not a number of 0 or more");
		event_put_u64(e, field, number);
		return 0;
	case FIELD_TYPE_I64:
		if (!json_is_integer(found->value))
			return refuse(arena, "not a number");
		event_put_i64(e, field, json_integer_value(found->value));
		return 0;
	case FIELD_TYPE_BOOL:
		if (!json_is_boolean(found->value))
			return refuse(arena, "neither true nor false");
		event_put_bool(e, field, json_is_true(found->value));
		return 0;
	default:
		return put_bytes(arena, e, field, found);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_digest(const json_t *value, uint8_t *ret_digest)
{
	const char *text = json_string_value(value);

	if (json_string_length(value) != 2 * EVENT_DIGEST_SIZE)
		return false;
	for (size_t i = 0; i < 2 * EVENT_DIGEST_SIZE; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return false;
		ret_digest[i / 2] = (uint8_t)(ret_digest[i / 2] << 4 | digit);
	}
	return true;
}

static int put_cut(struct json_arena *arena, struct event *e, enum event_field field,
		   const struct members *found)
{
	uint8_t digest[EVENT_DIGEST_SIZE] = {0};
	uint64_t length;

	if (!found->truncated && !found->length && !found->digest)
		return 0;
	if (!json_is_true(found->truncated) || !get_u64(found->length, &length) ||
	    (found->digest && !get_digest(found->digest, digest)) ||
	    field_table[field].type < FIELD_TYPE_TEXT)
		return refuse(arena, "does not say rightly that it was cut");
	event_mark_cut(e, field, length, found->digest ? digest : NULL);
	return 0;
}

static int put_field(struct json_arena *arena, struct event *e, enum event_field field,
		     const struct members *found)
{
	char why[sizeof(arena->error)];
	int r;

	if (found->value) {
		r = put_value(arena, e, field, found);
		if (!r)
			r = put_cut(arena, e, field, found);
	} else if (found->b64 || found->truncated || found->length || found->digest) {
		r = refuse(arena, "has no value");
	} else {
		return 0;
	}
	if (r != -EINVAL)
		return r;
	memcpy(why, arena->error, sizeof(why));
	return refuse(arena, "%s: %.100s", field_table[field].name, why);
}

static bool is_group(enum event_kind kind, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < kind_table[kind].field_count; i++) {
		const char *field = field_table[kind_table[kind].fields[i]].name;

		if (!strncmp(field, name, length) && field[length] == '.')
			return true;
	}
	return false;
}

/* Members that fields of @kind can account for: those of @object and of the groups in it. */
static size_t count_members(const json_t *object, enum event_kind kind)
{
	size_t count = 0;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value)
		count += json_is_object(value) && is_group(kind, key) ? json_object_size(value) : 1;
	return count;
}

/* Put the fields; @others members of @object are no fields. */
static int put_fields(struct json_arena *arena, const json_t *object, size_t others,
		      struct event *e)
{
	const struct kind_info *kind = &kind_table[e->kind];
	bool with_siblings = has_siblings(object, true);
	size_t count = others;

	for (size_t i = 0; i < kind->field_count; i++) {
		struct members found = find_members(object, kind->fields[i], with_siblings);
		int r = put_field(arena, e, kind->fields[i], &found);

		if (r)
			return r;
		count += found.count;
	}
	if (count != count_members(object, e->kind))
		return refuse(arena, "a field that %s does not have", kind->name);
	return 0;
}

int event_from_json(struct json_arena *arena, json_t *fields, struct event *e)
{
	arena_reset(arena->memory);
	arena->error[0] = 0;
	if (!json_is_object(fields))
		return refuse(arena, "not an object");
	return put_fields(arena, fields, 0, e);
}

static bool get_number(const char *text, size_t length, uint64_t *ret_number)
{
	*ret_number = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*ret_number = *ret_number * 10 + (uint64_t)(text[i] - '0');
	}
	return true;
}

static uint64_t days_before_year(uint64_t year)
{
	year--;
	return year * 365 + year / 4 - year / 100 + year / 400;
}

/* A time as json_put_time writes it. */
static bool get_time(const json_t *value, uint64_t *ret_ns)
{
	static const uint16_t before_month[] = {0,   31,  59,  90,  120, 151,
						181, 212, 243, 273, 304, 334};
	const char *text = json_string_value(value);
	uint64_t year, month, day, hour, minute, second, ns;
	bool is_leap;

	if (json_string_length(value) != 30 || text[4] != '-' || text[7] != '-' ||
	    text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != '.' ||
	    text[29] != 'Z')
		return false;
	if (!get_number(text, 4, &year) || !get_number(text + 5, 2, &month) ||
	    !get_number(text + 8, 2, &day) || !get_number(text + 11, 2, &hour) ||
	    !get_number(text + 14, 2, &minute) || !get_number(text + 17, 2, &second) ||
	    !get_number(text + 20, 9, &ns))
		return false;
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
	    minute > 59 || second > 59)
		return false;

	is_leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
	day += before_month[month - 1] + (is_leap && month > 2) - 1;
	day += days_before_year(year) - days_before_year(1970);
	second += (day * 24 + hour) * 3600 + minute * 60;
	return !__builtin_mul_overflow(second, UINT64_C(1000000000), ret_ns) &&
	       !__builtin_add_overflow(*ret_ns, ns, ret_ns);
}

#define HEAD_MEMBERS 5 /* seq, session, time, boot_ns, kind */

static int read_line(struct json_arena *arena, const json_t *line, struct event *e,
		     const char **ret_session)
{
	const json_t *session = json_object_get(line, "session");
	const char *kind_name = json_string_value(json_object_get(line, "kind"));
	enum event_kind kind = kind_name ? kind_by_name(kind_name) : EVENT_KIND_NONE;
	uint64_t seq, time_ns, boot_ns;
	const char *copy;
	int r;

	if (kind == EVENT_KIND_NONE)
		return refuse(arena, "kind: not one that this version knows");
	if (!get_u64(json_object_get(line, "seq"), &seq))
		return refuse(arena, "seq: not a number of 0 or more");
	if (!get_u64(json_object_get(line, "boot_ns"), &boot_ns))
		return refuse(arena, "boot_ns: not a number of 0 or more");
	if (!get_time(json_object_get(line, "time"), &time_ns))
		return refuse(arena, "time: not a time in UTC with 9 decimals");
	if (!json_is_string(session) ||
	    strlen(json_string_value(session)) != json_string_length(session))
		return refuse(arena, "session: not a text");

	copy = arena_copy(arena->memory, json_string_value(session), json_string_length(session));
	if (!copy)
		return -ENOMEM;
	event_init(e, kind, time_ns, boot_ns);
	e->seq = seq;
	r = put_fields(arena, line, HEAD_MEMBERS, e);
	if (!r)
		*ret_session = copy;
	return r;
}

int json_read_event(struct json_arena *arena, const char *line, size_t length,
		    struct event *ret_event, const char **ret_session, const char **ret_error)
{
	json_error_t error;
	json_t *object;
	int r;

	arena_reset(arena->memory);
	arena->error[0] = 0;
	object = json_loadb(line, length, JSON_ALLOW_NUL, &error);
	if (!object && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	if (!object)
		r = refuse(arena, "not JSON: %.100s", error.text);
	else if (!json_is_object(object))
		r = refuse(arena, "not an object");
	else
		r = read_line(arena, object, ret_event, ret_session);
	json_decref(object);
	if (r == -EINVAL)
		*ret_error = arena->error;
	return r;
}
