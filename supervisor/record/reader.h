/*
 * Of a record whose first segments retention removed (front.h) the first record is given, if it was
 * kept (turns.h), then a gap, with the number of the last, in place of those that went, then what
 * is there.
 *
 * Reads the journal of one session while it is written, after a crash, or from a copy that somebody
 * cut or bent. Needs no daemon, no root and no BPF.
 */
#pragma once

#include "event.h"

#include <stdbool.h>
#include <stdint.h>

struct reader;

enum reader_state {
	READER_RECORD, /* a record was read */
	READER_END, /* no more for now: a live journal may grow; call again later. If the file ends
		     * within a record, reader_damage says so */
	READER_STOPPED, /* damage: what follows is not whole; reader_damage says where and why */
};

struct reader_damage {
	char segment[32];   /* file name */
	uint64_t offset;    /* of the first byte that is not good; of a compressed block, where it
			       stands */
	uint64_t after_seq; /* last good record before it */
	const char *why;    /* static text */
	bool is_missing;    /* whole segments are not there: what is, is good */
};

/* Open the journal in directory @dir_fd (borrowed, duplicated). 0 or -errno (-ENOENT: no segment).
 */
int reader_open(int dir_fd, struct reader **ret_reader);

/* Read the next record; its values stay valid until the next call. */
enum reader_state reader_next(struct reader *r, struct event *ret_event);

/*
 * Go to the first record with seq >= @seq (by the blocks' heads, without reading all). The next
 * reader_next gives it. 0 or -errno.
 */
int reader_seek(struct reader *r, uint64_t seq);

/*
 * After READER_STOPPED: skip to the next whole record behind the damage, if there is any; the
 * damage is the caller's to show. What is read then follows with a hole in its numbers.
 */
bool reader_skip_damage(struct reader *r);
/* Bytes of the last record that was read, as codec.h has them: what its leaf in the tree is made
 * of. Valid until the next call. */
struct bytes reader_payload(const struct reader *r);

/* If the last record that was given is the gap in place of what retention removed: the number of
 * the last one that went; else 0. It has no payload, for it is not in the journal. */
uint64_t reader_removed(const struct reader *r);

/* The number of the last record that was read or passed over; 0 before the first. */
uint64_t reader_position(const struct reader *r);

/* Blocks that were closed by seals up to the last record read, and the hash of the last of them. */
uint64_t reader_blocks(const struct reader *r);
const uint8_t *reader_last_block(const struct reader *r);

/* From now on hold each block against the SHA-256 in its seal, too. */
void reader_check_content(struct reader *r);

/* NULL where there is none. */
const struct reader_damage *reader_damage(const struct reader *r);

/* The id of the session, from the first segment that was read; NULL before the first record. */
const char *reader_session(const struct reader *r);

/* True if the last segment was finished and closed (the session ended properly). */
bool reader_is_complete(const struct reader *r);

/* Of a complete journal: the number behind its last record, by what its end says. */
uint64_t reader_end_seq(const struct reader *r);

void reader_free(struct reader *r);
