/* The socket at which a daemon's clients connect. */
#pragma once

#include "fault.h"

/* 0, or -EADDRINUSE with a fault if somebody listens at @path already. */
int listener_refuse_second(const char *path, struct fault *ret_fault);

/*
 * Listen at @path in place of what a dead daemon left there, for root and the members of @group
 * (NULL, or one that the host has not: for root alone). 0 or -errno with a fault.
 */
int listener_open(const char *path, const char *group, int *ret_fd, struct fault *ret_fault);
