/*
 * The journal of one session: append only, one writer. See journal_format.h for the bytes.
 *
 * Nothing is buffered past journal_flush: after it returns 0 every appended record is in the file
 * by write(2) and the caller may move the ring's consumer position. After any failed write the
 * journal is `failed` and refuses everything but journal_retry and journal_close: a record is never
 * skipped.
 */
#pragma once

#include "../redact/redacted.h"
#include "event.h"

#include <stdint.h>

struct journal;

struct journal_options {
	const char *session;	/* session id, for the segment's head */
	uint64_t segment_bytes; /* 0: 64 MiB */
	uint64_t block_bytes;	/* 0: 1 MiB */
	uint64_t block_ns;	/* 0: 1 s */
	bool compress;		/* zlib-compress segments when they are complete */
};

/*
 * Open the journal in directory @dir_fd (borrowed; kept open by a duplicate) for appending, or make
 * it. The write position is found by scanning the last segment; a torn tail is cut off and, if
 * anything was cut, declared by a gap record {class: journal, reason: torn}. Returns 0 or -errno.
 */
int journal_open(int dir_fd, const struct journal_options *options, struct journal **ret_journal);

/* Append one redacted record; gives it the next seq (also in @ret_seq if not NULL). Copies. 0 or
 * -errno. */
int journal_append(struct journal *j, const struct redacted *record, uint64_t *ret_seq);

/* write(2) all that was appended. Seals the block where it is full or old (@now_ns: monotonic). 0
 * or -errno. */
int journal_flush(struct journal *j, uint64_t now_ns);

/* After a failed write (ENOSPC): try again from the exact byte. 0 once everything is in the file.
 */
int journal_retry(struct journal *j);

/* Seal the open block, fdatasync. The journal stays open. */
int journal_sync(struct journal *j);

uint64_t journal_next_seq(const struct journal *j);
uint64_t journal_bytes(const struct journal *j);

/* Flush, seal, sync, finish the segment and free. NULL is allowed. Returns the first error, frees
 * in any case. */
int journal_close(struct journal *j);
