/*
 * What every projection asks of a record, whatever the schema: how grave it is, whether the act
 * succeeded, and what it is called in words.
 */
#pragma once

#include "../../supervisor/record/event.h"

enum severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_COUNT };

/* "info", "low", "medium", "high"; closed by NULL. */
extern const char *const severity_names[];

enum outcome { OUTCOME_UNKNOWN, OUTCOME_SUCCESS, OUTCOME_FAILURE };

struct trait {
	const char *title; /* half a sentence, for people */
	enum severity severity;
	enum outcome outcome; /* where the record's own fields do not say */
};

/* Indexed by enum event_kind; entry 0 is empty. */
extern const struct trait trait_table[EVENT_KIND_COUNT];

/* How grave @e is: a denied connection is graver than one that was allowed. */
enum severity trait_severity(const struct event *e);

/* Whether the act succeeded, by its result, its verdict or its kind. */
enum outcome trait_outcome(const struct event *e);

/* True if the text of @field is @word. */
bool event_says(const struct event *e, enum event_field field, const char *word);
