/*
 * Directories and files of a root that is being built. See tree.h.
 */
#include "tree.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int tree_make_directory(int dir_fd, const char *path, mode_t mode, uid_t owner)
{
	if (mkdirat(dir_fd, path, 0700) < 0 || fchownat(dir_fd, path, owner, owner, 0) < 0 ||
	    fchmodat(dir_fd, path, mode, 0) < 0)
		return -errno;
	return 0;
}

int tree_write_file(int dir_fd, const char *path, const char *text, size_t size, uid_t owner)
{
	cleanup(close_fd) int fd =
		openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchown(fd, owner, owner) < 0 || fchmod(fd, 0644) < 0)
		return -errno;
	ssize_t n = write(fd, text, size);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ENOSPC;
}
