/*
 * By how much a directory of the host grows while a session may write to it. No file system that
 * sessions can be given for a workspace has a quota of its own for a directory, so this one is
 * measured, again and again, and whoever asks for it is told when it is too much.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

struct growth;

struct growth_options {
	sd_event *loop;
	int dir_fd;    /* the directory; borrowed for the call */
	int cgroup_fd; /* of processes that may hold files of it that have no name any more; as well
			*/
	uint64_t most; /* bytes */
	/* All in the loop. ready: it was measured for the first time, and what is added from now on
	 * counts. over: it has grown by more, or (error) can be measured no longer; told once. */
	void (*ready)(void *context, int error);
	void (*over)(void *context, int error);
	void *context;
};

/* 0 or -errno. */
int growth_start(const struct growth_options *options, struct growth **ret_growth);
/* Nothing is told any more. Not from within what it tells. NULL is allowed. */
void growth_stop(struct growth *g);

/*
 * Bytes of the disk that the tree below @dir_fd takes, of its own file system alone, and those of
 * files without a name that processes of @cgroup_fd (-1: none) hold. Follows no link. 0, -ECANCELED
 * (*stop became true), -ELOOP (deeper than GROWTH_DEPTH) or -errno.
 */
#define GROWTH_DEPTH 256
int growth_measure(int dir_fd, int cgroup_fd, const _Atomic(_Bool) *stop, uint64_t *ret_bytes);
