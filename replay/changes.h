/*
 * What became of the files of a session: in the end, not act by act.
 *
 * Two things are kept of each name: whether something was there before the session, as far as its
 * first act on that name tells, and which file is there now. Files keep their story when they move,
 * so a chain of renames comes to its two ends, and what was made and removed again comes to
 * nothing. Bounded: what finds no room is counted.
 */
#pragma once

#include "actors.h"
#include "final_state.h"
#include "left_tree.h"

#define CHANGES_NAMES_MAX (1 << 20)

enum outcome {
	OUTCOME_NONE, /* nothing is different */
	OUTCOME_CREATED,
	OUTCOME_MODIFIED,
	OUTCOME_REPLACED, /* another file than before has the name */
	OUTCOME_RENAMED,
	OUTCOME_DELETED,
	OUTCOME_TEMPORARY, /* made, and gone again */
	OUTCOME_COUNT
};

extern const char *const outcome_names[OUTCOME_COUNT];

enum file_type { FILE_UNKNOWN, FILE_REGULAR, FILE_DIRECTORY, FILE_SYMLINK };

struct change {
	enum outcome outcome;
	enum file_type type;
	struct bytes path, from; /* from: the first name, of what was renamed */
	bool written, attributes, still_open;
	bool unproven; /* a name of it is what a call was given, not what the kernel saw */
	bool existed;  /* something had the name before */
	bool doubtful; /* whether something had the name before is not known */
	bool has_size, has_old_size;
	uint64_t size, old_size, bytes_written;
	uint64_t first_seq, last_seq;
	struct actor_set by;
	const struct final_state *final; /* what the record says of it at the end; NULL: nothing */
	struct left_file left;		 /* what is there now, if somebody looked */
};

struct changes;

struct changes *changes_new(void); /* NULL: out of memory */
void changes_free(struct changes *c);

/* Take in @e, after @a has. 0 or -ENOMEM. */
int changes_add(struct changes *c, const struct actors *a, const struct event *e);

/* All that is different, sorted by path; malloc'ed. Paths live as long as @c does not change. 0 or
 * -ENOMEM. */
int changes_list(const struct changes *c, struct change **ret_list, size_t *ret_count);

/* Acts on files whose name is not in the record; on names that found no room; renames of
 * directories that were not followed into what is below them. */
struct changes_left_out {
	uint64_t nameless, no_room, not_followed;
};

struct changes_left_out changes_left_out(const struct changes *c);
