/*
 * A whole file in memory.
 */
#pragma once

#include "../supervisor/record/event.h"

/* Read @name below @dir_fd (or AT_FDCWD). The bytes are owned by the caller. 0, -EFBIG (more than
 * @most bytes) or -errno. */
int file_read(int dir_fd, const char *name, size_t most, char **ret_text, size_t *ret_size);

/* The next line of @text from *at on, without its newline. False: there is no whole one. */
bool text_line(struct bytes text, size_t *at, struct bytes *ret_line);
