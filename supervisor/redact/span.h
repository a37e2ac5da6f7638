/* Parts of a text that go. */
#pragma once

#include "../record/event.h"

/* Rules are numbered: first the secrets of the session, then the detectors. */
struct span {
	size_t start, end;
	uint32_t rule;
	uint32_t tag; /* of the value that is cut */
	const char *form;
	bool is_partial;    /* only the beginning of the secret is there */
	size_t source_size; /* of the value as it is usually written; 0: not known */
	bool is_piece;	    /* of a value that is looked for in pieces */
};

/* Spans in order, apart from each other; kept from text to text. */
struct spans {
	struct span *items;
	size_t count, room;
};

void spans_free(struct spans *spans);
/* Put one behind the others. 0 or -ENOMEM. */
int spans_add(struct spans *spans, struct span span);
/* Put one where it belongs; one that overlaps others becomes one with them, of the first one's
 * rule. 0 or -ENOMEM. */
int spans_merge(struct spans *spans, struct span span);
/* The span that @at lies within (not at its ends), or NULL. */
const struct span *spans_over(const struct spans *spans, size_t at);
