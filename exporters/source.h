/*
 * One session's journal as a stream that goes on from a number.
 *
 * What the journal does not hold any more (damage, retention) is told in its place: as a `gap`
 * record that has the number of the first one missing.
 */
#pragma once

#include "project/projection.h"

#include "../supervisor/record/reader.h"
#include "../supervisor/record/store.h"

struct source;

enum source_state {
	SOURCE_RECORD,
	SOURCE_END,  /* no more for now */
	SOURCE_DONE, /* no more ever: the journal was closed */
};

/*
 * Open the journal in @dir_fd (borrowed), to go on with number @next_seq (from 1). A number that
 * the journal has not reached is a position in another journal: the stream begins anew with 1, and
 * *ret_was_ahead says so. 0 or -errno (-ENOENT: there is no segment yet).
 */
int source_open(int dir_fd, uint64_t next_seq, struct source **ret_source, bool *ret_was_ahead);

/* The next record; *ret_event is valid until the next call and may be changed by the caller. */
enum source_state source_next(struct source *s, struct event **ret_event);

/* The number that comes next: all before it were given. */
uint64_t source_position(const struct source *s);
const struct session_facts *source_facts(const struct source *s);

/* Why records are missing, from the last damage that was passed; NULL: none was. */
const struct reader_damage *source_damage(const struct source *s);

void source_free(struct source *s);

/* Make @ret_event the gap record of the numbers @first to @last; @last 0: nobody knows. */
void source_make_gap(struct event *ret_event, uint64_t first, uint64_t last, uint64_t time_ns,
		     const char *reason);

static inline void cleanup_source(struct source **s)
{
	source_free(*s);
}
