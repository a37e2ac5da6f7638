/*
 * Compliance: what the records of a host demonstrate of the clauses of a standard. Facts are read
 * from the records, the ledger and the acts alone; each clause names which of them speak for it,
 * and what no record can show. A standard is a table in compliance_table.c.
 */
#pragma once

#include "../supervisor/record/event.h"
#include "book.h"
#include "verify.h"

#include <stdio.h>

/* All that was counted, of the sessions that began at @since_ns or later. */
struct compliance_facts {
	uint64_t since_ns, now_ns;
	uint64_t sessions, ended, unreadable;
	uint64_t oldest_ns; /* the start of the oldest that is kept; 0: none */
	uint64_t records, gaps, lost;
	uint64_t kinds[EVENT_KIND_COUNT];
	uint64_t with_user, with_policy, with_rules,
		with_sensors;	 /* of the session.start records */
	uint64_t strict;	 /* sessions that freeze or end before a loss */
	uint64_t journal_limits; /* sessions that ended because their record could not be kept */
	uint64_t steps, largest_step_ns; /* of the wall clock */
	uint64_t redacted;
	uint64_t verdicts[4]; /* sessions, by enum verdict */
	struct verify_result ledger;
	uint64_t missing;		/* records that are gone without an act */
	uint64_t removals, shortest_ns; /* records that retention removed; the least time that one
					   was kept after its end; UINT64_MAX: none was */
	uint64_t held, accesses, bundles;
	bool others_read, others_write; /* the directories of the records, by their modes */
	bool key_is_private;
};

/*
 * Read everything below @state. @keys as for verify. 0 or -errno. What cannot be read of a session
 * is counted, and no error.
 */
int compliance_read(int state_fd, const char *state, const struct trusted_keys *keys,
		    uint64_t since_ns, uint64_t now_ns, struct compliance_facts *ret_facts);

enum finding {
	FINDING_DEMONSTRATED,
	FINDING_NO_DATA,      /* nothing that was recorded speaks of it */
	FINDING_OUTSIDE,      /* no record can show it */
	FINDING_CONTRADICTED, /* the records say otherwise */
};
extern const char *const finding_names[];

#define MEASURE_TEXT 256

struct clause;
/* What the facts say of a clause; the words in @text (MEASURE_TEXT bytes). */
typedef enum finding measure(const struct compliance_facts *f, const struct clause *c, char *text);

#define CLAUSE_MEASURES 6

struct clause {
	const char *id, *title;
	measure *measures[CLAUSE_MEASURES]; /* none: it lies outside of what records can show */
	uint32_t days;	    /* for how long records have to be kept; 0: it does not say */
	const char *cannot; /* what it asks beside, and who has to show it; NULL: nothing */
};

struct standard {
	const char *name, *title;
	const struct clause *clauses; /* closed by one without an id */
};

extern const struct standard standards[]; /* closed by one without a name */
const struct standard *standard_find(const char *name);

/* The worst of what the measures of @c say: contradicted, then no data, then demonstrated. */
enum finding clause_judge(const struct clause *c, const struct compliance_facts *f);

/* The measures, for the tables. */
measure measure_active, measure_content, measure_identity, measure_kinds, measure_files,
	measure_attempts, measure_credentials, measure_output, measure_loss, measure_coverage,
	measure_clock, measure_integrity, measure_rights, measure_access, measure_retention,
	measure_redaction, measure_space;
