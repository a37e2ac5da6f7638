/*
 * What a session has of its own: init puts it on before the first command, whether the sandbox was
 * made for the session or waited for one. Until then nothing of the session is in the sandbox.
 */
#pragma once

#include "init.h"

#include <linux/filter.h>

/*
 * Wait for INIT_DRESS, saying so where there is something to wait for, and do what it says: enter
 * the cgroups that limit the session, place its mounts, take its system call filter, raise the
 * wall. 0, -ECONNRESET (nobody will ask), or -errno with the step.
 */
int outfit_put_on(struct sock_fprog *ret_filter, enum setup_step *ret_step);
