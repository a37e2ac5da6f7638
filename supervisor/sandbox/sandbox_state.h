/*
 * What a sandbox is made of; shared by sandbox.c (its life) and exec.c (its commands).
 */
#pragma once

#include "init.h"
#include "launcher.h"
#include "limits.h"
#include "sandbox.h"

#include <stdarg.h>

#define INIT_CGROUP "init" /* below the session's */

#define SANDBOX_EXEC_NONE                                                                          \
	((struct sandbox_exec){.cgroup_fd = -1,                                                    \
			       .words_fd = -1,                                                     \
			       .init_words_fd = -1,                                                \
			       .payload_fd = -1,                                                   \
			       .tty_fd = -1,                                                       \
			       .limits = LIMITS_NONE})

struct sandbox_exec {
	uint32_t exec; /* 0: the place is free */
	int cgroup_fd;
	struct limits limits;
	int words_fd;	   /* to its process, until that was told what to execute; -1 then */
	int init_words_fd; /* the other end, until init has it */
	int payload_fd;	   /* memfd, empty until it is told; -1 then */
	int tty_fd;  /* master, to change its size; -1 without a terminal or when it has ended */
	bool asked;  /* init was asked to make its process */
	bool ended;  /* its end was told */
	bool killed; /* its cgroup is gone */
};

/* What is mounted of the host. */
struct sandbox_source {
	int fd;	    /* a mount of it; -1 without */
	char *name; /* owned; for an error */
};

struct sandbox {
	struct sandbox_info info;
	char id[LAUNCH_ID_MAX];
	int root_fd;	/* the daemon's cgroup */
	int control_fd; /* to init */
	int pidfd;	/* of init */
	int status_fd;	/* epoll: control_fd, until init is gone */
	int mounts_fd;	/* init's mount namespace, where that may outlive it */
	struct launcher *launcher;
	struct launch launch, mapping;		   /* while they are made: it, and its workspace */
	struct sandbox_source workspace, template; /* likewise */
	int filter_fd;				   /* likewise, its own; -1: the launcher's */
	int secrets_fd;				   /* likewise, borrowed; -1: none */
	bool is_dressed, is_ready;
	uint64_t skeleton; /* what its root was made of */
	struct limits limits;
	const struct cgroup_root *cgroups;
	bool has_limited_exec;			  /* ever */
	uint64_t ended_hits[SANDBOX_CONTROLLERS]; /* of limits of commands that are gone */
	bool has_own_filter;			  /* its policy changes the table of calls */
	bool made_cgroup, gone;
	bool is_killed;		/* all of it	*/
	bool has_others_mounts; /* beside the host's system */
	struct sandbox_exec execs[INIT_COMMANDS_MAX];
};

/* Fill @ret_error: @r is -errno, what follows names the value at fault. Returns @r. */
int sandbox_fail(struct sandbox_error *ret_error, unsigned step, int r, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* What sandbox_begin does as well, before it asks for the sandbox: the launcher is there now. */
int sandbox_bring_workspace(struct sandbox *s, const struct sandbox_options *options,
			    struct sandbox_error *ret_error);
/* Set the limits of the session, and what else its init is to be told. */
int sandbox_fit(struct sandbox *s, const struct sandbox_options *options,
		struct sandbox_error *ret_error);
/* Have init put it on, the sandbox being there. */
int sandbox_hand_over(struct sandbox *s, struct sandbox_error *ret_error);
/* The same as sandbox_fail, of what the launcher did with @from. */
int sandbox_fail_launch(const struct launch *launch, const struct sandbox_source *from, int r,
			struct sandbox_error *ret_error);

/* Next report of init, waiting @timeout_ms at most. 0, -ETIMEDOUT, -ECONNRESET, ... */
int sandbox_report(struct sandbox *s, int timeout_ms, struct init_report *ret_report, int *ret_fd);

void sandbox_exec_close(struct sandbox_exec *e);
void sandbox_source_close(struct sandbox_source *from);
