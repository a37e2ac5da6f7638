/*
 * All sessions' journals as one stream for one sink, from its cursor on: each session in its own
 * order, all of them in turn.
 */
#pragma once

#include "cursor.h"
#include "source.h"

struct feed;

struct feed_setup {
	int sessions_fd;       /* the directory of sessions; borrowed */
	struct cursor *cursor; /* borrowed, changed by feed_settle only */
	unsigned part, parts;  /* which of how many: each session is in one part, always the same */
	bool has_acts;	       /* what was done with records is given too, in part 0 */
	bool has_checkpoints;  /* the last checkpoint of a session comes behind its last record */
};

int feed_new(const struct feed_setup *setup, struct feed **ret_feed);
void feed_free(struct feed *f);

/*
 * Look for sessions that came and went. One that went before all of its records were read is told
 * by a gap. 0 or -errno.
 */
int feed_scan(struct feed *f);

struct fed {
	const char *session; /* valid until the next call of any of these */
	const struct session_facts *facts;
	const struct manifest *manifest; /* NULL where it could not be read */
	struct event *event;
};

/* The next record; false: there is none now. A changed event is the caller's. */
bool feed_next(struct feed *f, struct fed *ret_fed);

/*
 * The newest checkpoint of @session, as a record with the number 0, if there is one that was not
 * given yet.
 */
bool feed_checkpoint(struct feed *f, const char *session, struct fed *ret_fed);

/* Everything that was given is settled: the cursor moves. True if it did. */
bool feed_settle(struct feed *f);

/*
 * How many records are still to be read. Each call of feed_measure counts one of the sessions anew;
 * what is read meanwhile is taken off.
 */
void feed_measure(struct feed *f);
uint64_t feed_pending(const struct feed *f);

/* Sessions that are there and that this user may not read. */
size_t feed_refused(const struct feed *f);

/* Positions that were found to be ahead of their journal, and were begun anew; since the start. */
uint64_t feed_resets(const struct feed *f);
