/*
 * Files of controllers, and what is written to them. See limits_set.h.
 */
#include "limits_set.h"

#include "../record/cleanup.h"
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define CPU_PERIOD_US 100000
#define CPU_SHARES_EACH 1024 /* v1, of a cgroup with the weight that none was given: 100 */
#define CPU_WEIGHT_EACH 100

__attribute__((format(printf, 4, 5))) static int set(int dir_fd, const char *file,
						     char why[LIMITS_WHY], const char *format, ...)
{
	va_list arguments;
	char text[96];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	int r = cgroup_write(dir_fd, file, text);
	if (r < 0)
		snprintf(why, LIMITS_WHY, "%s takes no %s", file, text);
	return r;
}

static bool host_swaps(void)
{
	char line[256];
	int lines = 0;
	cleanup(fclose) FILE *swaps = fopen("/proc/swaps", "re");

	while (swaps && fgets(line, sizeof(line), swaps))
		lines++;
	return lines > 1;
}

/* ---- memory and processes ---- */

static int set_memory(bool is_v1, int dir, const struct limits *l, char why[LIMITS_WHY])
{
	unsigned long long bytes = l->asked.memory_bytes;
	int r = set(dir, is_v1 ? "memory.limit_in_bytes" : "memory.max", why, "%llu", bytes);

	if (r < 0)
		return r;
	if (!is_v1) {
		r = set(dir, "memory.swap.max", why, "0");
		return r == -ENOENT && !host_swaps() ? 0 : r;
	}
	r = set(dir, "memory.memsw.limit_in_bytes", why, "%llu", bytes);
	if (r != -ENOENT)
		return r;
	if (!host_swaps())
		return 0;
	snprintf(why, LIMITS_WHY,
		 "memory.memsw.limit_in_bytes is missing: swap would not be limited; boot with "
		 "swapaccount=1");
	return r;
}

static int set_pids(bool is_v1, int dir, const struct limits *l, char why[LIMITS_WHY])
{
	(void)is_v1;
	return set(dir, "pids.max", why, "%llu", (unsigned long long)l->asked.pids + l->has_init);
}

/* ---- processor ---- */

static int set_weight(bool is_v1, int dir, uint64_t weight, char why[LIMITS_WHY])
{
	if (is_v1)
		return set(dir, "cpu.shares", why, "%llu",
			   (unsigned long long)weight * CPU_SHARES_EACH / CPU_WEIGHT_EACH);
	return set(dir, "cpu.weight", why, "%llu", (unsigned long long)weight);
}

static int set_cpu(bool is_v1, int dir, const struct limits *l, char why[LIMITS_WHY])
{
	unsigned long long quota_us = l->asked.cpu_milli * (CPU_PERIOD_US / 1000);
	int r = l->asked.cpu_weight ? set_weight(is_v1, dir, l->asked.cpu_weight, why) : 0;

	if (r < 0 || !quota_us)
		return r;
	if (!is_v1)
		return set(dir, "cpu.max", why, "%llu %d", quota_us, CPU_PERIOD_US);
	r = set(dir, "cpu.cfs_period_us", why, "%d", CPU_PERIOD_US);
	return r < 0 ? r : set(dir, "cpu.cfs_quota_us", why, "%llu", quota_us);
}

/* ---- input and output ---- */

/* Whole disks are limited, not partitions. -ENODEV: the file system is on no disk. */
static int find_disk(dev_t dev, unsigned *ret_major, unsigned *ret_minor)
{
	char path[96], text[32] = "";

	if (major(dev) == 0)
		return -ENODEV;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(dev), minor(dev));
	bool is_partition = access(path, F_OK) == 0;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%sdev", major(dev), minor(dev),
		 is_partition ? "../" : "");
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENODEV;
	if (read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	char *end;
	*ret_major = (unsigned)strtoull(text, &end, 10);
	*ret_minor = *end == ':' ? (unsigned)strtoull(end + 1, NULL, 10) : 0;
	return 0;
}

static int set_disk(bool is_v1, int dir, unsigned major, unsigned minor, unsigned long long bytes,
		    char why[LIMITS_WHY])
{
	if (!is_v1)
		return set(dir, "io.max", why, "%u:%u rbps=%llu wbps=%llu", major, minor, bytes,
			   bytes);
	int r = set(dir, "blkio.throttle.read_bps_device", why, "%u:%u %llu", major, minor, bytes);
	if (r == 0)
		r = set(dir, "blkio.throttle.write_bps_device", why, "%u:%u %llu", major, minor,
			bytes);
	return r;
}

/* What is read-only may be on no disk; what can be written has to be on one that can be limited. */
static int set_io(bool is_v1, int dir, const struct limits *l, char why[LIMITS_WHY])
{
	unsigned major = 0, minor = 0;
	bool any = false;

	for (size_t i = 0; i < SANDBOX_IO_PLACES; i++) {
		const struct sandbox_io_place *place = &l->asked.io_places[i];
		int r = place->path ? find_disk(place->dev, &major, &minor) : -ENODEV;

		if (r == 0)
			r = set_disk(is_v1, dir, major, minor, l->asked.io_bytes, why);
		if (r == -ENODEV && place->path && place->is_writable) {
			snprintf(why, LIMITS_WHY,
				 "io: %.200s is on no block device whose rate can be limited; use "
				 "a directory on ext4 or xfs on a disk",
				 place->path);
			return r;
		}
		if (r < 0 && r != -ENODEV)
			return r;
		any |= r == 0;
	}
	if (any)
		return 0;
	snprintf(why, LIMITS_WHY, "io: nothing that the session can read or write is on a disk");
	return -ENODEV;
}

int limits_set(bool is_v1, int dir_fd, enum sandbox_controller c, const struct limits *l,
	       char why[LIMITS_WHY])
{
	static int (*const setters[SANDBOX_CONTROLLERS])(bool, int, const struct limits *,
							 char *) = {
		[SANDBOX_MEMORY] = set_memory,
		[SANDBOX_PIDS] = set_pids,
		[SANDBOX_CPU] = set_cpu,
		[SANDBOX_IO] = set_io,
	};

	return setters[c](is_v1, dir_fd, l, why);
}
