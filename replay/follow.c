/*
 * inotify on a session's directory.
 */
#include "follow.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

int follow_open(int dir_fd, struct follow *ret_follow)
{
	struct follow f = {.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
	char path[64];

	if (f.fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	if (inotify_add_watch(f.fd, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE) <
	    0) {
		int r = -errno;

		follow_close(&f);
		return r;
	}
	*ret_follow = f;
	return 0;
}

int follow_wait(struct follow *f)
{
	struct pollfd poll_fd = {.fd = f->fd, .events = POLLIN};
	char events[8192] __attribute__((aligned(8)));

	if (poll(&poll_fd, 1, FOLLOW_WAIT_MS) < 0 && errno != EINTR)
		return -errno;
	while (read(f->fd, events, sizeof(events)) > 0)
		;
	return 0;
}

void follow_close(struct follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
