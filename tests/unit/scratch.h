/*
 * A directory of a test's own, and the files in it.
 */
#pragma once

#include "supervisor/record/cleanup.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct scratch {
	char path[64];
	int fd;
};

static inline struct scratch scratch_new(void)
{
	struct scratch s;

	/* In memory where that can be: a sync of a disk is slow, and not what is tested. */
	snprintf(s.path, sizeof(s.path), "%s/vitrine-unit-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(s.path))
		abort();
	s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.fd < 0)
		abort();
	return s;
}

static inline void scratch_empty(int dir_fd)
{
	DIR *dir = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	if (!dir)
		abort();
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(dir_fd, entry->d_name, 0)) {
			int fd = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

			if (fd < 0)
				abort();
			scratch_empty(fd);
			close(fd);
			if (unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR))
				abort();
		}
	}
	closedir(dir);
}

static inline void scratch_free(struct scratch *s)
{
	scratch_empty(s->fd);
	close(s->fd);
	if (rmdir(s->path))
		abort();
}

static inline bool scratch_has(const struct scratch *s, const char *name)
{
	return !faccessat(s->fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* The whole file @name; freed by the caller. */
static inline uint8_t *scratch_read(const struct scratch *s, const char *name, size_t *ret_size)
{
	cleanup(close_fd) int fd = openat(s->fd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	if (fd < 0 || fstat(fd, &st))
		abort();
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		abort();
	*ret_size = (size_t)st.st_size;
	return bytes;
}

static inline void scratch_write(const struct scratch *s, const char *name, const void *bytes,
				 size_t size)
{
	cleanup(close_fd) int fd =
		openat(s->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
}
