/*
 * Stages of roots. See stage.h.
 *
 * Nothing of a session is in one made ahead: it is thrown away if the next session's ids or sizes
 * are others, and the names are written when it is asked for.
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

/* Which sessions it is good for. */
struct fit {
	uint32_t uid_base;
	uint64_t bytes, inodes;
};

static struct fit next; /* what the next session will likely ask for; without bytes: unknown */
static struct fit spare_fit;
static int spare = -1;

static int mount_tmpfs(const struct fit *fit, int *ret_mount_fd)
{
	char size[24], inodes[24];

	snprintf(size, sizeof(size), "%llu", (unsigned long long)fit->bytes);
	snprintf(inodes, sizeof(inodes), "%llu", (unsigned long long)fit->inodes);
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

static int make(const struct fit *fit, int template_fd, int *ret_mount_fd)
{
	cleanup(close_fd) int mount_fd = -1, base_fd = -1;

	int r = mount_tmpfs(fit, &mount_fd);
	if (r == 0)
		r = tree_make_directory(mount_fd, SANDBOX_UPPER, 0755, fit->uid_base);
	if (r == 0)
		r = tree_make_directory(mount_fd, SANDBOX_BASE, 0755, fit->uid_base);
	if (r == 0)
		r = tree_make_directory(mount_fd, STAGE_WORK, 0700, 0);
	if (r == 0)
		r = open_base(mount_fd, &base_fd);
	if (r == 0)
		r = furniture_make(fit->uid_base, template_fd, base_fd);
	if (r < 0)
		return r;
	*ret_mount_fd = take_fd(mount_fd);
	return 0;
}

static bool is_same(const struct fit *a, const struct fit *b)
{
	return a->uid_base == b->uid_base && a->bytes == b->bytes && a->inodes == b->inodes;
}

/* Sessions get one range of ids after another. */
static void expect_next(const struct fit *fit)
{
	next = *fit;
	next.uid_base += SESSION_IDS;
	if (next.uid_base < fit->uid_base)
		next = (struct fit){0};
}

int stage_take(const struct launch_request *request, int template_fd, int *ret_mount_fd)
{
	const struct fit fit = {request->uid_base, request->upper_bytes, request->upper_inodes};
	cleanup(close_fd) int mount_fd = -1, base_fd = -1;
	int r = 0;

	if (template_fd < 0 && spare >= 0 && is_same(&fit, &spare_fit))
		mount_fd = take_fd(spare);
	else
		r = make(&fit, template_fd, &mount_fd);
	expect_next(&fit);
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
	return next.bytes && (spare < 0 || !is_same(&next, &spare_fit));
}

bool stage_make_ahead(void)
{
	cleanup_close_fd(&spare);
	spare = -1;
	spare_fit = next;
	if (make(&next, -1, &spare) == 0)
		return true;
	next = (struct fit){0};
	return false;
}
