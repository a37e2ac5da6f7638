/*
 * The bytes of a journal.
 *
 * A journal is a directory of segments, 000000.vtj, 000001.vtj and so on, beside `manifest.json`
 * and `checkpoints` (signed notes over the tree of record hashes; they are additions to what is
 * here and change nothing of it). A file whose name ends in .tmp is a rewrite that was not finished
 * and counts for nothing. All numbers are little-endian.
 *
 * Segment:  two equal heads, then frames.
 *
 *   head, 128 bytes   0  "vitrine\n"
 *                     8  u32  version, 1
 *                    12  u32  number of the segment, as in its name
 *                    16  u64  number that the first record has or will have
 *                    24  u64  salt, random
 *                    32       session id, filled up with NULs to 32 bytes
 *                    64       hash of the last block before this segment, 32 bytes, else zero
 *                    96  u64  blocks before this segment
 *                   104       zero
 *                   124  u32  CRC-32C of the 124 bytes before
 *
 *   frame, 12 bytes   0  u32  length of the payload, type << 28
 *                     4  u32  CRC-32C of the payload
 *                     8  u32  CRC-32C of the salt and the 8 bytes before
 *                    12       payload
 *
 * The salt makes sure that no frame of another file, and none that a session hid in its own data,
 * is ever taken for a frame of this one, also where a reader has to look for the next whole frame.
 *
 * Types of frames:
 *
 *   record  an event, as in codec.h. Numbers follow one another without a hole.
 *
 *   seal    closes a block: the record frames since the seal before it, 120 bytes
 *                     0  u64  number of the block in the session, from 0
 *                     8  u64  number of its first record
 *                    16  u64  how many records
 *                    24  u64  wall clock of its first record
 *                    32  u64  wall clock of its last record
 *                    40  u64  bytes of its record frames, heads included
 *                    48  u32  CRC-32C of these bytes
 *                    52  u32  zero
 *                    56       SHA-256 of these bytes
 *                    88       hash of the block before: the SHA-256 of its seal's payload; of block
 *                             0, zero
 *
 *   finish  the last frame of a segment, 48 bytes
 *                     0  u64  number that the next record will have
 *                     8  u32  1: the journal was closed; 0: it goes on in the next segment
 *                    12  u32  number of blocks so far, the low 32 bits
 *                    16       hash of the last block, else zero
 *
 *   packed  a block of a complete segment, compressed
 *                     0  u64  number of its first record
 *                     8  u64  how many records
 *                    16  u64  bytes of the block, its seal's frame included
 *                    24       these bytes as a zlib stream
 *
 * A journal that was closed and is written again goes on in a new segment. A crash can leave less
 * than a frame at the end of the last segment; whoever writes next cuts it off and says so in a gap
 * record.
 */
#pragma once

#include "event.h"
#include "hash.h"

#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_HEAD_SIZE 128
#define SEGMENT_HEADS_SIZE (2 * SEGMENT_HEAD_SIZE)
#define SEGMENT_SESSION_SIZE 32
#define SEGMENT_NAME_SIZE 32
#define SEGMENT_AHEAD "000000.vtj.ahead" /* the first, made ahead */
#define SEGMENT_NUMBER_MAX 999999

#define FRAME_HEAD_SIZE 12
#define FRAME_PAYLOAD_MAX (64u << 20)
#define SEAL_SIZE 120
#define FINISH_SIZE 48
#define PACKED_HEAD_SIZE 24

#define JOURNAL_SEGMENT_BYTES (64u << 20)
#define JOURNAL_BLOCK_BYTES (1u << 20)
#define JOURNAL_COMPRESS_LEAST (256u << 10) /* below, a sync costs more than it saves */
#define JOURNAL_BLOCK_NS 1000000000u
#define JOURNAL_RECORD_MAX (32u << 20)	    /* payload of one record */
#define JOURNAL_BLOCK_BYTES_MAX (16u << 20) /* what block_bytes may be */

struct segment_head {
	uint32_t number;
	uint64_t first_seq;
	uint64_t blocks; /* before this segment */
	uint64_t salt;
	char session[SEGMENT_SESSION_SIZE + 1];
	uint8_t previous[HASH_SIZE];
};

enum frame_type {
	FRAME_RECORD = 1,
	FRAME_SEAL = 2,
	FRAME_FINISH = 3,
	FRAME_PACKED = 4,
};

struct frame_head {
	enum frame_type type;
	uint32_t length; /* of the payload */
	uint32_t crc;	 /* of the payload */
};

struct seal {
	uint64_t block;
	uint64_t first_seq;
	uint64_t count;
	uint64_t first_time_ns;
	uint64_t last_time_ns;
	uint64_t bytes;
	uint32_t crc;
	uint8_t content[HASH_SIZE];
	uint8_t previous[HASH_SIZE];
};

struct finish {
	uint64_t next_seq;
	bool is_closed;
	uint32_t blocks;
	uint8_t last[HASH_SIZE];
};

struct packed_head {
	uint64_t first_seq;
	uint64_t count;
	uint64_t bytes;
};

/* "000007.vtj", with @suffix behind it. */
void segment_name(uint32_t number, const char *suffix, char ret_name[SEGMENT_NAME_SIZE]);
/* The number in such a name; false if @name is not one. */
bool segment_number(const char *name, uint32_t *ret_number);

/*
 * Each put writes the fixed size of its structure; each get checks all that can be checked without
 * other parts of the file, and returns false if it is not one.
 */
void segment_head_put(const struct segment_head *head, uint8_t at[SEGMENT_HEAD_SIZE]);
bool segment_head_get(const uint8_t at[SEGMENT_HEAD_SIZE], struct segment_head *ret_head);

/* @payload is the frame's, as it stands in the file. */
void frame_head_put(uint64_t salt, enum frame_type type, struct bytes payload,
		    uint8_t at[FRAME_HEAD_SIZE]);
bool frame_head_get(uint64_t salt, const uint8_t at[FRAME_HEAD_SIZE], struct frame_head *ret_head);

void seal_put(const struct seal *seal, uint8_t at[SEAL_SIZE]);
bool seal_get(struct bytes payload, struct seal *ret_seal);
void finish_put(const struct finish *finish, uint8_t at[FINISH_SIZE]);
bool finish_get(struct bytes payload, struct finish *ret_finish);
void packed_head_put(const struct packed_head *head, uint8_t at[PACKED_HEAD_SIZE]);
bool packed_head_get(struct bytes payload, struct packed_head *ret_head);
