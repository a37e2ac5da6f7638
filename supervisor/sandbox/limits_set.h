/*
 * The values of limits, as each controller of either hierarchy takes them.
 */
#pragma once

#include "limits.h"

/* Set what @l asks of controller @c, whose cgroup of v1 or v2 is @dir_fd. 0 or -errno, with the
 * file or what is missing in @why. */
int limits_set(bool is_v1, int dir_fd, enum sandbox_controller c, const struct limits *l,
	       char why[LIMITS_WHY]);
