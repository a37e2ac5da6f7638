/*
 * Tells whether anything in a tree of files may have changed since its stamp was taken, without
 * looking at the tree again: inotify, one watch a directory (changes.h).
 */
#pragma once

/*
 * Watch every directory below @root_fd (see template_walk). Take the stamp after this: what changes
 * in between is then told. 0 with *ret_fd, or -errno (-ENOSPC: the kernel has no more watches).
 */
int template_watch(int root_fd, int *ret_fd);
