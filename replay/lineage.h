/*
 * Where something came from and where it went: the acts on a file, or of a process and those below
 * it, and what the processes that had it did afterwards.
 *
 * A process "has" the subject from the moment at which it is the subject, reads it or runs it; so
 * do, from their fork on, the processes that it forks then. That is what could have happened, not
 * proof that bytes went that way.
 */
#pragma once

#include "aliases.h"
#include "question.h"

#define LINEAGE_SHOWN_MAX 200		       /* events of one section */
#define LINEAGE_BYTES_MAX (UINT64_C(64) << 20) /* of all lines that are kept */

enum section {
	SECTION_WROTE,
	SECTION_MOVED,
	SECTION_READ,
	SECTION_RAN,
	SECTION_WROTE_AFTER, /* files that those who had it wrote afterwards */
	SECTION_SENT_AFTER,  /* what left by network */
	SECTION_LEFT,	     /* what it is at the session's end */
	SECTION_COUNT
};

extern const char *const section_names[SECTION_COUNT];

struct section_lines {
	char **lines; /* text, or canonical JSON; without an end of line */
	size_t count;
	uint64_t left_out;
};

struct lineage {
	struct answer answer;
	const struct aliases *aliases; /* of a file; NULL: the subject is a process */
	const char *proc;	       /* its key or pid */
	uint64_t *has_since;	       /* by number of actor: seq + 1, 0 for never */
	size_t room;
	uint64_t subjects; /* processes that fit @proc */
	uint64_t bytes;
	struct section_lines sections[SECTION_COUNT];
};

/* 0 or -ENOMEM. */
int lineage_add(struct lineage *l, const struct event *e, const struct origin *origin);
void lineage_free(struct lineage *l); /* what @l holds, not itself */
