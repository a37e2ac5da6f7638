/*
 * A scanner over valid JSON that knows strings, nesting and lines, and nothing else. Keys are
 * compared as they are written: one spelled with escapes is found at the line of its parent.
 */
#include "settings_place.h"

#include <stdbool.h>
#include <string.h>

struct scanner {
	const char *at;
	int line;
	int depth;
};

/* Step over the string that begins at the scanner; its text lies in [*ret_from, *ret_to). */
static void skip_string(struct scanner *s, const char **ret_from, const char **ret_to)
{
	*ret_from = ++s->at;
	while (*s->at && *s->at != '"')
		s->at += s->at[0] == '\\' && s->at[1] ? 2 : 1;
	*ret_to = s->at;
	if (*s->at)
		s->at++;
}

static void skip_blank(struct scanner *s)
{
	for (; *s->at && strchr(" \t\r\n", *s->at); s->at++)
		s->line += *s->at == '\n';
}

/* Step over one character outside of strings. */
static void step(struct scanner *s)
{
	s->line += *s->at == '\n';
	s->depth += *s->at == '{' || *s->at == '[';
	s->depth -= *s->at == '}' || *s->at == ']';
	s->at++;
}

/* Go behind the colon of key @name at @depth; false at the end of the object that is around it. */
static bool find_key(struct scanner *s, const char *name, int depth, int *ret_line)
{
	while (*s->at && s->depth >= depth - (s->at[0] == '{')) {
		const char *from, *to;

		if (*s->at != '"') {
			step(s);
			continue;
		}
		int line = s->line;
		skip_string(s, &from, &to);
		skip_blank(s);
		if (*s->at == ':' && s->depth == depth && (size_t)(to - from) == strlen(name) &&
		    !memcmp(from, name, to - from)) {
			s->at++;
			*ret_line = line;
			return true;
		}
	}
	return false;
}

/* The line of item @item of the array that begins at the scanner. */
static void find_item(struct scanner *s, size_t item, int *ret_line)
{
	const char *from, *to;
	int depth = s->depth + 1;

	skip_blank(s);
	if (*s->at != '[')
		return;
	step(s);
	for (size_t i = 1; *s->at && s->depth >= depth;) {
		skip_blank(s);
		if (i == item) {
			*ret_line = s->line;
			return;
		}
		if (*s->at == '"') {
			skip_string(s, &from, &to);
			continue;
		}
		i += *s->at == ',' && s->depth == depth;
		step(s);
	}
}

int settings_line(const char *text, const char *name, const char *member, size_t item)
{
	struct scanner s = {.at = text, .line = 1};
	int line = 1;

	if (!find_key(&s, name, 1, &line))
		return line;
	skip_blank(&s);
	if (member)
		find_key(&s, member, 2, &line);
	else if (item)
		find_item(&s, item, &line);
	return line;
}
