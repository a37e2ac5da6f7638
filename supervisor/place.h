/*
 * Where the host's own vitrined keeps its records and listens, for commands that were not told: as
 * its configuration has it, if that can be read, else the defaults.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct place {
	json_t *values; /* owned; what the texts are borrowed from; NULL: they are the defaults */
	const char *state, *socket;
};

/* What cannot be read says nothing. */
void place_read(struct place *ret_place);
void place_free(struct place *p);

static inline void cleanup_place(struct place *p)
{
	place_free(p);
}
