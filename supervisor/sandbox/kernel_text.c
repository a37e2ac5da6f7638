/* Settings of the kernel in /proc. See kernel_text.h. */
#include "kernel_text.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

int kernel_text_write(int dir_fd, const char *path, const char *text)
{
	struct statfs fs;
	cleanup(close_fd) int fd = openat(dir_fd, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return -EXDEV;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}
