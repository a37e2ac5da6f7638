/*
 * Dead letters: records that a receiver refuses for good, with its reason, in
 * <dir>/<sink>.dead.jsonl.
 */
#pragma once

#include "sinks/batch.h"

/*
 * Write the items of @b that are refused, one a line: sink, session, seq, time of the refusal,
 * reason, what the receiver answered, and the record as it was sent. On disk when it returns 0,
 * with their number in *ret_count; else -errno.
 */
int dead_write(int dir_fd, const char *sink, const struct batch *b, uint64_t now_ns,
	       size_t *ret_count);
