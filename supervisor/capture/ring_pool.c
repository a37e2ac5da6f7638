/*
 * Life of a slot: empty -> ready (a clean ring is in the map) -> taken -> left -> ready or empty.
 */
#include "ring_pool.h"

#include "../record/cleanup.h"
#include "ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#define BATCH 64

enum slot_state { SLOT_EMPTY, SLOT_READY, SLOT_TAKEN, SLOT_LEFT };

struct ring_pool {
	int map_fd;
	int parking_fd; /* a ring of one page that stands in slots whose ring was dropped */
	uint64_t ring_bytes;
	uint32_t keep;
	uint32_t counts[SLOT_LEFT + 1];
	struct ring_slot {
		enum slot_state state;
		int fd; /* of the ring, -1 without */
	} slots[SESSION_SLOTS];
};

struct batch {
	uint32_t count;
	uint32_t slots[BATCH];
	int fds[BATCH]; /* what the slot gets: a new ring, its own again, or the parking one */
};

static int make_ring(uint64_t bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, (uint32_t)bytes, NULL);

	return fd < 0 ? -errno : fd;
}

static void set_state(struct ring_pool *p, uint32_t slot, enum slot_state state)
{
	p->counts[p->slots[slot].state]--;
	p->slots[slot].state = state;
	p->counts[state]++;
}

static void batch_add(struct batch *b, uint32_t slot, int fd)
{
	b->slots[b->count] = slot;
	b->fds[b->count] = fd;
	b->count++;
}

/* Skip what the session before has left in the ring. */
static int empty_ring(struct ring_pool *p, int fd)
{
	struct ring ring;

	int r = ring_map(&ring, fd, p->ring_bytes);
	if (r < 0)
		return r;

	__atomic_store_n(ring.consumer, ring_produced(&ring), __ATOMIC_RELEASE);
	ring_unmap(&ring);
	return 0;
}

/* A slot of the batch stands in the map now, and no program runs that saw what stood there. */
static int settle_slot(struct ring_pool *p, uint32_t slot, int fd)
{
	struct ring_slot *s = &p->slots[slot];

	if (fd == p->parking_fd) {
		close(take_fd(s->fd));
		set_state(p, slot, SLOT_EMPTY);
		return 0;
	}
	if (s->state == SLOT_LEFT) {
		int r = empty_ring(p, fd);
		if (r < 0)
			return r;
	}
	s->fd = fd;
	set_state(p, slot, SLOT_READY);
	return 0;
}

/* Put the batch into the map: one wait for all of it. New rings of a batch that fails are closed.
 */
static int commit(struct ring_pool *p, struct batch *b)
{
	uint32_t count = b->count;
	int r = 0;

	if (bpf_map_update_batch(p->map_fd, b->slots, b->fds, &count, NULL) < 0)
		r = -errno;
	for (uint32_t i = 0; i < b->count; i++) {
		if (r == 0)
			r = settle_slot(p, b->slots[i], b->fds[i]);
		else if (p->slots[b->slots[i]].fd < 0)
			close(b->fds[i]);
	}
	return r;
}

/* The rings that sessions have left become ready again; those beyond what is kept are dropped. */
static void collect_left(struct ring_pool *p, struct batch *b)
{
	uint32_t ready = p->counts[SLOT_READY];

	for (uint32_t i = 0; i < SESSION_SLOTS && b->count < BATCH; i++) {
		if (p->slots[i].state != SLOT_LEFT)
			continue;
		if (ready < p->keep || ready == 0) {
			batch_add(b, i, p->slots[i].fd);
			ready++;
		} else {
			batch_add(b, i, p->parking_fd);
		}
	}
}

static int collect_new(struct ring_pool *p, struct batch *b, uint32_t wanted)
{
	for (uint32_t i = 0; i < SESSION_SLOTS && wanted > 0 && b->count < BATCH; i++) {
		if (p->slots[i].state != SLOT_EMPTY)
			continue;

		int fd = make_ring(p->ring_bytes);
		if (fd < 0)
			return b->count > 0 ? 0 : fd;
		batch_add(b, i, fd);
		wanted--;
	}
	return 0;
}

static int make_new(struct ring_pool *p, uint32_t wanted)
{
	while (wanted > 0) {
		struct batch b = {.count = 0};

		int r = collect_new(p, &b, wanted);
		if (r < 0)
			return r;
		if (b.count == 0)
			return -ENOSPC;
		wanted -= b.count;

		r = commit(p, &b);
		if (r < 0)
			return r;
	}
	return 0;
}

static int reuse_left(struct ring_pool *p)
{
	struct batch b = {.count = 0};

	collect_left(p, &b);
	return b.count > 0 ? commit(p, &b) : 0;
}

int ring_pool_new(int rings_map_fd, uint64_t ring_bytes, uint32_t keep, struct ring_pool **ret_pool)
{
	struct ring_pool *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;

	p->map_fd = rings_map_fd;
	p->ring_bytes = ring_bytes;
	p->keep = keep > SESSION_SLOTS ? SESSION_SLOTS : keep;
	p->counts[SLOT_EMPTY] = SESSION_SLOTS;
	for (uint32_t i = 0; i < SESSION_SLOTS; i++)
		p->slots[i].fd = -1;

	int r = p->parking_fd = make_ring((uint64_t)getpagesize());
	if (r >= 0)
		r = make_new(p, p->keep);
	if (r < 0) {
		ring_pool_free(p);
		return r;
	}
	*ret_pool = p;
	return 0;
}

int ring_pool_take(struct ring_pool *p, uint32_t *ret_slot, int *ret_fd)
{
	int r = 0;

	if (p->counts[SLOT_READY] == 0 && p->counts[SLOT_LEFT] > 0)
		r = reuse_left(p);
	if (r == 0 && p->counts[SLOT_READY] == 0)
		r = make_new(p, 1);
	if (r < 0)
		return r;

	for (uint32_t i = 0; i < SESSION_SLOTS; i++) {
		if (p->slots[i].state != SLOT_READY)
			continue;
		set_state(p, i, SLOT_TAKEN);
		*ret_slot = i;
		*ret_fd = p->slots[i].fd;
		return 0;
	}
	return -ENOSPC;
}

/* Waiting for half of the kept rings makes the wait rare, and leaves the other half to take. */
void ring_pool_give(struct ring_pool *p, uint32_t slot)
{
	if (slot >= SESSION_SLOTS || p->slots[slot].state != SLOT_TAKEN)
		return;
	set_state(p, slot, SLOT_LEFT);
	if (p->counts[SLOT_LEFT] > p->keep / 2 + 1 || p->counts[SLOT_LEFT] >= BATCH)
		(void)reuse_left(p); /* what fails now is tried again by the next take */
}

void ring_pool_free(struct ring_pool *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < SESSION_SLOTS; i++)
		if (p->slots[i].fd >= 0)
			close(p->slots[i].fd);
	if (p->parking_fd >= 0)
		close(p->parking_fd);
	free(p);
}
