/*
 * The clerk writes down what is done with a record: who, why and when, redacted like everything
 * that is kept, signed by the ledger (record/acts.h).
 */
#pragma once

#include "fault.h"
#include "record/acts.h"

#include <stdio.h>
#include <sys/types.h>

struct clerk;

/* Who acts, and why. */
struct clerk_client {
	uid_t uid;
	const char *by;	 /* "user", or "retention": a rule of the configuration */
	const char *why; /* as it was given; NULL: it was not */
};

/* Lock the acts of @state. 0 or -errno with a fault that says what to do. */
int clerk_open(const char *state, enum acts_use use, struct clerk **ret_clerk,
	       struct fault *ret_fault);
void clerk_close(struct clerk *c);
struct acts *clerk_acts(struct clerk *c);

/*
 * Write an act about the session @session (an id). @e has what is special about it; time, who and
 * why are added. 0 or -errno.
 */
int clerk_note(struct clerk *c, enum ledger_kind kind, const char *session, struct event *e,
	       const struct clerk_client *client, bool is_durable);

/* "2026-01-02T03:04:05Z" */
void clerk_write_time(FILE *out, uint64_t time_ns);
