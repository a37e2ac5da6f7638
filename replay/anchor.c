/*
 * Looks for members called "note" that are notes, however deep.
 */
#include "anchor.h"
#include "file_text.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST (256 * 1024 * 1024)
#define DEPTH_MOST 32

struct search {
	const char *session;
	struct note *note;
	bool is_found;
};

static bool is_of(const struct note *n, const char *session)
{
	const char *slash = strrchr(n->origin, '/');

	return !session || !*session || (slash && !strcmp(slash + 1, session));
}

static void try_note(struct search *s, struct bytes text)
{
	struct note note;

	if (note_read(text, &note) <= 0 || !is_of(&note, s->session))
		return;
	if (s->is_found && note.size < s->note->size)
		return;
	*s->note = note;
	s->is_found = true;
}

static void search_text(struct search *s, const char *text, size_t size, unsigned depth);

static void search_value(struct search *s, json_t *value, unsigned depth)
{
	const char *key;
	json_t *member;
	size_t i;

	if (depth > DEPTH_MOST)
		return;
	json_object_foreach (value, key, member) {
		if (!strcmp(key, "note") && json_is_string(member))
			try_note(s, (struct bytes){json_string_value(member),
						   json_string_length(member)});
		search_value(s, member, depth + 1);
	}
	json_array_foreach (value, i, member) {
		search_value(s, member, depth + 1);
	}
	if (json_is_string(value))
		search_text(s, json_string_value(value), json_string_length(value), depth + 1);
}

/* What the JSON object in @text holds, if there is one. */
static void search_text(struct search *s, const char *text, size_t size, unsigned depth)
{
	const char *from = memchr(text, '{', size);
	json_t *value = from ? json_loadb(from, size - (size_t)(from - text),
					  JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL)
			     : NULL;

	search_value(s, value, depth);
	json_decref(value);
}

/* CEF has a backslash before some characters, and before each backslash. */
static size_t take_backslashes(char *text, size_t size)
{
	size_t length = 0;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\\' && i + 1 < size)
			i++;
		text[length++] = text[i];
	}
	return length;
}

static int search_line(struct search *s, const char *line, size_t size)
{
	cleanup(free) char *copy = NULL;

	if (!memmem(line, size, "CEF:0|", 6)) {
		search_text(s, line, size, 0);
		return 0;
	}
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, line, size);
	search_text(s, copy, take_backslashes(copy, size), 0);
	return 0;
}

int anchor_find(struct bytes text, const char *session, struct note *ret_note)
{
	struct search s = {.session = session, .note = ret_note};
	const char *at = text.data, *end = at + text.size;
	int r = 0;

	try_note(&s, text);
	if (s.is_found)
		return 0;
	while (r == 0 && at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		line_end = line_end ? line_end : end;
		r = search_line(&s, at, (size_t)(line_end - at));
		at = line_end + 1;
	}
	return r < 0 ? r : s.is_found ? 0 : -ENODATA;
}

int anchor_read(const char *file, const char *session, struct note *ret_note)
{
	cleanup(free) char *text = NULL;
	size_t size = 0;
	int r = file_read(AT_FDCWD, file, FILE_MOST, &text, &size);

	return r < 0 ? r : anchor_find((struct bytes){text, size}, session, ret_note);
}
