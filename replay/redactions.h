/*
 * What was cut from a record, by rule.
 */
#pragma once

#include "keymap.h"

#define REDACTIONS_RULES_MAX 256

struct redactions {
	struct keymap *rules;
	uint64_t times[REDACTIONS_RULES_MAX];
	uint64_t others, unreadable;
	uint64_t records;
};

int redactions_new(struct redactions **ret_redactions);
void redactions_free(struct redactions *r);

/* Count what @e says was cut from it. 0 or -ENOMEM. */
int redactions_add(struct redactions *r, const struct event *e);
