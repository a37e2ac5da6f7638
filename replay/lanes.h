/*
 * How many records of each class there were over a session's time, in at most LANES_PARTS equal
 * parts. The length of the session need not be known before: when it outgrows the parts, they are
 * joined in pairs.
 */
#pragma once

#include "../supervisor/record/event.h"

#define LANES_PARTS 240

struct lanes {
	uint64_t part_ns; /* how long a part is; begin with 0 */
	size_t used;	  /* parts, up to the last record */
	uint64_t counts[EVENT_CLASS_COUNT][LANES_PARTS];
	uint64_t gaps[LANES_PARTS];   /* gap records */
	uint64_t limits[LANES_PARTS]; /* limits that were hit */
};

void lanes_add(struct lanes *l, uint64_t elapsed_ns, const struct event *e);
