/* Where our own programs are: beside the running one, or in the libexec directory next to it. */
#pragma once

#include <limits.h>

/*
 * The directory that holds @program: that of the running executable, ../libexec/vitrine, ../sbin or
 * ../bin seen from there. 0, -ENOENT or -errno.
 */
int install_find(const char *program, char ret_dir[PATH_MAX]);
