/*
 * The rings of all sessions: one BPF ring buffer a slot, in the array of maps `rings`.
 *
 * Putting a ring into an array of maps waits for all running programs (RCU, some milliseconds),
 * and a batch of them waits once; so a thread puts them in, ahead and in batches. A ring that a
 * session has left is put in again before it is given out: after that wait no program that still
 * knew the old session can write to it, and its consumer position is moved to its end.
 */
#pragma once

#include "../../bpf/wire.h"

#include <stdint.h>

struct ring_pool;

struct ring_taken {
	uint32_t slot;
	int fd;	     /* stays the pool's */
	uint64_t id; /* of the ring, which may be in that slot again after this session */
};

/*
 * @rings_map_fd is borrowed. @ring_bytes is a power of two. @keep rings are made at once and kept;
 * more are made when more are asked for, and dropped later. 0 or -errno.
 */
int ring_pool_new(int rings_map_fd, uint64_t ring_bytes, uint32_t keep,
		  struct ring_pool **ret_pool);
void ring_pool_free(struct ring_pool *p);

/* A slot with an empty ring; waits for one to be made where none is ready. -ENOSPC: all slots are
 * taken. */
int ring_pool_take(struct ring_pool *p, struct ring_taken *ret_ring);

/* The session has gone and its reader has let go of the ring. */
void ring_pool_give(struct ring_pool *p, uint32_t slot);
