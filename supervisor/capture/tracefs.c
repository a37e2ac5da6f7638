/*
 * A detached mount of tracefs serves the ids of tracepoints.
 */
#include "tracefs.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>

struct tracefs {
	int root_fd;
};

static int mount_detached(void)
{
	cleanup(close_fd) int context = fsopen("tracefs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;

	int fd = fsmount(context, FSMOUNT_CLOEXEC,
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}

int tracefs_open(struct tracefs **ret_tracefs)
{
	cleanup(free) struct tracefs *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;

	t->root_fd = mount_detached();
	if (t->root_fd < 0)
		return t->root_fd;
	*ret_tracefs = take(t);
	return 0;
}

void tracefs_free(struct tracefs *t)
{
	if (!t)
		return;
	close(t->root_fd);
	free(t);
}

int tracefs_event_id(const struct tracefs *t, const char *event)
{
	char path[256], text[16] = "";

	if (snprintf(path, sizeof(path), "events/%s/id", event) >= (int)sizeof(path))
		return -ENAMETOOLONG;

	cleanup(close_fd) int fd = openat(t->root_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		return -EIO;

	int id = 0;
	for (const char *c = text; *c >= '0' && *c <= '9' && id < INT32_MAX / 10 - 1; c++)
		id = 10 * id + (*c - '0');
	return id > 0 ? id : -EINVAL;
}

int tracefs_open_event(const struct tracefs *t, const char *event)
{
	int id = tracefs_event_id(t, event);
	if (id < 0)
		return id;

	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)id,
	};
	/* The programs of a tracepoint run on all CPUs, whichever one the event is opened on. */
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
