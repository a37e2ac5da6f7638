/*
 * The freezing thread and its places. A place is used by both threads: what both write is atomic,
 * everything else is set before the place is published and left alone until the thread has
 * acknowledged its removal.
 */
#include "freeze.h"

#include "../../bpf/wire.h"
#include "../record/cleanup.h"
#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define PRIORITY 10
#define WORD_BITS 64
#define WORDS (SESSION_SLOTS / WORD_BITS)
#define KICK UINT64_MAX /* epoll data of the kick; places have their index */

enum place_state { PLACE_FREE, PLACE_USED, PLACE_LEAVING };

struct freeze {
	_Atomic int state;
	struct freeze_options options;
	atomic_uint reasons;
	_Atomic uint64_t behind_since;
	_Atomic int error;
	bool is_frozen; /* the thread's own: what was last written */
};

struct freezer {
	pthread_t thread;
	int epoll_fd, kick_fd, frozen_fd;
	int ready_fd; /* the thread has started, or has let go of a place */
	atomic_bool stop;
	bool is_realtime;
	_Atomic uint64_t dirty[WORDS]; /* places that the thread has to look at */
	struct freeze places[SESSION_SLOTS];
};

/* ---- the thread ---- */

static void signal_fd(int fd)
{
	uint64_t one = 1;

	/* A full counter is readable already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

uint64_t freeze_load(const struct freeze *freeze)
{
	const struct freeze_options *o = &freeze->options;
	uint64_t coming = o->coming ? __atomic_load_n(o->coming, __ATOMIC_ACQUIRE) : 0;

	return ring_fill(o->ring) + coming;
}

static bool falls_behind(const struct freeze *freeze)
{
	uint64_t high_water = freeze->options.high_water;

	return high_water != 0 && freeze_load(freeze) >= high_water &&
	       !(atomic_load(&freeze->reasons) & FREEZE_BEHIND);
}

static void look_at_ring(struct freezer *f, struct freeze *freeze)
{
	if (!falls_behind(freeze))
		return;
	atomic_store(&freeze->behind_since, clock_ns(CLOCK_BOOTTIME));
	atomic_fetch_or(&freeze->reasons, FREEZE_BEHIND);
	signal_fd(f->frozen_fd);
}

static void write_state(struct freeze *freeze)
{
	bool freeze_it = atomic_load(&freeze->reasons) != 0;

	if (freeze_it == freeze->is_frozen)
		return;
	if (pwrite(freeze->options.freeze_fd, freeze_it ? "1" : "0", 1, 0) < 0) {
		atomic_store(&freeze->error, errno);
		return;
	}
	atomic_store(&freeze->error, 0);
	freeze->is_frozen = freeze_it;
}

static void look_at(struct freezer *f, struct freeze *freeze)
{
	switch (atomic_load(&freeze->state)) {
	case PLACE_USED:
		look_at_ring(f, freeze);
		write_state(freeze);
		break;
	case PLACE_LEAVING:
		atomic_store(&freeze->state, PLACE_FREE);
		signal_fd(f->ready_fd);
		break;
	default:
		break;
	}
}

static void look_at_dirty(struct freezer *f)
{
	uint64_t count;

	if (read(f->kick_fd, &count, sizeof(count)) < 0)
		return;
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t bits = atomic_exchange(&f->dirty[i], 0);

		for (; bits != 0; bits &= bits - 1)
			look_at(f, &f->places[i * WORD_BITS + __builtin_ctzll(bits)]);
	}
}

static void *run(void *context)
{
	struct freezer *f = context;
	struct sched_param parameters = {.sched_priority = PRIORITY};

	f->is_realtime = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
	if (!f->is_realtime)
		setpriority(PRIO_PROCESS, 0, -20);
	signal_fd(f->ready_fd);

	while (!atomic_load(&f->stop)) {
		struct epoll_event events[64];
		int count = epoll_wait(f->epoll_fd, events, 64, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == KICK)
				look_at_dirty(f);
			else
				look_at(f, &f->places[events[i].data.u64]);
		}
	}
	return NULL;
}

/* ---- its life ---- */

static void wait_ready(struct freezer *f)
{
	uint64_t count;

	while (read(f->ready_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		continue;
}

static int start_thread(struct freezer *f)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&f->thread, NULL, run, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		wait_ready(f);
	return r;
}

static int open_fds(struct freezer *f)
{
	struct epoll_event kick = {.events = EPOLLIN, .data.u64 = KICK};

	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	f->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->frozen_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->ready_fd = eventfd(0, EFD_CLOEXEC);
	if (f->epoll_fd < 0 || f->kick_fd < 0 || f->frozen_fd < 0 || f->ready_fd < 0)
		return -errno;
	if (epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, f->kick_fd, &kick) < 0)
		return -errno;
	return 0;
}

static void close_fds(struct freezer *f)
{
	cleanup_close_fd(&f->epoll_fd);
	cleanup_close_fd(&f->kick_fd);
	cleanup_close_fd(&f->frozen_fd);
	cleanup_close_fd(&f->ready_fd);
}

int freezer_start(struct freezer **ret_freezer, bool *ret_realtime)
{
	struct freezer *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;

	f->epoll_fd = f->kick_fd = f->frozen_fd = f->ready_fd = -1;
	int r = open_fds(f);
	if (r == 0)
		r = start_thread(f);
	if (r < 0) {
		close_fds(f);
		free(f);
		return r;
	}
	*ret_realtime = f->is_realtime;
	*ret_freezer = f;
	return 0;
}

void freezer_stop(struct freezer *f)
{
	if (!f)
		return;
	atomic_store(&f->stop, true);
	signal_fd(f->kick_fd);
	pthread_join(f->thread, NULL);
	close_fds(f);
	free(f);
}

int freezer_fd(const struct freezer *f)
{
	return f->frozen_fd;
}

void freezer_seen(struct freezer *f)
{
	uint64_t count;

	if (read(f->frozen_fd, &count, sizeof(count)) < 0)
		return;
}

/* ---- places ---- */

static void kick(struct freezer *f, const struct freeze *freeze)
{
	size_t index = freeze - f->places;

	atomic_fetch_or(&f->dirty[index / WORD_BITS], 1ULL << (index % WORD_BITS));
	signal_fd(f->kick_fd);
}

int freezer_add(struct freezer *f, const struct freeze_options *options, struct freeze **ret_freeze)
{
	size_t index = 0;

	while (index < SESSION_SLOTS && atomic_load(&f->places[index].state) != PLACE_FREE)
		index++;
	if (index == SESSION_SLOTS)
		return -ENOSPC;

	struct freeze *freeze = &f->places[index];
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = index};
	freeze->options = *options;
	atomic_store(&freeze->reasons, 0);
	atomic_store(&freeze->behind_since, 0);
	atomic_store(&freeze->error, 0);
	freeze->is_frozen = false;
	atomic_store(&freeze->state, PLACE_USED);

	if (options->high_water > 0 &&
	    epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, options->ring_fd, &event) < 0) {
		int r = -errno;
		atomic_store(&freeze->state, PLACE_FREE);
		return r;
	}
	*ret_freeze = freeze;
	return 0;
}

