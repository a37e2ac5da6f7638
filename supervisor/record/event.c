/*
 * The tables that are made from event.def, and the values of one event. Nothing here allocates.
 */
#include "event.h"

#include <assert.h>
#include <string.h>

const struct field_info field_table[FIELD_COUNT] = {
#define EVENT_KIND(...)
#define EVENT_FIELD(id, text, value_type, class, words)                                            \
	[FIELD_##id] = {.name = text,                                                              \
			.type = FIELD_TYPE_##value_type,                                           \
			.redact = REDACT_##class,                                                  \
			.doc = words},
#include "event.def"
#undef EVENT_FIELD
#undef EVENT_KIND
};

#define EVENT_FIELD(...)
#define F(id) FIELD_##id,
#define EVENT_KIND(id, text, class, words, ...)                                                    \
	static const uint16_t fields_of_##id[] = {__VA_ARGS__};
#include "event.def"
#undef EVENT_KIND
#undef F

const struct kind_info kind_table[EVENT_KIND_COUNT] = {
#define EVENT_KIND(id, text, event_class, words, ...)                                              \
	[EVENT_##id] = {                                                                           \
		.name = text,                                                                      \
		.class = EVENT_CLASS_##event_class,                                                \
		.doc = words,                                                                      \
		.fields = fields_of_##id,                                                          \
		.field_count = sizeof(fields_of_##id) / sizeof(*fields_of_##id),                   \
	},
#include "event.def"
#undef EVENT_KIND
};

static const bool kind_fields[EVENT_KIND_COUNT][FIELD_COUNT] = {
#define F(id) [FIELD_##id] = true,
#define EVENT_KIND(id, text, class, words, ...) [EVENT_##id] = {__VA_ARGS__},
#include "event.def"
#undef EVENT_KIND
#undef F
};
#undef EVENT_FIELD

const char *const event_class_names[EVENT_CLASS_COUNT] = {
#define CLASS(name) [EVENT_CLASS_##name] = #name,
	EVENT_CLASSES(CLASS)
#undef CLASS
};

enum event_kind kind_by_name(const char *name)
{
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		if (!strcmp(kind_table[kind].name, name))
			return kind;
	}
	return EVENT_KIND_NONE;
}

enum event_field field_by_name(const char *name)
{
	for (size_t field = 1; field < FIELD_COUNT; field++) {
		if (!strcmp(field_table[field].name, name))
			return field;
	}
	return FIELD_NONE;
}

bool kind_has_field(enum event_kind kind, enum event_field field)
{
	return kind < EVENT_KIND_COUNT && field < FIELD_COUNT && kind_fields[kind][field];
}

void event_init(struct event *e, enum event_kind kind, uint64_t time_ns, uint64_t boot_ns)
{
	assert(kind > EVENT_KIND_NONE && kind < EVENT_KIND_COUNT);
	e->kind = kind;
	e->seq = 0;
	e->time_ns = time_ns;
	e->boot_ns = boot_ns;
	e->count = 0;
	memset(e->present, 0, sizeof(e->present));
}

static enum field_type type_of(enum event_field field)
{
	assert(field > FIELD_NONE && field < FIELD_COUNT);
	return field_table[field].type;
}

static bool is_present(const struct event *e, enum event_field field)
{
	return e->present[field / 64] & UINT64_C(1) << field % 64;
}

/* The place of @field, where event_get would find it; a new one if there is none yet. */
static struct event_value *place(struct event *e, enum event_field field)
{
	struct event_value *value;

	assert(kind_has_field(e->kind, field));
	if (is_present(e, field)) {
		value = (struct event_value *)event_get(e, field);
	} else {
		assert(e->count < EVENT_VALUES_MAX);
		e->present[field / 64] |= UINT64_C(1) << field % 64;
		value = &e->values[e->count++];
		value->field = field;
	}
	value->is_cut = false;
	return value;
}

void event_put_u64(struct event *e, enum event_field field, uint64_t value)
{
	assert(type_of(field) == FIELD_TYPE_U64);
	place(e, field)->u64 = value;
}

void event_put_i64(struct event *e, enum event_field field, int64_t value)
{
	assert(type_of(field) == FIELD_TYPE_I64);
	place(e, field)->i64 = value;
}

void event_put_bool(struct event *e, enum event_field field, bool value)
{
	assert(type_of(field) == FIELD_TYPE_BOOL);
	place(e, field)->u64 = value;
}

void event_put_text(struct event *e, enum event_field field, const char *text)
{
	assert(type_of(field) == FIELD_TYPE_TEXT || type_of(field) == FIELD_TYPE_JSON);
	if (text)
		place(e, field)->bytes = (struct bytes){text, strlen(text)};
}

void event_put_bytes(struct event *e, enum event_field field, const void *data, size_t size)
{
	assert(type_of(field) >= FIELD_TYPE_TEXT);
	if (data)
		place(e, field)->bytes = (struct bytes){data, size};
}

void event_put_value(struct event *e, const struct event_value *value)
{
	*place(e, value->field) = *value;
}

void event_mark_cut(struct event *e, enum event_field field, uint64_t full_length,
		    const uint8_t *digest)
{
	struct event_value *value = (struct event_value *)event_get(e, field);

	assert(value && type_of(field) >= FIELD_TYPE_TEXT);
	value->is_cut = true;
	value->cut.full_length = full_length;
	value->cut.has_digest = digest;
	if (digest)
		memcpy(value->cut.digest, digest, EVENT_DIGEST_SIZE);
}

const struct event_value *event_get(const struct event *e, enum event_field field)
{
	if (field >= FIELD_COUNT || !is_present(e, field))
		return NULL;
	for (size_t i = 0; i < e->count; i++) {
		if (e->values[i].field == field)
			return &e->values[i];
	}
	return NULL;
}

uint64_t event_u64(const struct event *e, enum event_field field, uint64_t otherwise)
{
	const struct event_value *value = event_get(e, field);

	assert(type_of(field) <= FIELD_TYPE_BOOL);
	return value ? value->u64 : otherwise;
}

struct bytes event_bytes(const struct event *e, enum event_field field)
{
	const struct event_value *value = event_get(e, field);

	assert(type_of(field) >= FIELD_TYPE_TEXT);
	return value ? value->bytes : (struct bytes){NULL, 0};
}

bool bytes_next_item(struct bytes packed, size_t *cursor, struct bytes *ret_item)
{
	const char *at = (const char *)packed.data + *cursor, *end;
	size_t left;

	if (*cursor >= packed.size)
		return false;
	left = packed.size - *cursor;
	end = memchr(at, 0, left);
	ret_item->data = at;
	ret_item->size = end ? (size_t)(end - at) : left;
	*cursor += ret_item->size + 1;
	return true;
}
