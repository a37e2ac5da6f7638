/*
 * What a file was and is, as its file.final record says: size and hash before the session and at
 * its end.
 */
#pragma once

#include "document.h"
#include "line.h"

#define FINAL_HEX 65

struct final_version {
	bool has_size;
	uint64_t size;
	char sha256[FINAL_HEX]; /* empty: none */
	const char *unhashed;	/* static: why; NULL: there is one, or there need be none */
};

struct final_state {
	const char *change; /* static: the record's word; NULL: one that we do not know */
	struct final_version now, before;
	bool is_unexplained; /* no record of the session explains it */
	bool is_judged;	     /* it is known what was there before, and what explains it */
};

/* False where @e is no file.final record. */
bool final_state_read(const struct event *e, struct final_state *ret_state);

/* " sha256 HEX, was HEX", as far as they are there. */
void final_state_write(const struct final_state *s, const struct pen *pen);
/* As the member "final" of an object. */
void final_state_write_json(const struct final_state *s, struct document *d);

/* How many names of the final tree no record explains, and how many names a loss explains, as a
 * session.end says. False where it does not say. */
bool final_unexplained_of(const struct event *end, uint64_t *ret_count, uint64_t *ret_by_loss);
