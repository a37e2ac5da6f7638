/*
 * Reads what may be bent: whatever does not fit is no form of ours.
 */
#include "returned.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/jansson_cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "CEF:0|vitrine|"
#define HEAD_PARTS 7
#define KEY_MOST 64

/* ---- CEF ---- */

/* The @size bytes of @text without the backslashes that escape; with a NUL behind. */
static char *unescaped(const char *text, size_t size, size_t *ret_size)
{
	char *plain = malloc(size + 1);
	size_t length = 0;

	for (size_t i = 0; plain && i < size; i++) {
		if (text[i] == '\\' && i + 1 < size)
			i++;
		plain[length++] = text[i];
	}
	if (plain)
		plain[length] = 0;
	*ret_size = length;
	return plain;
}

/* The first @stop from @at on that no backslash escapes; @size if there is none. */
static size_t find_plain(const char *text, size_t size, size_t at, char stop)
{
	for (; at < size && text[at] != stop; at++)
		if (text[at] == '\\')
			at++;
	return at < size ? at : size;
}

static int put(json_t *object, const char *key, const char *text, size_t size)
{
	size_t length;
	cleanup(free) char *plain = unescaped(text, size, &length);
	json_t *value = NULL;

	if (plain && !strcmp(key, "cs6"))
		value = json_loadb(plain, length, JSON_REJECT_DUPLICATES, NULL);
	else if (plain)
		value = json_stringn(plain, length);
	/* A key that comes twice could hide one of both. */
	return !value || json_object_get(object, key) ? (json_decref(value), -1)
						      : json_object_set_new(object, key, value);
}

/* "key=value key=value": a value ends where the blank stands before the next key. */
static int put_extension(json_t *object, const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t equals = find_plain(text, size, at, '='), end, next;
		char key[KEY_MOST];

		if (equals == size || equals == at || equals - at >= sizeof(key))
			return -1;
		snprintf(key, sizeof(key), "%.*s", (int)(equals - at), text + at);
		next = find_plain(text, size, equals + 1, '=');
		end = next;
		while (next < size && end > equals + 1 && text[end - 1] != ' ')
			end--;
		if (next < size && end == equals + 1)
			return -1;
		at = end;
		if (put(object, key, text + equals + 1,
			(next < size ? end - 1 : end) - equals - 1) < 0)
			return -1;
	}
	return 0;
}

json_t *returned_cef(const char *text, size_t size)
{
	const char *head = memmem(text, size, HEAD, sizeof(HEAD) - 1);
	size_t left = head ? size - (size_t)(head - text) : 0, at = 0;
	cleanup(json) json_t *object = json_object();

	while (left && (head[left - 1] == '\n' || head[left - 1] == '\r' || head[left - 1] == ' '))
		left--;
	if (!left || !object)
		return NULL;
	for (int i = 0; i < HEAD_PARTS; i++) {
		size_t bar = find_plain(head, left, at, '|');
		char number[8];

		snprintf(number, sizeof(number), "%d", i);
		if (bar == left || put(object, number, head + at, bar - at) < 0)
			return NULL;
		at = bar + 1;
	}
	return put_extension(object, head + at, left - at) < 0 ? NULL : json_incref(object);
}

/* ---- OTLP ---- */

/* {"key": ..., "value": ...} each, as members of one object. */
static json_t *by_key(const json_t *attributes)
{
	json_t *object = json_object(), *one;
	size_t i;

	json_array_foreach (attributes, i, one) {
		const char *key = json_string_value(json_object_get(one, "key"));
		size_t length = key ? strlen(key) : 0;

		/* A digest is made under the key of the host, which a verifier has not. */
		if (length > 7 && !strcmp(key + length - 7, "_digest"))
			continue;
		if (!key || json_object_get(object, key) ||
		    json_object_set(object, key, json_object_get(one, "value")) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

json_t *returned_otlp(const json_t *record)
{
	const json_t *body = json_object_get(json_object_get(record, "body"), "stringValue");
	cleanup(json) json_t *shaped = json_copy((json_t *)record);
	json_t *canonical = json_loadb(json_string_value(body) ?: "", json_string_length(body),
				       JSON_REJECT_DUPLICATES, NULL);
	json_t *attributes = by_key(json_object_get(record, "attributes"));

	if (!shaped || !canonical || !attributes || !json_object_get(record, "timeUnixNano")) {
		json_decref(canonical);
		json_decref(attributes);
		return NULL;
	}
	if (json_object_set_new(shaped, "body", canonical) < 0 ||
	    json_object_set_new(shaped, "attributes", attributes) < 0)
		return NULL;
	return json_incref(shaped);
}
