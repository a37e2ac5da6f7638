/*
 * Files of the host that are watched (inotify) so that they need not be looked at again. Watch them
 * first and look then: what changes in between is told.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/inotify.h>

/* Reading is no change. */
#define CHANGES_MASK                                                                               \
	(IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MODIFY |         \
	 IN_MOVE_SELF | IN_MOVED_FROM | IN_MOVED_TO | IN_UNMOUNT | IN_DONT_FOLLOW)

/* Nothing was told so far. */
static inline bool changes_none(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}
