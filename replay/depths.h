/*
 * How deep each process stands in the process tree, for indentation. Bounded: what has not been
 * seen for long is forgotten, and is then shown at the margin.
 */
#pragma once

#include "../supervisor/record/event.h"

struct depths;

struct depths *depths_new(void);
void depths_free(struct depths *d);

/* Learn from @e (forks and execs), and tell how deep the process that acted stands; 0: at the top,
 * or unknown. */
unsigned int depths_of(struct depths *d, const struct event *e);
