/*
 * What a host lacks for sessions and their records, found out by looking and by trying: whatever is
 * tried is seen by nobody else and gone at once. One row of doctor_checks is one thing that is
 * needed.
 */
#pragma once

#include <stdbool.h>

enum finding_state {
	FINDING_OK,
	FINDING_DEGRADED, /* sessions run; `lost` says what they do without */
	FINDING_MISSING,  /* no session runs, or none as it has to */
};

struct finding {
	enum finding_state state;
	char found[256]; /* what is there */
	char lost[192];	 /* with FINDING_DEGRADED */
	char mend[384];	 /* what to do; empty: nothing can be done about it here */
};

/* Whom the host is looked at for. */
struct doctor_subject {
	const char *state;     /* state directory; it need not be there yet */
	const char *workspace; /* a directory for /workspace */
	bool is_root;
	const char *kept; /* file that holds what was tried already; NULL: none does */
	/* NULL-terminated: hooks that the sensors, which are loaded already, do without; NULL:
	 * vitrined is asked to load them. */
	const char *const *missing_sensors;
};

#define DOCTOR_CHECKS_MAX 32

struct doctor_check {
	const char *name; /* NULL closes the table */
	bool is_tried;	  /* by a child that does what a session does, which takes milliseconds */
	void (*look)(const struct doctor_subject *subject, struct finding *ret_finding);
};

extern const struct doctor_check doctor_checks[];
extern const char *const finding_state_names[];

/* Fill a finding (printf forms; NULL for what is not said). */
void finding_ok(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void finding_degraded(struct finding *f, const char *lost, const char *mend, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));
void finding_missing(struct finding *f, const char *mend, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Rows that try what the sandbox does, see doctor_sandbox.c. */
void doctor_namespaces(const struct doctor_subject *subject, struct finding *ret_finding);
void doctor_idmap(const struct doctor_subject *subject, struct finding *ret_finding);
void doctor_overlay(const struct doctor_subject *subject, struct finding *ret_finding);
void doctor_fanotify(const struct doctor_subject *subject, struct finding *ret_finding);
void doctor_seccomp(const struct doctor_subject *subject, struct finding *ret_finding);
void doctor_landlock(const struct doctor_subject *subject, struct finding *ret_finding);
