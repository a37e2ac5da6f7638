/*
 * The checkpoints of a session, read and checked by themselves: each was signed by the key whose
 * turn it was and names the one before. What they say of the journal are marks to hold it against.
 */
#pragma once

#include "verify.h"

struct mark {
	uint64_t size, time_ns, blocks;
	uint8_t root[HASH_SIZE], last_block[HASH_SIZE], hash[HASH_SIZE];
	bool is_end, is_opening, is_turn;
};

struct marks {
	struct mark *list; /* owned */
	size_t count;
};

/*
 * Read those in @dir_fd; judges in @result. *ret_marks has those that are good, up to the first
 * that is not. 0 or -errno.
 */
int marks_read(int dir_fd, const struct verify_options *options, struct verify_result *result,
	       struct marks *ret_marks);
void marks_free(struct marks *marks);
