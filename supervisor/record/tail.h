/*
 * Where a journal goes on: found from its last segment alone, after a proper end or a crash.
 */
#pragma once

#include "journal_format.h"

struct chain;

struct tail {
	uint32_t number; /* segment to write to */
	bool is_new;	 /* it has to be made */
	uint64_t offset; /* where to write in it; what lies behind is torn */
	uint64_t salt;	 /* of that segment */
	uint64_t next_seq;
	uint64_t blocks;	 /* closed blocks in the journal */
	uint8_t last[HASH_SIZE]; /* hash of the last of them */
	uint64_t block_offset;	 /* where the records behind the last seal begin */
	uint64_t bytes;		 /* size of all other segments */
	const char *gap;	 /* "torn", "damaged", or NULL: nothing is missing */
};

/*
 * Find the tail of the journal of @session in @dir_fd. Changes nothing but that it removes a
 * segment which has no whole head yet. 0, -EBADMSG, -ENOTSUP or -errno, as journal_open.
 */
int tail_find(int dir_fd, const char *session, struct tail *ret_tail);

/* Add the records behind the last seal to @chain: they are its open block. 0 or -errno. */
int tail_replay(int dir_fd, const struct tail *tail, struct chain *chain);
