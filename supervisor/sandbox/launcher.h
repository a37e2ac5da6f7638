/*
 * The launcher as vitrined sees it. See sandbox.h for its life.
 */
#pragma once

#include "launch.h"

#include "syscall_policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* An answer of the launcher that is waited for, or has come. */
struct launch {
	struct launch *next;
	bool is_asked, is_answered;
	int error;
	unsigned step;
	pid_t pid;
	int fds[LAUNCH_ANSWER_COUNT]; /* owned, as in enum launch_answer_fd; -1: taken, or none */
};

struct launcher {
	pid_t pid;
	int pidfd;
	int socket;
	int filter_fd;		     /* sealed memfd: the system call filter */
	uint64_t skeleton;	     /* fingerprint of what the launcher has */
	int changes_fd;		     /* tells when that may have changed; -1: it has to be asked */
	int64_t look_ns;	     /* when it is in any case, CLOCK_MONOTONIC */
	struct launch *first, *last; /* asked and not answered, in the order of their answers */
};

/* Send a new skeleton if the host's files have changed. 0 or -errno. */
int launcher_refresh(struct launcher *l);

/* The filter with @changes, as a sealed memfd. 0 or -errno. */
int launcher_filter(const struct syscall_changes *changes, int *ret_fd);

/*
 * Ask for a session's init. @fds as in enum launch_fd, @count of them, borrowed. @launch stays
 * where it is until it was waited for. 0 or -errno.
 */
int launcher_ask(struct launcher *l, const struct launch_request *request, const int *fds,
		 size_t count, struct launch *launch);
/* The answer: 0, or -errno with launch->step. Once only; answers of others that come before are
 * kept for them. */
int launcher_wait(struct launcher *l, struct launch *launch);
