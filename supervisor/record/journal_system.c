/*
 * The world of a journal, as the kernel has it.
 */
#include "journal.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static ssize_t kernel_write(void *context, int fd, const void *data, size_t size)
{
	(void)context;
	return write(fd, data, size);
}

static int kernel_sync(void *context, int fd)
{
	(void)context;
	return fdatasync(fd);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t kernel_time_ns(void *context)
{
	(void)context;
	return clock_ns(CLOCK_REALTIME);
}

static uint64_t kernel_boot_ns(void *context)
{
	(void)context;
	return clock_ns(CLOCK_BOOTTIME);
}

static int kernel_random(void *context, void *data, size_t size)
{
	ssize_t got = getrandom(data, size, 0);

	(void)context;
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EIO;
}

const struct journal_system journal_kernel = {
	.write = kernel_write,
	.sync = kernel_sync,
	.time_ns = kernel_time_ns,
	.boot_ns = kernel_boot_ns,
	.random = kernel_random,
};
