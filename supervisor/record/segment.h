/*
 * Reads one segment, frame by frame, from a file that may be growing, cut or bent.
 */
#pragma once

#include "journal_format.h"

struct segment;

struct frame {
	enum frame_type type; /* never FRAME_PACKED from segment_next */
	struct bytes payload; /* valid until the next call */
	struct bytes whole;   /* head and payload as the writer wrote them */
	uint64_t offset;      /* in the file; of a record that was packed, of its packed frame */
};

enum segment_state {
	SEGMENT_FRAME,
	SEGMENT_END,	 /* the file ends after a whole frame */
	SEGMENT_TORN,	 /* the file ends within a frame: it was cut, or is being written */
	SEGMENT_DAMAGED, /* what is at segment_offset is not a whole frame */
};

/*
 * Open segment @number below @dir_fd (borrowed). 0, -ENOENT, -EBADMSG (both heads are not whole, or
 * it is no regular file), -ENODATA (shorter than its heads, or they are blank: it was never begun)
 * or -errno.
 */
int segment_open(int dir_fd, uint32_t number, struct segment **ret_segment);
void segment_free(struct segment *s);

const struct segment_head *segment_head(const struct segment *s);

/*
 * The next frame, checked; packed blocks are unpacked into the frames that they hold. After any
 * other state than SEGMENT_FRAME the place stays: a later call looks again.
 */
enum segment_state segment_next(struct segment *s, struct frame *ret_frame);

/* As segment_next, but packed blocks stay packed. */
enum segment_state segment_next_raw(struct segment *s, struct frame *ret_frame);

/* As segment_next_raw without reading all: of a record there is no payload, of a packed block only
 * its head, unchecked. */
enum segment_state segment_next_head(struct segment *s, struct frame *ret_frame);

/* Where the next frame is looked for; of a packed block that is being taken apart, where it stands.
 */
uint64_t segment_offset(const struct segment *s);
void segment_go(struct segment *s, uint64_t offset);

/* After SEGMENT_DAMAGED: why, a static text. */
const char *segment_why(const struct segment *s);

/* Past damage or an unwanted frame: go to the next whole frame behind it. False if there is none.
 */
bool segment_resync(struct segment *s);

/* True if there are only zeros from the place to the end: room that a crash left unwritten. */
bool segment_is_blank(struct segment *s);

/* Size of the file now, or -errno. */
int64_t segment_size(const struct segment *s);

/* The least number above @number (-1: of all) among the segments in @dir_fd. -ENOENT: none. */
int segment_after(int dir_fd, int64_t number, uint32_t *ret_number);

/* The greatest number below @number (INT64_MAX: of all). -ENOENT: none. */
int segment_before(int dir_fd, int64_t number, uint32_t *ret_number);
