/*
 * Detached mounts. See mount.h.
 */
#include "mount.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>

static int set_options(int fs, const struct mount_option *options)
{
	for (const struct mount_option *o = options; o && o->key; o++)
		if (fsconfig(fs, o->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, o->key,
			     o->value, 0) < 0)
			return -errno;
	return 0;
}

int mount_detached(const char *type, const struct mount_option *options, uint64_t attributes,
		   int *ret_mount_fd)
{
	cleanup(close_fd) int fs = fsopen(type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;

	int r = set_options(fs, options);
	if (r < 0)
		return r;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;

	int fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (fd < 0)
		return -errno;

	*ret_mount_fd = fd;
	return 0;
}

int mount_clone(int dir_fd, const char *path, int recursive, int *ret_mount_fd)
{
	int fd = open_tree(dir_fd, path,
			   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
				   (recursive ? AT_RECURSIVE : 0));
	if (fd < 0)
		return -errno;

	*ret_mount_fd = fd;
	return 0;
}

int mount_restrict(int mount_fd, uint64_t attributes, int recursive)
{
	struct mount_attr attr = {.attr_set = attributes};

	if (mount_setattr(mount_fd, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr,
			  sizeof(attr)) < 0)
		return -errno;
	return 0;
}

int mount_reconfigure(int dir_fd, const struct mount_option *options)
{
	cleanup(close_fd) int fs = fspick(dir_fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	if (fs < 0)
		return -errno;

	int r = set_options(fs, options);
	if (r == 0 && fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		r = -errno;
	return r;
}

int mount_place(int mount_fd, const char *path)
{
	if (move_mount(mount_fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}
