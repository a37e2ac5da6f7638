/*
 * Names of hosts: a secret that is asked for as a name is split into labels, so the dots are looked
 * over.
 */
#include "redactor.h"

#include <errno.h>
#include <string.h>

/* Where byte @at of the text without dots stands in @text. */
static size_t with_dots(struct bytes text, size_t at)
{
	const char *t = text.data;
	size_t i = 0;

	for (; i < text.size; i++) {
		if (t[i] == '.')
			continue;
		if (!at--)
			break;
	}
	return i;
}

int redactor_find_host(struct redactor *r, struct bytes text)
{
	const char *t = text.data;
	size_t size = 0;
	char *plain;
	int error = redactor_find(r, text);

	if (error || !secrets_count(r->secrets) || text.size < REDACT_SECRET_MIN ||
	    !memchr(t, '.', text.size))
		return error;
	plain = arena_room(r->arena, text.size);
	if (!plain)
		return -ENOMEM;
	for (size_t i = 0; i < text.size; i++) {
		if (t[i] != '.')
			plain[size++] = t[i];
	}
	r->across.count = 0;
	error = secrets_find(r->secrets, (struct bytes){plain, size}, &r->across);
	for (size_t i = 0; !error && i < r->across.count; i++) {
		struct span span = r->across.items[i];

		span.start = with_dots(text, span.start);
		span.end = with_dots(text, span.end - 1) + 1;
		error = spans_merge(&r->spans, span);
	}
	return error;
}
