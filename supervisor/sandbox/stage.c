/*
 * Stages of roots. See stage.h.
 *
 * Nothing of a session is in one made ahead: it is thrown away if the next session's ids are
 * others, and the names are written when it is asked for.
 */
#include "stage.h"

#include "../record/cleanup.h"
#include "furniture.h"
#include "mount.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

static uint32_t next; /* first id of what the next session will likely ask for; 0: unknown */
static uint32_t spare_base;
static int spare = -1;

static int mount_tmpfs(int *ret_mount_fd)
{
	char size[24], inodes[24];

	snprintf(size, sizeof(size), "%llu", SESSION_UPPER_BYTES);
	snprintf(inodes, sizeof(inodes), "%llu", SESSION_UPPER_INODES);
	const struct mount_option options[] = {
		{"mode", "0755"}, {"size", size}, {"nr_inodes", inodes}, {NULL, NULL}};

	return mount_detached("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, ret_mount_fd);
}

static int open_base(int mount_fd, int *ret_fd)
{
	int fd = openat(mount_fd, SANDBOX_BASE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int make(uint32_t uid_base, int template_fd, int *ret_mount_fd)
{
	cleanup(close_fd) int mount_fd = -1, base_fd = -1;

	int r = mount_tmpfs(&mount_fd);
	if (r == 0)
		r = tree_make_directory(mount_fd, SANDBOX_UPPER, 0755, uid_base);
	if (r == 0)
		r = tree_make_directory(mount_fd, SANDBOX_BASE, 0755, uid_base);
	if (r == 0)
		r = tree_make_directory(mount_fd, STAGE_WORK, 0700, 0);
	if (r == 0)
		r = open_base(mount_fd, &base_fd);
	if (r == 0)
		r = furniture_make(uid_base, template_fd, base_fd);
	if (r < 0)
		return r;
	*ret_mount_fd = take_fd(mount_fd);
	return 0;
}

int stage_take(const struct launch_request *request, int template_fd, int *ret_mount_fd)
{
	cleanup(close_fd) int mount_fd = -1, base_fd = -1;
	int r = 0;

	if (template_fd < 0 && spare >= 0 && spare_base == request->uid_base)
		mount_fd = take_fd(spare);
	else
		r = make(request->uid_base, template_fd, &mount_fd);
	/* Sessions get one range of ids after another. */
	next = request->uid_base > UINT32_MAX - SESSION_IDS ? 0 : request->uid_base + SESSION_IDS;
	if (r == 0)
		r = open_base(mount_fd, &base_fd);
	if (r == 0)
		r = furniture_name(request, base_fd);
	if (r < 0)
		return r;
	*ret_mount_fd = take_fd(mount_fd);
	return 0;
}

bool stage_is_wanted(void)
{
	return next && (spare < 0 || spare_base != next);
}

bool stage_make_ahead(void)
{
	cleanup_close_fd(&spare);
	spare_base = next;
	if (make(next, -1, &spare) == 0)
		return true;
	next = 0;
	return false;
}
