/* The socket at which a daemon's clients connect. */
#pragma once

#include "fault.h"

/* 0, or -EADDRINUSE with a fault if somebody listens at @path already. */
int listener_refuse_second(const char *path, struct fault *ret_fault);

/* Listen at @path, mode 0600, in place of what a dead daemon left there. 0 or -errno with a fault.
 */
int listener_open(const char *path, int *ret_fd, struct fault *ret_fault);
