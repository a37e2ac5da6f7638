/*
 * The shape net: all detectors as one automaton of their keywords, and for each hit the pattern of
 * the detector, then what decides. Compiled once for a process, before it is confined.
 */
#pragma once

#include "../record/event.h"
#include "span.h"

struct shapes;

/* What began longer ago is judged as it stands; with what a pattern may look at before it. */
#define SHAPES_HELD_MOST 8192
#define SHAPES_CONTEXT_MOST 96

/* 0, or -ENOMEM, -EINVAL (a pattern is wrong). */
int shapes_new(struct shapes **ret_shapes);
void shapes_free(struct shapes *s);

/* SHA-256 of the table. */
void shapes_digest(uint8_t ret_digest[32]);
/* The number of the detector of that name; detector_count if there is none. */
size_t shapes_by_name(const char *name, size_t length);

/* What one redactor searches with. */
struct shape_search;
int shape_search_new(const struct shapes *s, struct shape_search **ret_search);
void shape_search_free(struct shape_search *q);
void shape_search_switch_off(struct shape_search *q, size_t detector);
bool shape_search_is_off(const struct shape_search *q, size_t detector);

struct shape_hit {
	size_t start, end;
	size_t detector;
	bool is_over_budget; /* not looked at to the end: it goes */
};

/*
 * Call @take for each secret of @text. If @may_go_on, more text follows: *ret_held is then where
 * the first thing begins that cannot be judged yet (text.size: nothing), and *ret_context from
 * where on the text is needed to judge what follows. Both may be NULL. Returns 0 or the first error
 * of @take.
 */
typedef int shape_take(void *context, const struct shape_hit *hit);
int shapes_find(struct shape_search *q, struct bytes text, bool may_go_on, size_t *ret_held,
		size_t *ret_context, shape_take *take, void *context);
