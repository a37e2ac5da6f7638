/*
 * A reader of a BPF ring buffer (BPF_MAP_TYPE_RINGBUF) that decides by itself when room is given
 * back: records are read ahead, and the consumer position moves only when the caller says so, that
 * is when they are in the journal. libbpf's reader moves it at each record, cannot stop at a
 * position and cannot drop a ring.
 *
 * Layout (kernel/bpf/ringbuf.c): one page with the consumer position (ours to write), one page with
 * the producer position, then the data, mapped twice back to back so that no record is split.
 */
#pragma once

#include "../record/event.h"

#include <stdint.h>

struct ring {
	uint64_t *consumer;	  /* shared with the kernel */
	const uint64_t *producer; /* likewise */
	const uint8_t *data;	  /* twice size_bytes */
	uint64_t size_bytes;	  /* power of two */
	uint64_t position;	  /* of the next record to read; at or ahead of *consumer */
	void *mappings[2];	  /* owned; NULL if the memory is somebody else's */
	size_t mapping_bytes[2];
};

enum ring_state {
	RING_RECORD, /* a record */
	RING_END,    /* nothing more up to the limit */
	RING_BUSY,   /* the next record is being written: come back later */
	RING_BAD,    /* the memory is not that of a ring: nothing behind can be trusted */
};

/* Map the ring behind @fd (borrowed). 0 or -errno. */
int ring_map(struct ring *r, int fd, uint64_t size_bytes);
void ring_unmap(struct ring *r);

/* Move the consumer position of the ring behind @fd, which nobody reads, to its end. 0 or -errno.
 */
int ring_skip_all(int fd);

/* How far the kernel has written: the limit of a bounded drain. */
uint64_t ring_produced(const struct ring *r);

/* Bytes between the consumer position and the producer's. */
uint64_t ring_fill(const struct ring *r);

/*
 * The next record below @limit; discarded ones are passed over. Its bytes lie in the ring, aligned
 * to 8, and stay until ring_release passes them. @ret_position is where the record begins.
 */
enum ring_state ring_next(struct ring *r, uint64_t limit, struct bytes *ret_record,
			  uint64_t *ret_position);

/* Give the room below @position (at most the position read so far) back to the kernel. */
void ring_release(struct ring *r, uint64_t position);

/* Read again from what was not released. */
void ring_rewind(struct ring *r);
