/*
 * The second wall. See landlock_wall.h.
 *
 * Rights are only ever denied by being handled and granted nowhere. What is not handled costs
 * nothing, so reading, writing and making files is not. Moving between directories (REFER) is
 * denied as soon as anything is handled, and is therefore granted everywhere.
 */
#include "landlock_wall.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Younger than the headers that this may be built with. */
#define IOCTL_DEV (1ull << 15)
#define SCOPE_ABSTRACT_SOCKETS (1ull << 0)
#define SCOPE_SIGNALS (1ull << 1)

#define ABI_REFER 2
#define ABI_IOCTL_DEV 5
#define ABI_SCOPES 6

/* An older kernel takes it as long as what it does not know is 0. */
struct ruleset {
	uint64_t handled_files, handled_network, scoped;
};

int landlock_wall_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? -errno : (int)abi;
}

static int grant(int ruleset_fd, const char *path, uint64_t rights)
{
	cleanup(close_fd) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr beneath = {.allowed_access = rights, .parent_fd = fd};

	if (fd < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
		return -errno;
	return 0;
}

int landlock_wall_raise(void)
{
	int abi = landlock_wall_abi();
	struct ruleset wall = {
		.handled_files = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};

	if (abi < 0)
		return abi == -ENOSYS || abi == -EOPNOTSUPP ? 0 : abi;
	if (abi >= ABI_REFER)
		wall.handled_files |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= ABI_IOCTL_DEV)
		wall.handled_files |= IOCTL_DEV;
	if (abi >= ABI_SCOPES)
		wall.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;

	cleanup(close_fd) int fd =
		(int)syscall(SYS_landlock_create_ruleset, &wall, sizeof(wall), 0);
	if (fd < 0)
		return -errno;
	int r = abi >= ABI_REFER ? grant(fd, "/", LANDLOCK_ACCESS_FS_REFER) : 0;
	if (r == 0 && abi >= ABI_IOCTL_DEV)
		r = grant(fd, "/dev", IOCTL_DEV);
	if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = -errno;
	return r;
}
