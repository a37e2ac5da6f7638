/*
 * Pages are memfds that are sealed to their size, so that no reader can be made to fault.
 */
#include "page.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int map(struct metrics_page *p, int fd, size_t size, bool is_writable)
{
	int protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *cells = mmap(NULL, size, protection, flags, fd, 0);

	if (cells == MAP_FAILED)
		return -errno;
	p->cells = cells;
	p->size = size;
	return 0;
}

int metrics_page_new(size_t size, bool is_shared, struct metrics_page *ret_page)
{
	struct metrics_page p = METRICS_PAGE_NONE;
	cleanup(close_fd) int fd = -1;

	if (is_shared) {
		fd = memfd_create("vitrine-metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
			return -errno;
	}
	int r = map(&p, fd, size, true);
	if (r < 0)
		return r;
	p.fd = take_fd(fd);
	*ret_page = p;
	return 0;
}

void metrics_page_free(struct metrics_page *p)
{
	if (p->cells)
		munmap(p->cells, p->size);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct metrics_page)METRICS_PAGE_NONE;
}

int metrics_page_reader(const struct metrics_page *p)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int metrics_page_map(int fd, size_t size, bool is_writable, struct metrics_page *ret_page)
{
	struct metrics_page p = METRICS_PAGE_NONE;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)size)
		return -EINVAL;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EINVAL;
	int r = map(&p, fd, size, is_writable);
	if (r < 0)
		return r;
	*ret_page = p;
	return 0;
}
