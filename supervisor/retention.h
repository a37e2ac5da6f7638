/*
 * Retention: which sessions' records go, by age and by size of all, and how they go: whole, with
 * their signed checkpoints left behind in <state>/removed/<id>, and an act (record/acts.h) that
 * says what was removed and why. What is held, or still written, stays.
 */
#pragma once

#include "clerk.h"
#include "record/store.h"

struct retention_rule {
	uint64_t max_age_ns; /* since a session's end; 0: none */
	uint64_t max_bytes;  /* of all records; 0: none */
};

struct retention_item {
	struct manifest manifest;
	uint64_t ended_ns; /* as the ledger says, or else the manifest */
	uint64_t bytes;
	bool goes;
	const char *reason; /* why it goes: "age" or "size"; or why it stays */
};

struct retention_plan {
	struct retention_item *items; /* owned; oldest first */
	size_t count, going;
	uint64_t bytes, going_bytes; /* of all */
};

/* What @rule asks for now. 0 or -errno. */
int retention_plan(int state_fd, const struct acts *acts, const struct retention_rule *rule,
		   uint64_t now_ns, struct retention_plan *ret_plan);
void retention_plan_free(struct retention_plan *plan);

/*
 * Take the record of @item away: first the act is on disk, then the record goes to
 * <state>/removed, whole. 0; -EAGAIN: somebody writes in it now; -EBUSY: it was held meanwhile;
 * -ENOENT: it is gone; or -errno.
 */
int retention_remove(struct clerk *clerk, int state_fd, const struct retention_item *item,
		     const struct clerk_client *client);
/* Empty what was taken away, without keeping anybody waiting for the acts. */
void retention_empty(int state_fd, const char *session);

/* Finish what a crash left of removals that were written down already. */
void retention_finish(struct clerk *clerk, int state_fd);
