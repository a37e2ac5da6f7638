/*
 * Documents that hold nothing to be cut, the last one of each field: most sessions bring the same
 * policy and the same words of their host, which need not be taken apart anew for each.
 *
 * Only redactors that find the same in them may share it: those of one table of detectors, with all
 * of it, and without secrets of their own.
 */
#pragma once

#include "../record/event.h"

struct clean;

/* NULL: out of memory. */
struct clean *clean_new(void);
void clean_free(struct clean *c);

bool clean_has(const struct clean *c, enum event_field field, struct bytes text);
/* Copies it. Without memory, or where it is long, it is not kept. */
void clean_keep(struct clean *c, enum event_field field, struct bytes text);
