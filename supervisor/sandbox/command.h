/*
 * Starting a command inside a session, by its init.
 */
#pragma once

#include "init.h"
#include "message.h"

#include <linux/filter.h>
#include <sys/types.h>

/* What the process of a command tells init until it executes; descriptor of TERMINAL: the master.
 */
struct command_word {
	enum { COMMAND_TERMINAL, COMMAND_FAILED } kind;
	int error;
	unsigned step;
};

/*
 * Enter the v1 cgroups whose open `tasks` are given, before anything else: what the process uses
 * from there on is counted. Entering by itself, and by this file, it waits for no grace period of
 * the kernel. 0 or -errno.
 */
int command_enter_cgroups(const int *tasks, size_t count);

/*
 * Make the process of a command (@fds as in enum init_begin_fd, borrowed but for what is given
 * back): it gives up what the command may not have, and waits on its words for INIT_EXEC. On
 * *ret_words (owned by the caller) come struct command_word, and its end when the command has been
 * executed. 0, -ECANCELED (it was killed before it started: its cgroup is gone) or -errno.
 */
int command_begin(const struct init_request *request, struct message_fds *fds,
		  const struct sock_fprog *filter, pid_t *ret_pid, int *ret_words);
