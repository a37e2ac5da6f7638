/*
 * Lines may be missing, and one may be torn: that is what a crash leaves. What is there has to be
 * what was expected.
 */
#include "borders.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/turns.h"
#include "file_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST (1u << 28)

void borders_free(struct borders *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->lines[i]);
	free(b->lines);
	*b = (struct borders){0};
}

static int add(struct borders *b, char *line)
{
	char **larger;

	if (!line)
		return -ENOMEM;
	if (b->count == b->room) {
		larger = reallocarray(b->lines, b->room ? 2 * b->room : 8, sizeof(*larger));
		if (!larger) {
			free(line);
			return -ENOMEM;
		}
		b->lines = larger;
		b->room = b->room ? 2 * b->room : 8;
	}
	b->lines[b->count++] = line;
	return 0;
}

int borders_add_first(struct borders *b, struct bytes payload)
{
	return add(b, turns_first_line(payload));
}

int borders_add(struct borders *b, const struct merkle *tree)
{
	struct merkle_state state;

	merkle_save(tree, &state);
	return add(b, turns_line(&state));
}

/* A border before what retention removed, of which nobody can tell any more what has to stand
 * there, or one that came after the last checkpoint that was read. */
static bool is_out_of_sight(struct bytes line, const struct verify_result *result)
{
	const char *text = line.data;
	struct bytes rest = {text + 5, line.size > 5 ? line.size - 5 : 0};
	const char *blank = rest.size ? memchr(rest.data, ' ', rest.size) : NULL;
	uint64_t size;

	return line.size > 5 && !memcmp(text, "turn ", 5) && blank &&
	       ledger_number((struct bytes){rest.data, (size_t)(blank - text) - 5}, &size) &&
	       (size < result->removed || (!result->is_ended && size > result->signed_records));
}

/* How much of the expected line @expected begins with @line: all of it, a part, or another one. */
enum likeness { LIKE_NONE, LIKE_PART, LIKE_ALL };

static enum likeness likeness(const char *expected, struct bytes line)
{
	size_t length = strlen(expected);

	if (line.size > length || memcmp(expected, line.data, line.size) != 0)
		return LIKE_NONE;
	return line.size == length ? LIKE_ALL : LIKE_PART;
}

/* Judge @line, expected at @next or later. False: it is none that was. */
static bool take_line(const struct borders *b, struct bytes line, size_t *next, bool *is_whole)
{
	for (size_t i = *next; i < b->count; i++) {
		enum likeness like = likeness(b->lines[i], line);

		if (like == LIKE_NONE)
			continue;
		*is_whole &= like == LIKE_ALL && i == *next;
		*next = i + 1;
		return true;
	}
	return false;
}

static bool take_file(const struct borders *b, struct bytes text,
		      const struct verify_result *result, bool *is_whole)
{
	const char *data = text.data;
	size_t at = 0, next = 0, lines = 0;

	while (at < text.size) {
		const char *newline = memchr(data + at, '\n', text.size - at);
		size_t size = newline ? (size_t)(newline - data) - at : text.size - at;
		struct bytes line = {data + at, size};

		at += size + (newline != NULL);
		*is_whole &= newline != NULL;
		/* An empty one stands between two borders, and nowhere else. */
		if (!size && lines > 1 && at < text.size && data[at] != '\n')
			continue;
		lines++;
		if (!is_out_of_sight(line, result) &&
		    (!size || !take_line(b, line, &next, is_whole)))
			return false;
	}
	*is_whole &= next == b->count;
	return true;
}

int borders_judge(const struct borders *b, int dir_fd, struct verify_result *result)
{
	cleanup(free) char *text = NULL;
	bool is_whole = true;
	size_t size = 0;
	int r = file_read(dir_fd, TURNS_FILE, FILE_MOST, &text, &size);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT && b->count < 2)
		return 0; /* no border, no file */
	if (!take_file(b, (struct bytes){text ? text : "", size}, result, &is_whole))
		verify_judge(result, VERIFY_TAMPERED,
			     TURNS_FILE ": what is kept there of segments is not what was signed");
	else if (!is_whole)
		verify_judge(result, VERIFY_INCOMPLETE,
			     TURNS_FILE ": what is kept there of segments is not all there");
	return 0;
}
