/*
 * Sessions of the golden records, as journals in a state directory, and a way to ask about them.
 */
#pragma once

#include "state_place.h"
#include "supervisor/record/json.h"

#define GOLDEN "tests/golden/replay/"

static inline void write_golden_session(struct place *place, const char *id, const char *name,
					const char *records)
{
	struct json_arena *arena = json_arena_new();
	struct writer w = open_journal(place, id, 0);
	cleanup(fclose) FILE *in = NULL;
	cleanup(free) char *line = NULL;
	char path[128];
	size_t room = 0;
	ssize_t n;

	snprintf(path, sizeof(path), GOLDEN "%s", records);
	in = fopen(path, "re");
	assert_non_null(in);
	while ((n = getline(&line, &room, in)) > 0) {
		const char *session, *error;
		struct redacted record;

		assert_int_equal(
			json_read_event(arena, line, (size_t)n, &record.event, &session, &error),
			0);
		assert_int_equal(journal_append(w.journal, &record, NULL), 0);
	}
	assert_int_equal(journal_close(w.journal), 0);
	json_arena_free(arena);
	write_manifest(place, id, name, SESSION_ENDED, false);
}

static inline void is_golden(const char *name, const char *text)
{
	cleanup(fclose) FILE *file = NULL;
	cleanup(free) char *expected = calloc(1, 1 << 20);
	char path[128];

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	file = fopen(path, getenv("GOLDEN") ? "we" : "re");
	assert_non_null(file);
	if (getenv("GOLDEN")) {
		fputs(text, file);
		return;
	}
	expected[fread(expected, 1, (1 << 20) - 1, file)] = 0;
	if (strcmp(expected, text))
		fail_msg("%s is not what was written:\n%s", path, text);
}
