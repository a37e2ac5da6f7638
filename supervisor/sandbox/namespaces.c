/*
 * The namespaces of a session. See namespaces.h.
 */
#include "namespaces.h"

#include "../record/cleanup.h"
#include "enter.h"
#include "syscalls.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

/* And the network's: it is in that already, or in the host's. */
#define SESSION_NAMESPACES                                                                         \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_PIDFD |  \
	 CLONE_INTO_CGROUP)

/* By its number it could be another process: the launcher's dead children are nobody's to wait for.
 */
static void kill_by(int pidfd)
{
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static int write_map(pid_t pid, const char *file, uint32_t inside, uint32_t outside, uint32_t count)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	int n = snprintf(text, sizeof(text), "%u %u %u\n", inside, outside, count);
	cleanup(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		return -errno;
	return 0;
}

/* Projects (of quotas) too: a map that is empty may be written by anybody inside, with those of the
 * host. */
static int map_session(pid_t pid, uint32_t base)
{
	static const char *const maps[] = {"uid_map", "gid_map", "projid_map"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(maps) / sizeof(maps[0]); i++)
		r = write_map(pid, maps[i], 0, base, SESSION_IDS);
	return r;
}

int namespaces_start(struct session_start *start, pid_t *ret_pid, int *ret_pidfd,
		     enum setup_step *ret_step)
{
	int go[2];
	int pidfd = -1;

	*ret_step = SETUP_clone;
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	start->go_fd = go[0];
	pid_t pid = clone_process(SESSION_NAMESPACES, start->cgroup_fd, &pidfd);
	if (pid == 0) {
		close(go[1]);
		session_enter(start);
	}
	if (pid < 0) {
		close(go[0]);
		close(go[1]);
		return pid;
	}

	*ret_step = SETUP_ids;
	int r = map_session(pid, start->request->uid_base);
	if (r == 0 && write(go[1], "", 1) != 1)
		r = -errno;
	/* Not before: the child may be killed at any time, and SIGPIPE would be the launcher's end.
	 */
	close(go[0]);
	close(go[1]);
	if (r < 0) {
		kill_by(pidfd);
		close(pidfd);
		return r;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

/* Which ids of a file system become which of the host. */
struct id_map {
	uid_t from_uid;
	gid_t from_gid;
	uid_t to;
	uint32_t count;
	uint64_t attributes; /* of the mount, beside */
};

static int map_and_set(pid_t pid, int mount_fd, const struct id_map *map)
{
	char path[64];

	int r = write_map(pid, "uid_map", map->from_uid, map->to, map->count);
	if (r == 0)
		r = write_map(pid, "gid_map", map->from_gid, map->to, map->count);
	if (r < 0)
		return r;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct mount_attr attr = {
		.attr_set =
			MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | map->attributes,
		.userns_fd = (uint64_t)fd,
	};
	if (mount_setattr(mount_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -errno;
	return 0;
}

static int map_mount(int mount_fd, const struct id_map *map)
{
	int pidfd = -1;

	/* Only a process has a user namespace: one that waits, until the mount refers to it. */
	pid_t pid = clone_process(CLONE_NEWUSER | CLONE_PIDFD, -1, &pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0)
		for (;;)
			pause();

	int r = map_and_set(pid, mount_fd, map);
	kill_by(pidfd);
	close(pidfd);
	return r;
}

int namespaces_map_mount(int mount_fd, uid_t host_uid, gid_t host_gid, uid_t owner)
{
	const struct id_map map = {host_uid, host_gid, owner, 1, 0};

	return map_mount(mount_fd, &map);
}

int namespaces_map_template(int mount_fd, uid_t uid_base)
{
	const struct id_map map = {0, 0, uid_base, SESSION_IDS, MOUNT_ATTR_RDONLY};

	return map_mount(mount_fd, &map);
}
