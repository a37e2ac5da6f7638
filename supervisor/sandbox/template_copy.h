/*
 * A copy of a tree of files, as a template is kept: contents, names, modes, owners, times of files,
 * hard links and extended attributes. Devices and sockets are left out: a session cannot use them.
 */
#pragma once

#include "template_walk.h"

#include <stdint.h>

/*
 * Copy what is below @from_fd (see template_walk) into the empty directory @to_fd, and give that
 * the attributes of @from_fd. *ret_left_out: how many entries were. 0 or -errno with a fault.
 */
int template_copy(int from_fd, int to_fd, uint64_t *ret_left_out, struct template_fault *ret_fault);

/* Remove everything below @dir_fd, whatever stands there. 0 or -errno. */
int template_clear(int dir_fd);
