/*
 * The launcher as vitrined sees it. See sandbox.h for its life.
 */
#pragma once

#include "launch.h"

#include "syscall_policy.h"

#include <stddef.h>
#include <sys/types.h>

struct launcher {
	pid_t pid;
	int pidfd;
	int socket;
	int filter_fd; /* sealed memfd: the system call filter */
	int init_fd;   /* sealed memfd: the program vitrine-init */
	uint64_t init_dev, init_ino;
	uint64_t skeleton; /* fingerprint of what the launcher has */
};

/* Send a new skeleton if the host's files have changed. 0 or -errno. */
int launcher_refresh(struct launcher *l);

/* The filter with @changes, as a sealed memfd. 0 or -errno. */
int launcher_filter(const struct syscall_changes *changes, int *ret_fd);

/*
 * Start a session's init. @fds as in enum launch_fd, @count of them, borrowed. *ret_fds (owned by
 * the caller, as in enum launch_answer_fd). 0 or -errno with *ret_step.
 */
int launcher_start_session(struct launcher *l, const struct launch_request *request, const int *fds,
			   size_t count, pid_t *ret_pid, int *ret_fds, unsigned *ret_step);
