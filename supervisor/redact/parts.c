/* A JSON secret may be printed in another layout, and a key line by line. */
#include "parts.h"

#include <jansson.h>
#include <string.h>

struct search {
	size_t least;
	part_take *take;
	void *context;
};

static void take_part(const struct search *s, const void *data, size_t size)
{
	if (size >= s->least)
		s->take(s->context, (struct bytes){data, size});
}

static void take_leaves(const struct search *s, json_t *value)
{
	char number[64];
	size_t i, size;
	const char *key;
	json_t *item;

	switch (json_typeof(value)) {
	case JSON_STRING:
		take_part(s, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		size = json_dumpb(value, number, sizeof(number), JSON_ENCODE_ANY);
		if (size < sizeof(number))
			take_part(s, number, size);
		break;
	case JSON_ARRAY:
		json_array_foreach (value, i, item)
			take_leaves(s, item);
		break;
	case JSON_OBJECT:
		json_object_foreach (value, key, item)
			take_leaves(s, item);
		break;
	default:
		break;
	}
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void take_line(const struct search *s, const char *line, size_t size)
{
	while (size && is_blank(*line))
		line++, size--;
	while (size && is_blank(line[size - 1]))
		size--;
	if (size < 5 || memcmp(line, "-----", 5) != 0)
		take_part(s, line, size);
}

static void take_lines(const struct search *s, struct bytes value)
{
	const char *at = value.data, *end = at + value.size, *newline;

	if (!memchr(at, '\n', value.size))
		return;
	for (; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			newline = end;
		take_line(s, at, (size_t)(newline - at));
	}
}

/* Only what can hold anything is parsed: every secret is handed to a parser otherwise. */
static bool may_be_json(struct bytes value)
{
	const char *text = value.data;

	for (size_t i = 0; i < value.size; i++) {
		if (!is_blank(text[i]) && text[i] != '\n')
			return text[i] == '{' || text[i] == '[' || text[i] == '"';
	}
	return false;
}

void parts_of_secret(struct bytes value, size_t least, part_take *take, void *context)
{
	const struct search s = {least, take, context};
	json_t *json = NULL;

	take(context, value);
	if (may_be_json(value))
		json = json_loadb(value.data, value.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json)
		take_leaves(&s, json);
	json_decref(json);
	take_lines(&s, value);
}
