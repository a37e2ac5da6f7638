/*
 * Directories of sessions made ahead, under hidden names, locked, and with the files that a
 * record begins with: on a disk to make them takes as long as half of what else a start needs. They
 * are made when the loop is idle; who comes when none is left makes one.
 */
#pragma once

#include "session_dir.h"

#include <systemd/sd-event.h>

struct spare_dirs;

/* .dir.fd -1: none. */
struct spare_dir {
	char name[SPARE_NAME_SIZE];
	struct session_dir dir;
};
#define SPARE_DIR_NONE                                                                             \
	{                                                                                          \
		.dir = SESSION_DIR_NONE                                                            \
	}

/* Keep some below @sessions_fd (borrowed). 0 or -errno. */
int spare_dirs_open(sd_event *loop, int sessions_fd, const struct session_dir_owner *owner,
		    struct spare_dirs **ret_spares);
/* Remove those that are left. NULL is allowed. */
void spare_dirs_close(struct spare_dirs *s);

/* One that has no name yet: of those where there are any, else a new one. @s may be NULL. 0 or
 * -errno. */
int spare_dirs_take(struct spare_dirs *s, int sessions_fd, const struct session_dir_owner *owner,
		    struct spare_dir *ret_dir);
/* Make it the session's. By then its manifest stands in it: what is found under a session's name
 * was begun. 0, or -EEXIST or -errno and it is still hidden. */
int spare_dir_name(struct spare_dir *dir, int sessions_fd, const char *id);
/* Remove it, named or not, and close it. */
void spare_dir_remove(struct spare_dir *dir, int sessions_fd);
