/*
 * What a session did, as a set of facts that can be held against another session's: programs in
 * their place in the process tree, packages, files, peers, refusals. Whatever differs between two
 * runs of the same thing (pids, times, made-up names) is taken out.
 */
#pragma once

#include "keymap.h"
#include "question.h"

#define FACTS_MAX (1 << 20) /* of one session */

enum fact_kind { FACT_PROGRAM, FACT_PACKAGE, FACT_FILE, FACT_PEER, FACT_REFUSAL, FACT_KIND_COUNT };

extern const char *const fact_names[FACT_KIND_COUNT];

struct facts {
	struct keymap *keys; /* a byte, the kind, and the text */
	uint64_t *times;
	size_t room;
	uint64_t left_out, damages;
	uint64_t missing; /* records that the gaps miss */
	bool hashes;	  /* asked for: facts of files have the hash of what was left */
	bool ended;
};

int facts_new(struct facts **ret_facts);
void facts_free(struct facts *f);

/* A view whose view_options.asked is the struct facts to fill. */
extern const struct view view_facts;

/*
 * Write @text to @ret_text (of @room bytes, at least 64), without what is made up anew in every
 * run: a row of three or more digits, and one of eight or more hex digits of both sorts, becomes a
 * #; what follows /tmp/ or /var/tmp/ up to the next slash becomes a *. Cut where there is no room.
 * Returns its size.
 */
size_t normalise(struct bytes text, char *ret_text, size_t room);
