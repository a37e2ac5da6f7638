/*
 * Sandboxes that are made ahead: cgroups, namespaces, root, devices, and an init that waits to be
 * told what its session asks for. Each serves one session, which takes it with its id and its slot;
 * nobody has been in it before. They are made one at a time, when the loop has nothing else to do.
 */
#pragma once

#include "host.h"
#include "record/store.h"
#include "spare_dirs.h"
#include "streams.h"

struct pool;

/* What a session takes over. */
struct pool_lease {
	char id[SESSION_ID_LENGTH + 1];
	uint32_t slot;
	int slot_fd;
	struct sandbox *sandbox;      /* to be dressed */
	uint64_t exec_cgroup;	      /* of its first command, prepared */
	struct sensors_session watch; /* taken; the recorder is prepared for it */
	struct spare_dir dir;	      /* in which its journal lies */
	struct streams_pipes pipes;   /* of its first command, if that is the agent's */
};

#define POOL_LEASE_NONE                                                                            \
	{                                                                                          \
		.slot_fd = -1, .dir = SPARE_DIR_NONE, .pipes = STREAMS_PIPES_NONE                  \
	}

/* Keep @size of them. 0 or -errno. */
int pool_open(struct host *h, uint32_t size, struct pool **ret_pool);
/* Take all of them apart. NULL is allowed. */
void pool_close(struct pool *p);

/* One of them, for a session with the host's root and a network of its own; false if none is ready.
 * @p may be NULL. */
bool pool_take(struct pool *p, struct pool_lease *ret_lease);

/* What the recorder says of a session that has not begun. */
void pool_recorder_message(struct pool *p, const struct recorder_message *m);

uint32_t pool_size(const struct pool *p);
uint32_t pool_ready(const struct pool *p);
/* How many have been taken by sessions so far. */
uint64_t pool_taken(const struct pool *p);
