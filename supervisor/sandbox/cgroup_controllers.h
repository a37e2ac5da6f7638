/*
 * Controllers of the v2 hierarchy, as the limits of sessions need them: switched on for the cgroup
 * `vitrine` where they are off, and off again when the last vitrine goes. What was switched on is
 * noted as an attribute of `vitrine` itself, so every daemon of the host knows it, also after a
 * crash.
 */
#pragma once

#include "limits.h"
#include "sandbox.h"

#define CONTROLLERS_ROOM 256

/* Let `vitrine` and what is below have controller @name. -ENOENT: the hierarchy does not have it.
 */
int cgroup_controller_enable(const struct cgroup_root *root, const char *name,
			     char why[LIMITS_WHY]);

/* What `vitrine` (@fd) had switched on in the root, parted by blanks; "" for nothing. */
void cgroup_controllers_noted(int fd, char ret_names[CONTROLLERS_ROOM]);

/*
 * Switch @names off in the root (@mount_fd): each unless another cgroup meanwhile sets something by
 * it. To be called when `vitrine` is gone.
 */
void cgroup_controllers_put_back(int mount_fd, const char *names);
