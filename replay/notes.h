/*
 * Bookmarks and notes of the people who look into a session: in a file of their own beside the
 * evidence, never in it. A line is one JSON object, and lines are only ever added: what is taken
 * back is a line too.
 */
#pragma once

#include "session.h"

#include <stdint.h>

struct remark {
	uint64_t number; /* of its line, from 1 */
	uint64_t time_ns;
	uint64_t seq; /* record that it is about */
	uint64_t uid;
	char *author; /* owned */
	char *text;   /* owned; NULL: a bookmark */
	bool is_withdrawn;
};

struct notes {
	char *path; /* owned */
	struct remark *list;
	size_t count;
	uint64_t bad_lines; /* that could not be read */
};

#define NOTE_TEXT_MAX 4096

/*
 * Where notes about session @what stand: "<state>/notes/<id>.jsonl", of a path "<path>.notes";
 * @file (may be NULL) is another place. Freed by the caller; NULL: out of memory.
 */
char *notes_path(const char *state, const char *what, const char *id, const char *file);

/* Read those at @path, which is copied; where no file is, there are none. 0 or -errno. */
int notes_open(const char *path, struct notes *ret_notes);
void notes_close(struct notes *notes);

/* Add a note of the user of this process; @text NULL: a bookmark. 0 or -errno. */
int notes_add(struct notes *notes, const char *session, uint64_t seq, const char *text);

/* Take back the note of line @number. 0, -ENOENT or -errno. */
int notes_withdraw(struct notes *notes, const char *session, uint64_t number);

/* The first note or bookmark about @seq that stands, NULL: none. With @marks, bookmarks alone. */
const struct remark *notes_about(const struct notes *notes, uint64_t seq, bool marks);

static inline void cleanup_notes(struct notes *notes)
{
	notes_close(notes);
}
