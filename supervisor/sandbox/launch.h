/*
 * What vitrined and the launcher say to each other, on descriptor 3 of the launcher. Each request
 * has one answer, in order. The launcher trusts vitrined; nothing in here comes from a session.
 */
#pragma once

#include "setup.h"

#include <stdint.h>

#define LAUNCH_ID_MAX 64
#define LAUNCH_RESOLV_MAX 4096

enum launch_kind {
	LAUNCH_SKELETON, /* descriptors: mount of a new skeleton. Answer: none */
	LAUNCH_SESSION,	 /* descriptors: enum launch_fd. Answer: enum launch_answer_fd */
	LAUNCH_MAP, /* descriptors: a detached mount, whose files' owner is mapped. Answer: none */
};

enum launch_flag {
	LAUNCH_OWN_NET = 1,
	LAUNCH_TEMPLATE = 2,
};

enum launch_fd {
	LAUNCH_FD_CGROUP,  /* cgroup that init starts in */
	LAUNCH_FD_CONTROL, /* init's end of the socket to vitrined */
	LAUNCH_FD_FIXED,
	LAUNCH_FD_TEMPLATE = LAUNCH_FD_FIXED, /* its detached mount, with LAUNCH_TEMPLATE */
	LAUNCH_FD_MAX,
};

struct launch_request {
	uint32_t kind;
	uint32_t flags;
	uint32_t uid_base;
	uint32_t host_uid, host_gid; /* to map: on the host */
	uint32_t owner;		     /* to map: host id that they become */
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

/* Of the upper of a session that asks for nothing else. */
#define SESSION_UPPER_BYTES (2ull << 30)
#define SESSION_UPPER_INODES 1000000ull

/* Ids inside a session. */
#define SESSION_IDS 65536
#define SESSION_ROOT 0
#define SESSION_AGENT 1000
#define SESSION_TTY_GROUP 5
