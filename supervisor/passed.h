/*
 * Descriptors that a client passed. A daemon that serves many may neither do with one what the
 * client could not do alone, nor wait for it: what is behind it is the client's choice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A description of @fd (borrowed) of our own, for O_RDONLY or O_WRONLY as @mode says: a pipe or a
 * character device does not block; files and sockets are passed on as they are. Refused are what
 * the client may not use so (-EBADF), what is no stream (-EINVAL), a terminal that its line has
 * left (-EIO) or that is none to us (-ENXIO), and, unless it is @root's who answers for the host
 * himself, a file that its owner could make wait for ever (-EOPNOTSUPP). 0 or -errno.
 */
int passed_description(int fd, int mode, bool root, int *ret_fd);

/* The words for what is refused; of other errors those of strerror. */
const char *passed_error(int error);

/* Close @count of them (-1: none). What may keep who closes it waiting is closed by a thread. */
void passed_close(const int *fds, size_t count);
