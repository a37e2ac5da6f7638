/*
 * The counts that a session's end states: per class, what was produced, journaled and lost.
 */
#pragma once

#include "../supervisor/record/event.h"

#include <stdbool.h>

struct counts {
	struct {
		bool known;
		uint64_t produced, journaled, lost;
	} classes[EVENT_CLASS_COUNT];
	uint64_t lost; /* of all classes */
};

/* Read the field `counts` of session.end. 0 or -EINVAL. */
int counts_parse(struct bytes json, struct counts *ret_counts);
