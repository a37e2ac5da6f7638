/*
 * Settings of the kernel in /proc.
 */
#pragma once

/* Write @text there: to the kernel, not to a file that stands in its place (-EXDEV). 0 or -errno.
 */
int kernel_text_write(int dir_fd, const char *path, const char *text);
