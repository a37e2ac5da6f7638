/*
 * The shape net: all detectors as one automaton of their keywords, and for each hit the pattern of
 * the detector, then what decides. Compiled once for a process, before it is confined.
 */
#pragma once

#include "../record/event.h"
#include "detector.h"
#include "span.h"

#include <jansson.h>

struct shapes;

/* What began longer ago is judged as it stands; with what a pattern may look at before it. */
#define SHAPES_HELD_MOST 8192
#define SHAPES_CONTEXT_MOST 96

/*
 * The table of detectors. Who reads streams wants the patterns as machine code (twice as fast over
 * the output of builds), which takes four times as long to make (4 ms). A file of patterns compiled
 * before would save a tenth of that, because machine code cannot be kept in one: so there is none.
 * 0, or -ENOMEM, -EINVAL (a pattern is wrong).
 */
enum shapes_code { SHAPES_READ, SHAPES_MACHINE_CODE };
int shapes_new(enum shapes_code code, struct shapes **ret_shapes);
/*
 * The same with the rules of a policy (rules.h). @base is borrowed and has to outlive it: only
 * patterns that are not its own are compiled. 0, -ENOMEM, or -EINVAL with the reason in @why
 * (RULES_WHY bytes).
 */
int shapes_change(const struct shapes *base, const json_t *changes, struct shapes **ret_shapes,
		  char *why);
void shapes_free(struct shapes *s);

/* SHA-256 of the table. */
void shapes_digest(uint8_t ret_digest[32]);
size_t shapes_count(const struct shapes *s);
const struct detector *shapes_detector(const struct shapes *s, size_t number);
/* The number of the detector of that name; shapes_count if there is none. */
size_t shapes_by_name(const struct shapes *s, const char *name);

/* What one redactor searches with. */
struct shape_search;
int shape_search_new(const struct shapes *s, struct shape_search **ret_search);
void shape_search_free(struct shape_search *q);
const struct shapes *shape_search_shapes(const struct shape_search *q);
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
