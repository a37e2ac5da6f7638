/*
 * The freezing thread: it freezes a session whose ring fills faster than it is drained, and thaws
 * it when told. It runs at real-time priority and outside all sessions' cgroups, allocates nothing
 * and waits for nothing but its epoll, because the session runs on until it has acted.
 *
 * Only this thread writes to cgroup.freeze. What a session is to be frozen for is a set of reasons;
 * it is thawed when the set is empty.
 */
#pragma once

#include "ring.h"

#include <stdbool.h>
#include <stdint.h>

struct freezer;
struct freeze; /* one session's place in the freezer */

enum freeze_reason {
	FREEZE_BEHIND = 1, /* the ring is past its high-water mark; set by the thread itself */
	FREEZE_DISK = 2,   /* the journal cannot be written */
};

/*
 * Start the thread, before privileges are dropped. @ret_realtime says whether SCHED_FIFO was had;
 * without it the thread has the best nice value that is allowed. 0 or -errno.
 */
int freezer_start(struct freezer **ret_freezer, bool *ret_realtime);
void freezer_stop(struct freezer *f);

/* Readable when the thread has frozen a session; freezer_seen makes it unreadable again. */
int freezer_fd(const struct freezer *f);
void freezer_seen(struct freezer *f);

struct freeze_options {
	int ring_fd; /* borrowed until freezer_remove, as is @ring */
	const struct ring *ring;
	const uint64_t *coming; /* bytes that count as if they were in the ring; NULL: none */
	uint64_t high_water;	/* 0: never freeze because of the ring */
	int freeze_fd;		/* cgroup.freeze, open for writing; borrowed likewise */
};

/* -ENOSPC when SESSION_SLOTS are taken. */
int freezer_add(struct freezer *f, const struct freeze_options *options,
		struct freeze **ret_freeze);

/* Returns when the thread does not look at it any more. The session stays as it is. */
void freezer_remove(struct freezer *f, struct freeze *freeze);

/* Freeze for @reason, or take the reason away. Neither waits for the kernel. */
void freezer_hold(struct freezer *f, struct freeze *freeze, enum freeze_reason reason);
void freezer_release(struct freezer *f, struct freeze *freeze, enum freeze_reason reason);

/*
 * For who takes records out of the ring, before it gives their room back: an empty ring keeps the
 * thread asleep, and the record that was to wake it may be among those that were taken.
 */
void freezer_look(struct freezer *f, struct freeze *freeze);

/* What is in the ring, and what is on its way there. */
uint64_t freeze_load(const struct freeze *freeze);

/* True if the session is frozen because of its ring; @ret_since is the boot time of that. */
bool freeze_is_behind(const struct freeze *freeze, uint64_t *ret_since);

/* 0, or the error of the last write to cgroup.freeze: the session runs although it should not. */
int freeze_error(const struct freeze *freeze);
