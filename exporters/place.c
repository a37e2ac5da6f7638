/*
 * Walks JSON text that is known to be well-formed.
 */
#include "place.h"

#include <stdbool.h>
#include <string.h>

struct walk {
	const char *at;
	int line;
	int depth;
	size_t sinks;	  /* objects of the array "sinks" that were entered */
	bool is_in_sinks; /* the last key of the top object was "sinks" */
};

/* The string at @w: true if it is @word. Moves behind it. */
static bool pass_string(struct walk *w, const char *word)
{
	size_t length = strlen(word);
	const char *from = ++w->at;

	while (*w->at && *w->at != '"') {
		if (*w->at == '\\' && w->at[1])
			w->at++;
		w->at++;
	}
	bool same = (size_t)(w->at - from) == length && !strncmp(from, word, length);
	if (*w->at)
		w->at++;
	return same;
}

static bool is_key(const struct walk *w)
{
	const char *at = w->at + strspn(w->at, " \t\r\n");

	return *at == ':';
}

int place_line(const char *text, size_t sink, const char *key)
{
	struct walk w = {.at = text, .line = 1};
	int begin = 1;

	while (*w.at) {
		if (*w.at == '"') {
			struct walk before = w;
			bool same = pass_string(&w, key);
			bool is_here = sink ? w.depth == 3 && w.is_in_sinks && w.sinks == sink
					    : w.depth == 1;

			if (!is_key(&w))
				continue;
			if (same && is_here && *key)
				return w.line;
			if (w.depth == 1)
				w.is_in_sinks = pass_string(&before, "sinks");
			continue;
		}
		if (*w.at == '\n')
			w.line++;
		if (*w.at == '{' || *w.at == '[') {
			w.depth++;
			if (*w.at == '{' && w.depth == 3 && w.is_in_sinks && ++w.sinks == sink)
				begin = w.line;
		}
		if (*w.at == '}' || *w.at == ']')
			w.depth--;
		w.at++;
	}
	return begin;
}
