/*
 * Directories and files of a root that is being built: mode and owner are as said, whatever the
 * umask.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

int tree_make_directory(int dir_fd, const char *path, mode_t mode, uid_t owner);
int tree_write_file(int dir_fd, const char *path, const char *text, size_t size, uid_t owner);
