/* The commands that were given to a session, each with its end. Bounded. */
#pragma once

#include "kept.h"
#include "line.h"

#define GIVEN_KEPT_MAX 64  /* the first ones */
#define GIVEN_SHOWN_MAX 12 /* of them in a row of a page */

struct given_list {
	struct kept starts[GIVEN_KEPT_MAX];
	struct kept ends[GIVEN_KEPT_MAX]; /* of the start beside it; kind EVENT_KIND_NONE: none */
	size_t count;
	uint64_t times; /* how many there were */
};

void given_free(struct given_list *g);

/* Take @e if it is exec.start or exec.end. 0 or -ENOMEM. */
int given_add(struct given_list *g, const struct event *e);

/* One of them in words: what it was and how it ended. */
void given_write(const struct given_list *g, size_t i, const struct pen *pen);
