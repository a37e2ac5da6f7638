/*
 * System calls that the C library has no function for.
 */
#pragma once

#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As fork: 0 in the child, its pid in the parent, or -errno. */
static inline pid_t clone_process(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = flags,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = 17 /* SIGCHLD */,
		.cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
	};
	long r = syscall(SYS_clone3, &args, sizeof(args));

	return r < 0 ? -errno : (pid_t)r;
}

static inline int pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}
