/*
 * Copies the values of an event into one block.
 */
#include "kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_bytes(const struct event_value *value)
{
	return field_table[value->field].type >= FIELD_TYPE_TEXT;
}

int kept_set(struct kept *k, const struct event *e)
{
	size_t size = 1;
	char *memory, *at;

	for (size_t i = 0; i < e->count; i++)
		size += has_bytes(&e->values[i]) ? e->values[i].bytes.size : 0;
	memory = at = malloc(size);
	if (!memory)
		return -ENOMEM;

	free(k->memory);
	k->memory = memory;
	k->event = *e;
	for (size_t i = 0; i < e->count; i++) {
		struct event_value *value = &k->event.values[i];

		if (!has_bytes(value))
			continue;
		if (value->bytes.size)
			memcpy(at, value->bytes.data, value->bytes.size);
		value->bytes.data = at;
		at += value->bytes.size;
	}
	return 0;
}

void kept_free(struct kept *k)
{
	free(k->memory);
	*k = (struct kept){0};
}
