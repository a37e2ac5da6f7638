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
#include "checkpoints.h"
#include "event.h"

#include <stdint.h>
#include <sys/types.h>

struct journal;

enum journal_deed { JOURNAL_SEALED, JOURNAL_SIGNED };

/* What a journal takes from the world; tests put their own in its place. */
struct journal_system {
	ssize_t (*write)(void *context, int fd, const void *data, size_t size);
	int (*sync)(void *context, int fd);		       /* fdatasync: 0, or -1 with errno */
	uint64_t (*time_ns)(void *context);		       /* wall clock */
	uint64_t (*boot_ns)(void *context);		       /* CLOCK_BOOTTIME */
	int (*random)(void *context, void *data, size_t size); /* 0 or -errno */
	/* A block was sealed, a checkpoint signed; NULL: nobody wants to know. */
	void (*did)(void *context, enum journal_deed deed);
	void *context;
};
extern const struct journal_system journal_kernel;

struct journal_options {
	const char *session;	 /* session id, for the segment's head; 32 bytes at most */
	uint64_t segment_bytes;	 /* 0: 64 MiB */
	uint64_t block_bytes;	 /* 0: 1 MiB; 16 MiB at most */
	uint64_t block_ns;	 /* 0: 1 s */
	bool compress;		 /* zlib-compress segments when they are complete */
	uint64_t compress_least; /* but not those smaller than this; 0: 256 KiB */
	const struct journal_system *system; /* NULL: journal_kernel; borrowed for its life */
	const struct checkpoints_key *key; /* to sign checkpoints; copied. NULL: it goes unsigned */
};

/* Make its files ahead, empty and owned by who is to write it: to make a file takes longer than to
 * write a record. Whether that was done makes no difference to what follows. 0 or -errno. */
int journal_make_ahead(int dir_fd, uid_t uid, gid_t gid);

/*
 * Open the journal in directory @dir_fd (borrowed; kept open by a duplicate) for appending, or make
 * it. The write position is found by scanning the last segment; a torn tail is cut off and, if
 * anything was cut, declared by a gap record {class: journal, reason: torn}. A last segment that is
 * damaged before its end is left as it is: the journal goes on in a new one, which begins with a
 * gap record {class: journal, reason: damaged}. Returns 0, -EBADMSG (not a journal of this session,
 * or one whose place to go on cannot be found), -ENOTSUP (written by a newer version) or -errno.
 */
int journal_open(int dir_fd, const struct journal_options *options, struct journal **ret_journal);

/*
 * Append one redacted record; gives it the next seq (also in @ret_seq if not NULL). Copies. 0 or
 * -errno, and then the record was not taken: append it again after journal_retry. -E2BIG: its bytes
 * are more than a record can hold (32 MiB).
 */
int journal_append(struct journal *j, const struct redacted *record, uint64_t *ret_seq);

/*
 * write(2) all that was appended. Seals the block where it is full or old (@now_ns: monotonic), and
 * with a key writes a checkpoint where one is due: a second after the last one if there is anything
 * new, after 1,000 records unless the disk is slow to sync, and every minute. 0 or -errno.
 */
int journal_flush(struct journal *j, uint64_t now_ns);

/*
 * After a failed write (ENOSPC): try again from the exact byte. 0 once everything is in the file. A
 * sync that failed is for good (-EIO from then on): the kernel may have dropped what it did not
 * write.
 */
int journal_retry(struct journal *j);

/*
 * Sign from here on with @key (borrowed), for a journal that was opened without one. What was
 * appended before is signed too, by the first checkpoint that is due. 0 or -errno.
 */
struct checkpoints_key;
int journal_sign(struct journal *j, const struct checkpoints_key *key);

/* Seal the open block, fdatasync. The journal stays open. */
int journal_sync(struct journal *j);

/*
 * Compress one block of a segment that is complete (10 ms or so): to be called when there is
 * nothing else to do. True if there is more of it. What is left is done by journal_close. A failure
 * leaves the segment as it is and is none of the journal.
 */
bool journal_tidy(struct journal *j);

/* Numbers begin at 1. */
uint64_t journal_next_seq(const struct journal *j);
/* Size of all its segments. */
uint64_t journal_bytes(const struct journal *j);

/* Flush, seal, sync, finish the segment, sign the end and free. NULL is allowed. Returns the first
 * error, frees in any case. */
int journal_close(struct journal *j);
/* The same; @ret_note is the hash of the last checkpoint, zero if there is none. */
int journal_close_noted(struct journal *j, uint8_t ret_note[HASH_SIZE]);
/*
 * The same in two steps. After journal_end all records are on disk and the end is signed, but that
 * signature may be lost in a crash of the machine, as the checkpoint of the last second may; it is
 * then made again by who finishes the record. journal_settle syncs that too, packs what can be
 * packed, and frees.
 */
int journal_end(struct journal *j, uint8_t ret_note[HASH_SIZE]);
int journal_settle(struct journal *j);
