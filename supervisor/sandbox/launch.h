/*
 * What vitrined and the launcher say to each other, on descriptor 3 of the launcher. Each request
 * has one answer, in order. The launcher trusts vitrined; nothing in here comes from a session.
 */
#pragma once

#include "setup.h"

#include <stdint.h>

#define LAUNCH_ID_MAX 64
#define LAUNCH_RESOLV_MAX 4096
#define LAUNCH_TASKS_MAX 4

enum launch_kind {
	LAUNCH_SKELETON, /* descriptors: mount of a new skeleton. Answer: none */
	LAUNCH_SESSION,	 /* descriptors: enum launch_fd. Answer: enum launch_answer_fd */
};

enum launch_flag {
	LAUNCH_OWN_NET = 1,
	LAUNCH_WORKSPACE = 2,
	LAUNCH_TEMPLATE = 4,
	LAUNCH_SECRETS = 8,
};

enum launch_fd {
	LAUNCH_FD_CGROUP,  /* cgroup that init starts in */
	LAUNCH_FD_CONTROL, /* init's end of the socket to vitrined */
	LAUNCH_FD_FILTER,  /* memfd with the system call filter of commands */
	LAUNCH_FD_FIXED,   /* behind these, as far as they are there, in this order: */
	/* detached mount of the workspace, with LAUNCH_WORKSPACE */
	/* detached mount of the template, with LAUNCH_TEMPLATE */
	/* detached mount for /run/secrets, with LAUNCH_SECRETS */
	/* tasks files of v1 cgroups that init enters */
	LAUNCH_FD_MAX = LAUNCH_FD_FIXED + 3 + LAUNCH_TASKS_MAX,
};

struct launch_request {
	uint32_t kind;
	uint32_t flags;
	uint32_t uid_base;
	uint32_t workspace_uid, workspace_gid; /* on the host */
	uint32_t workspace_owner;	       /* id inside that they become */
	uint32_t tasks_count;
	uint64_t upper_bytes, upper_inodes;
	uint32_t resolv_length;
	char id[LAUNCH_ID_MAX]; /* host name */
	char resolv[LAUNCH_RESOLV_MAX];
};

struct launch_answer {
	int32_t error; /* errno, 0: done */
	uint32_t step; /* enum setup_step */
	int32_t pid;   /* of init, on the host */
};

enum launch_answer_fd {
	LAUNCH_ANSWER_ROOT,  /* mount of the session's root */
	LAUNCH_ANSWER_PIDFD, /* of init */
	LAUNCH_ANSWER_STAGE, /* directory with the layers of the root that are the session's own */
	LAUNCH_ANSWER_LOWER, /* the layer below: skeleton or template */
	LAUNCH_ANSWER_COUNT,
};

#define LAUNCH_ANSWER_NONE                                                                         \
	{                                                                                          \
		-1, -1, -1, -1                                                                     \
	}

/* Ids inside a session. */
#define SESSION_IDS 65536
#define SESSION_ROOT 0
#define SESSION_AGENT 1000
#define SESSION_TTY_GROUP 5
