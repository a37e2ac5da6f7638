/*
 * What the doctor says of a host to a daemon: all of it at the start, and before each session what
 * can be looked at without trying. When that has changed, what has to be tried is tried again.
 */
#pragma once

#include "doctor.h"

#include <jansson.h>
#include <stdint.h>

struct doctor_report;

/* Look at everything for @subject, whose texts are borrowed. 0 or -ENOMEM. */
int doctor_report_new(const struct doctor_subject *subject, struct doctor_report **ret_report);
void doctor_report_free(struct doctor_report *report);

/* Before a session. Looks at most once a second. */
void doctor_report_refresh(struct doctor_report *report);

/*
 * Before a session: the first thing without which none runs as it has to. It is looked at once
 * more, because it may have been mended since. False: nothing is missing.
 */
bool doctor_report_lacks(struct doctor_report *report, const char **ret_name,
			 struct finding *ret_finding);

/* SHA-256, in hex, of one line for each check: its state, a blank and its name. */
const char *doctor_report_digest(const struct doctor_report *report);
/* The names of those that are not ok; a new reference, NULL when out of memory. */
json_t *doctor_report_degraded(const struct doctor_report *report);

/* The digest of @states, in the order of doctor_checks. */
void doctor_digest(const enum finding_state *states, char ret_hex[65]);
