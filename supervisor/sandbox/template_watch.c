/*
 * Watches a tree of files. See template_watch.h.
 */
#include "template_watch.h"

#include "../record/cleanup.h"
#include "template_walk.h"

#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>

/* Reading is no change, and sessions do nothing else. */
#define CHANGES                                                                                    \
	(IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MODIFY |         \
	 IN_MOVE_SELF | IN_MOVED_FROM | IN_MOVED_TO | IN_UNMOUNT)

static int visit(void *context, const struct template_entry *e)
{
	const int *fd = context;
	char place[32 + NAME_MAX];

	if (!S_ISDIR(e->st.st_mode))
		return 0;
	snprintf(place, sizeof(place), "/proc/self/fd/%d/%s", e->dir_fd, e->name);
	return inotify_add_watch(*fd, place, CHANGES | IN_ONLYDIR | IN_DONT_FOLLOW) < 0 ? -errno
											: 0;
}

int template_watch(int root_fd, int *ret_fd)
{
	struct template_fault fault;
	cleanup(close_fd) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -errno;

	int r = template_walk(root_fd, visit, &fd, &fault);
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

bool template_watch_is_quiet(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}
