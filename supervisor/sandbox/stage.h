/*
 * The stage of a session's root: a tmpfs of its own with the upper layer, which is empty, the
 * directory that the overlay works in, and the layer of what furnishes the root. All of it belongs
 * to one range of user ids. Of those for the host's system the one that the next session will most
 * likely ask for is made ahead.
 */
#pragma once

#include "launch.h"
#include "sandbox.h"

#include <stdbool.h>

#define STAGES_AHEAD 1 /* at most */

/* Beside SANDBOX_UPPER and SANDBOX_BASE. */
#define STAGE_WORK "work"

/* A stage as @request asks for it, as a detached mount. @template_fd as in furniture.h. 0 or
 * -errno. */
int stage_take(const struct launch_request *request, int template_fd, int *ret_mount_fd);

/* Whether one is to be made ahead. */
bool stage_is_wanted(void);
/* Make it. False if that failed: it is then made when it is asked for, which says why. */
bool stage_make_ahead(void);
