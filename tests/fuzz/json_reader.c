/*
 * Fuzz: one line of canonical JSON. What is taken can be written, is then read back equal, and is
 * written the same again.
 */
#include "supervisor/record/json.h"
#include "tests/unit/sample.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	struct json_arena *arena;
	struct json_buffer line;
	struct event event;
	const char *session;
};

static bool read_and_write(struct reading *r, const char *line, size_t length)
{
	const char *error;

	if (json_read_event(r->arena, line, length, &r->event, &r->session, &error))
		return false;
	if (json_write_event(&r->line, r->session, &r->event))
		abort();
	return true;
}

static void reading_free(struct reading *r)
{
	json_buffer_free(&r->line);
	json_arena_free(r->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading first = {.arena = json_arena_new()}, second = {.arena = json_arena_new()};
	struct reading third = {.arena = json_arena_new()};

	if (read_and_write(&first, (const char *)data, size)) {
		if (!read_and_write(&second, first.line.text, first.line.length) ||
		    !read_and_write(&third, second.line.text, second.line.length))
			abort();
		/* A real number may be written otherwise than it was given, but only once. */
		if (!same_event(&second.event, &third.event) ||
		    second.line.length != third.line.length ||
		    memcmp(second.line.text, third.line.text, second.line.length))
			abort();
	}
	reading_free(&first);
	reading_free(&second);
	reading_free(&third);
	return 0;
}
