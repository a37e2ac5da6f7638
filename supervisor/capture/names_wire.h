/*
 * What the recorder and vitrine-names say to each other: one request, one reply, each a packet of a
 * SOCK_SEQPACKET socket. Several sessions share the socket; `id` tells replies apart.
 *
 *   NAMES_ADD      a session begins; its root mount rides along as a descriptor. The reply brings
 *                  the handle of the root as its only step.
 *   NAMES_RESOLVE  the directory that `handle` means, as steps from it up to the root: each the
 *                  handle of a directory and its name in the one above, which is the next step; the
 *                  last step is the root, without a name.
 *   NAMES_REMOVE   the session is over.
 */
#pragma once

#include <stdint.h>

#define NAMES_HANDLE_MAX 128 /* MAX_HANDLE_SZ */
#define NAMES_REPLY_MAX (64 * 1024)
#define NAMES_STEPS_MAX 1024

enum names_request_kind { NAMES_ADD = 1, NAMES_RESOLVE, NAMES_REMOVE };

/* A file handle: what fanotify reports and open_by_handle_at takes. */
struct file_id {
	int32_t type;
	uint32_t size;
	uint8_t bytes[NAMES_HANDLE_MAX];
};

struct names_request {
	uint64_t id;
	uint64_t session;
	uint32_t kind; /* enum names_request_kind */
	uint32_t reserved;
	struct file_id handle;
};

/* The steps follow: for each a struct names_step, the handle's bytes, the name. */
struct names_reply {
	uint64_t id;
	int32_t error; /* 0 or -errno */
	uint32_t steps;
};

struct names_step {
	int32_t type;
	uint16_t handle_size;
	uint16_t name_size;
};
