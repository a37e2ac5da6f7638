/*
 * The records that a query is true for, looked up in small steps beside what the person does. It
 * begins where he is, so that what he sees is filtered first, goes on to the end, and then does
 * what came before. It goes on when a journal grows.
 */
#pragma once

#include "numbers.h"

#include "../query.h"

enum scan_part {
	SCAN_AHEAD,  /* from where it began to the end */
	SCAN_BEHIND, /* what comes before */
	SCAN_FOLLOW, /* what was written meanwhile */
};

struct scan {
	struct reader *reader;
	struct query *query; /* owned */
	char *text;	     /* owned: what the person typed */
	struct numbers found;
	uint64_t from;	 /* where it began */
	uint64_t ahead;	 /* the last record that was looked at from there on */
	uint64_t looked; /* how many were */
	enum scan_part part;
};

/* Begin to look for @text from record @from on. 0, -EINVAL (*ret_error says why) or -errno. */
int scan_open(struct scan *s, int dir_fd, const char *text, uint64_t from,
	      struct query_error *ret_error);
void scan_close(struct scan *s);

/* True if there is one under way or finished. */
bool scan_is_open(const struct scan *s);

/* True if it has looked at everything up to record @last. */
bool scan_is_through(const struct scan *s, uint64_t last);

/* Look at some more, for @budget_ns at most. 1: there is more; 0: not for now; -errno. */
int scan_step(struct scan *s, const struct origin *origin, uint64_t budget_ns);
