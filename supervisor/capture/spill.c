/* A list of deep copies, in order. */
#include "spill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct spilled {
	struct spilled *next;
	struct redacted record;
	uint8_t bytes[]; /* what its values point to */
};

static bool has_bytes(const struct event_value *value)
{
	enum field_type type = field_table[value->field].type;

	return type == FIELD_TYPE_TEXT || type == FIELD_TYPE_TEXTS || type == FIELD_TYPE_MAP ||
	       type == FIELD_TYPE_JSON;
}

static size_t bytes_of(const struct event *e)
{
	size_t size = 0;

	for (size_t i = 0; i < e->count; i++)
		if (has_bytes(&e->values[i]))
			size += e->values[i].bytes.size;
	return size;
}

int spill_add(struct spill *s, const struct redacted *record)
{
	struct spilled *copy = malloc(sizeof(*copy) + bytes_of(&record->event));
	if (!copy)
		return -ENOMEM;

	copy->next = NULL;
	copy->record = *record;
	uint8_t *to = copy->bytes;
	for (size_t i = 0; i < copy->record.event.count; i++) {
		struct event_value *value = &copy->record.event.values[i];

		if (!has_bytes(value))
			continue;
		if (value->bytes.size > 0)
			memcpy(to, value->bytes.data, value->bytes.size);
		value->bytes.data = to;
		to += value->bytes.size;
	}

	if (s->last)
		s->last->next = copy;
	else
		s->first = copy;
	s->last = copy;
	return 0;
}

bool spill_is_empty(const struct spill *s)
{
	return !s->first;
}

const struct redacted *spill_first(const struct spill *s)
{
	return s->first ? &s->first->record : NULL;
}

void spill_drop_first(struct spill *s)
{
	struct spilled *first = s->first;

	if (!first)
		return;
	s->first = first->next;
	if (!s->first)
		s->last = NULL;
	free(first);
}

void spill_clear(struct spill *s)
{
	while (!spill_is_empty(s))
		spill_drop_first(s);
}
