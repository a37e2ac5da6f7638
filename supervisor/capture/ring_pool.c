/*
 * Life of a slot: empty -> ready (a clean ring is in the map) -> taken -> left -> ready or empty.
 * All of it is under one lock; while the thread waits for the kernel the slots of its batch are
 * moving, which nobody else touches.
 */
#include "ring_pool.h"

#include "../record/cleanup.h"
#include "ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define BATCH 64

enum slot_state { SLOT_EMPTY, SLOT_READY, SLOT_TAKEN, SLOT_LEFT, SLOT_MOVING };

struct ring_pool {
	int map_fd;
	int parking_fd; /* a ring of one page that stands in slots whose ring was dropped */
	uint64_t ring_bytes;
	uint32_t keep;
	uint64_t last_id;
	pthread_mutex_t lock;
	pthread_cond_t work, settled;
	pthread_t thread;
	bool has_thread, stop;
	uint32_t wanted; /* how many wait for a ring */
	int error;	 /* of the last batch */
	uint32_t counts[SLOT_MOVING + 1];
	struct ring_slot {
		enum slot_state state;
		int fd; /* of the ring, -1 without */
		uint64_t id;
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

/* ---- a batch ---- */

static void batch_add(struct ring_pool *p, struct batch *b, uint32_t slot, int fd)
{
	set_state(p, slot, SLOT_MOVING);
	b->slots[b->count] = slot;
	b->fds[b->count] = fd;
	b->count++;
}

/* The rings that sessions have left become ready again; those beyond what is kept are dropped. */
static void collect_left(struct ring_pool *p, struct batch *b)
{
	uint32_t least = p->keep > p->wanted ? p->keep : p->wanted;
	uint32_t ready = p->counts[SLOT_READY];

	for (uint32_t i = 0; i < SESSION_SLOTS && b->count < BATCH; i++) {
		if (p->slots[i].state != SLOT_LEFT)
			continue;
		if (ready < least || ready == 0) {
			batch_add(p, b, i, p->slots[i].fd);
			ready++;
		} else {
			batch_add(p, b, i, p->parking_fd);
		}
	}
}

/* New rings for those that wait, and up to what is kept ready. */
static int collect_new(struct ring_pool *p, struct batch *b)
{
	uint32_t least = p->keep / 2 > p->wanted ? p->keep / 2 : p->wanted;

	for (uint32_t i = 0; i < SESSION_SLOTS && b->count < BATCH; i++) {
		if (p->counts[SLOT_READY] + b->count >= least)
			break;
		if (p->slots[i].state != SLOT_EMPTY)
			continue;

		int fd = make_ring(p->ring_bytes);
		if (fd < 0)
			return b->count > 0 ? 0 : fd;
		p->slots[i].id = ++p->last_id;
		batch_add(p, b, i, fd);
	}
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
	int r = s->fd >= 0 ? ring_skip_all(fd) : 0;
	s->fd = fd;
	set_state(p, slot, r < 0 ? SLOT_LEFT : SLOT_READY);
	return r;
}

/* New rings of a batch that failed are closed; what was left is left. */
static void undo_slot(struct ring_pool *p, uint32_t slot, int fd)
{
	if (p->slots[slot].fd < 0)
		close(fd);
	set_state(p, slot, p->slots[slot].fd < 0 ? SLOT_EMPTY : SLOT_LEFT);
}

/* Put the batch into the map: one wait for all of it, without the lock. */
static void commit(struct ring_pool *p, struct batch *b)
{
	uint32_t count = b->count;

	pthread_mutex_unlock(&p->lock);
	int r = bpf_map_update_batch(p->map_fd, b->slots, b->fds, &count, NULL) < 0 ? -errno : 0;
	pthread_mutex_lock(&p->lock);

	p->error = r;
	for (uint32_t i = 0; i < b->count; i++) {
		if (r < 0) {
			undo_slot(p, b->slots[i], b->fds[i]);
			continue;
		}
		int e = settle_slot(p, b->slots[i], b->fds[i]);
		if (e < 0)
			p->error = e;
	}
	pthread_cond_broadcast(&p->settled);
}

/* ---- the thread ---- */

/* Rings that were left are taken in as they come; a new one is made only when it is needed. */
static bool has_work(const struct ring_pool *p)
{
	uint32_t least = p->keep / 2 > p->wanted ? p->keep / 2 : p->wanted;

	return p->counts[SLOT_LEFT] > 0 ||
	       (p->counts[SLOT_READY] < least && p->counts[SLOT_EMPTY] > 0);
}

static void *run(void *context)
{
	struct ring_pool *p = context;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct batch b = {.count = 0};

		if (!has_work(p)) {
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		collect_left(p, &b);
		int r = collect_new(p, &b);
		if (b.count > 0)
			commit(p, &b);
		else if (r < 0)
			p->error = r;
		/* What fails is tried again by the next who takes or gives. */
		if (p->error < 0) {
			pthread_cond_broadcast(&p->settled);
			pthread_cond_wait(&p->work, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start_thread(struct ring_pool *p)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->has_thread = r == 0;
	return r;
}

/* ---- life ---- */

static int make_first(struct ring_pool *p)
{
	int r = 0;

	pthread_mutex_lock(&p->lock);
	for (p->wanted = p->keep; r == 0 && p->counts[SLOT_READY] < p->keep;) {
		struct batch b = {.count = 0};

		r = collect_new(p, &b);
		if (r == 0) {
			commit(p, &b);
			r = p->error;
		}
	}
	p->wanted = 0;
	pthread_mutex_unlock(&p->lock);
	return r;
}

int ring_pool_new(int rings_map_fd, uint64_t ring_bytes, uint32_t keep, struct ring_pool **ret_pool)
{
	struct ring_pool *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->settled, NULL);
	p->map_fd = rings_map_fd;
	p->ring_bytes = ring_bytes;
	p->keep = keep > SESSION_SLOTS ? SESSION_SLOTS : keep;
	p->counts[SLOT_EMPTY] = SESSION_SLOTS;
	for (uint32_t i = 0; i < SESSION_SLOTS; i++)
		p->slots[i].fd = -1;

	int r = p->parking_fd = make_ring((uint64_t)getpagesize());
	if (r >= 0)
		r = make_first(p);
	if (r >= 0)
		r = start_thread(p);
	if (r < 0) {
		ring_pool_free(p);
		return r;
	}
	*ret_pool = p;
	return 0;
}

/* Where none is ready the thread makes one, and this waits for it. */
static int wait_ready(struct ring_pool *p)
{
	p->error = 0;
	p->wanted++;
	while (p->counts[SLOT_READY] == 0 && p->error == 0 &&
	       p->counts[SLOT_TAKEN] < SESSION_SLOTS) {
		pthread_cond_signal(&p->work);
		pthread_cond_wait(&p->settled, &p->lock);
	}
	p->wanted--;
	return p->counts[SLOT_READY] > 0 ? 0 : p->error < 0 ? p->error : -ENOSPC;
}

static void take_ready(struct ring_pool *p, struct ring_taken *ret_ring)
{
	for (uint32_t i = 0; i < SESSION_SLOTS; i++) {
		if (p->slots[i].state != SLOT_READY)
			continue;
		set_state(p, i, SLOT_TAKEN);
		*ret_ring = (struct ring_taken){
			.slot = i,
			.fd = p->slots[i].fd,
			.id = p->slots[i].id,
		};
		return;
	}
}

int ring_pool_take(struct ring_pool *p, struct ring_taken *ret_ring)
{
	pthread_mutex_lock(&p->lock);
	int r = wait_ready(p);
	if (r == 0)
		take_ready(p, ret_ring);
	if (has_work(p))
		pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void ring_pool_give(struct ring_pool *p, uint32_t slot)
{
	pthread_mutex_lock(&p->lock);
	if (slot < SESSION_SLOTS && p->slots[slot].state == SLOT_TAKEN) {
		set_state(p, slot, SLOT_LEFT);
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
}

void ring_pool_free(struct ring_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	for (uint32_t i = 0; i < SESSION_SLOTS; i++)
		if (p->slots[i].fd >= 0)
			close(p->slots[i].fd);
	if (p->parking_fd >= 0)
		close(p->parking_fd);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->settled);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
