/*
 * Redacted records that wait in memory because the journal cannot take them now. Only the trouble
 * of a full disk fills it, and then drains stop, so that it holds what one record and our own few
 * events make.
 */
#pragma once

#include "../redact/redacted.h"

#include <stdbool.h>

struct spilled;

struct spill {
	struct spilled *first, *last;
};

/* Copy @record to the end. 0 or -ENOMEM. */
int spill_add(struct spill *s, const struct redacted *record);
bool spill_is_empty(const struct spill *s);
/* The oldest record, NULL if there is none; valid until it is dropped. */
const struct redacted *spill_first(const struct spill *s);
void spill_drop_first(struct spill *s);
void spill_clear(struct spill *s);
