/*
 * A copy of an event that outlives the journal's buffer.
 */
#pragma once

#include "../supervisor/record/event.h"

struct kept {
	struct event event; /* kind EVENT_KIND_NONE: nothing is kept */
	void *memory;	    /* owned; what the values point into */
};

/* Keep @e in place of what @k held. 0 or -ENOMEM (@k is untouched then). */
int kept_set(struct kept *k, const struct event *e);
void kept_free(struct kept *k);
