/*
 * Cgroups of v1 controllers. See cgroup1.h.
 *
 * The parent is shared by all daemons and is removed by whoever finds it empty, so it is made again
 * as often as it takes.
 */
#include "cgroup1.h"
#include "../record/crash.h"

#include "../record/cleanup.h"
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>

#define PARENT "vitrine"
#define MAKE_TRIES 100

int cgroup1_find(const char *controller, char ret_path[CGROUP1_PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[4096 + 1024];
	int r = -ENOENT;

	if (!mounts)
		return -errno;
	while (r == -ENOENT && getmntent_r(mounts, &entry, line, sizeof(line))) {
		if (strcmp(entry.mnt_type, "cgroup") != 0 || !hasmntopt(&entry, controller) ||
		    strlen(entry.mnt_dir) >= CGROUP1_PATH_MAX)
			continue;
		memcpy(ret_path, entry.mnt_dir, strlen(entry.mnt_dir) + 1);
		r = 0;
	}
	endmntent(mounts);
	return r;
}

static int open_parent(const char *mount, int *ret_fd)
{
	cleanup(close_fd) int mount_fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount_fd < 0)
		return -errno;
	if (mkdirat(mount_fd, PARENT, 0755) < 0 && errno != EEXIST)
		return -errno;

	int fd = openat(mount_fd, PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int cgroup1_make(const char *mount, const char *id, int *ret_fd)
{
	int r = -ENOENT;

	for (int i = 0; i < MAKE_TRIES && r == -ENOENT; i++) {
		cleanup(close_fd) int parent = -1;

		r = open_parent(mount, &parent);
		if (r == 0 && mkdirat(parent, id, 0755) < 0)
			r = -errno;
		if (r < 0)
			continue;
		crash_point();
		int fd = openat(parent, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		*ret_fd = fd;
	}
	return r;
}

/* Cached pages would keep a removed cgroup alive in the kernel for as long as they are cached. */
static void drop_pages(int parent_fd, const char *id)
{
	cleanup(close_fd) int dir = openat(parent_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		cgroup_write(dir, "memory.force_empty", "0");
}

int cgroup1_remove(const char *const *controllers, const char *id)
{
	int failed = 0;

	for (; *controllers; controllers++) {
		char path[CGROUP1_PATH_MAX + sizeof(PARENT) + 1], mount[CGROUP1_PATH_MAX];

		if (cgroup1_find(*controllers, mount) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/" PARENT, mount);
		cleanup(close_fd) int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			continue;
		crash_point();
		drop_pages(parent, id);
		int r = cgroup_remove(parent, id);
		if (r < 0)
			failed = r;
	}
	return failed;
}

void cgroup1_remove_parents(const char *const *controllers)
{
	for (; *controllers; controllers++) {
		char mount[CGROUP1_PATH_MAX];

		if (cgroup1_find(*controllers, mount) < 0)
			continue;
		cleanup(close_fd) int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			unlinkat(fd, PARENT, AT_REMOVEDIR);
	}
}
