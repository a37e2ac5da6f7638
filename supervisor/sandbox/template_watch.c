/*
 * Watches a tree of files. See template_watch.h.
 */
#include "template_watch.h"

#include "../record/cleanup.h"
#include "changes.h"
#include "template_walk.h"

#include <errno.h>

static int visit(void *context, const struct template_entry *e)
{
	const int *fd = context;
	char place[32 + NAME_MAX];

	if (!S_ISDIR(e->st.st_mode))
		return 0;
	snprintf(place, sizeof(place), "/proc/self/fd/%d/%s", e->dir_fd, e->name);
	return inotify_add_watch(*fd, place, CHANGES_MASK | IN_ONLYDIR) < 0 ? -errno : 0;
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
