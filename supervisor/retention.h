/*
 * Retention: what goes of the records, by age and by size of all, and how: of a session that has
 * ended all of it, with the signed checkpoints left behind in <state>/removed/<id>; of one that
 * goes on, or whose end is younger than its beginning may be, the first segments (trim.h). An act
 * (record/acts.h) says what was removed and why. What is held stays.
 */
#pragma once

#include "record/store.h"
#include "trim.h"

struct retention_rule {
	uint64_t max_age_ns; /* of records; of those of a session that ended, since its end; 0: none
			      */
	uint64_t max_bytes;  /* of all records; 0: none */
};

struct retention_item {
	struct manifest manifest;
	uint64_t ended_ns; /* as the ledger says, or else the manifest */
	uint64_t bytes;
	struct trim_border *borders; /* owned: where its first segments may go alone, in order */
	size_t border_count;
	bool goes;
	const struct trim_border *part; /* it goes up to there; NULL: all of it */
	const char *reason;		/* why it goes: "age" or "size"; or why it stays */
};

struct retention_plan {
	struct retention_item *items; /* owned; oldest first */
	size_t count, going;	      /* .going: of which something goes */
	uint64_t bytes, going_bytes;  /* of all */
};

/* What @rule asks for now. 0 or -errno. */
int retention_plan(int state_fd, const struct acts *acts, const struct retention_rule *rule,
		   uint64_t now_ns, struct retention_plan *ret_plan);
void retention_plan_free(struct retention_plan *plan);

/*
 * Take the record of @item away, or the part of it that goes: first the act is on disk; then a
 * whole record goes to <state>/removed, at once. 0; -EAGAIN: somebody writes in it now; -EBUSY: it
 * was held meanwhile; -ENOENT: it is gone; or -errno.
 */
int retention_remove(struct clerk *clerk, int state_fd, const struct retention_item *item,
		     const struct clerk_client *client);
/* Empty what was taken away, without keeping anybody waiting for the acts. */
void retention_empty(int state_fd, const char *session);

/* Finish what a crash left of removals that were written down already. */
void retention_finish(struct clerk *clerk, int state_fd);
