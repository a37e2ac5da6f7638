/*
 * Directories of sessions made ahead, under hidden names, locked, and with the files that a
 * record begins with: on a disk to make them takes as long as half of what else a start needs. They
 * are made when the loop is idle; who comes when none is left makes one.
 */
#pragma once

#include "session_dir.h"

#include <systemd/sd-event.h>

struct spare_dirs;

/* Keep some below @sessions_fd (borrowed). 0 or -errno. */
int spare_dirs_open(sd_event *loop, int sessions_fd, const struct session_dir_owner *owner,
		    struct spare_dirs **ret_spares);
/* Remove those that are left. NULL is allowed. */
void spare_dirs_close(struct spare_dirs *s);

/* As session_dir_create, from those where there are any. @s may be NULL. */
int spare_dirs_take(struct spare_dirs *s, int sessions_fd, const struct session_dir_owner *owner,
		    char ret_id[SESSION_ID_LENGTH + 1], struct session_dir *ret_dir);