void freezer_remove(struct freezer *f, struct freeze *freeze)
{
	if (!freeze)
		return;
	if (freeze->options.high_water > 0)
		epoll_ctl(f->epoll_fd, EPOLL_CTL_DEL, freeze->options.ring_fd, NULL);
	atomic_store(&freeze->state, PLACE_LEAVING);
	kick(f, freeze);
	wait_ready(f);
}

void freezer_hold(struct freezer *f, struct freeze *freeze, enum freeze_reason reason)
{
	if (atomic_fetch_or(&freeze->reasons, reason) & reason)
		return;
	kick(f, freeze);
}

void freezer_release(struct freezer *f, struct freeze *freeze, enum freeze_reason reason)
{
	/* First the time, then the reason: until that is gone the thread sets neither anew. */
	if (reason == FREEZE_BEHIND)
		atomic_store(&freeze->behind_since, 0);
	if (atomic_fetch_and(&freeze->reasons, ~(unsigned int)reason) & reason)
		kick(f, freeze);
}

void freezer_look(struct freezer *f, struct freeze *freeze)
{
	if (falls_behind(freeze))
		kick(f, freeze);
}

bool freeze_is_behind(const struct freeze *freeze, uint64_t *ret_since)
{
	if (!(atomic_load(&freeze->reasons) & FREEZE_BEHIND))
		return false;
	*ret_since = atomic_load(&freeze->behind_since);
	return true;
}

int freeze_error(const struct freeze *freeze)
{
	return atomic_load(&freeze->error);
}
