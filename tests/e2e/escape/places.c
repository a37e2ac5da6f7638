/*
 * Places that lead out of the root: descriptors that were left open, links of /proc, files of the
 * kernel and devices.
 */
#include "escape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FDS_MAX 4096

/* ---- descriptors (CVE-2016-9962, CVE-2024-21626) ---- */

static void try_inherited(void)
{
	int open_ones = 0, last = -1;

	for (int fd = 3; fd < FDS_MAX; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		open_ones++;
		last = fd;
	}
	came("inherited descriptors", open_ones == 0, "%d, the last is %d", open_ones, last);

	for (int fd = 0; fd < 3; fd++) {
		struct stat st;
		bool directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);

		came("standard stream as a directory", !directory && openat(fd, "..", O_PATH) < 0,
		     "%d", fd);
	}
}

static void try_working_directory(void)
{
	char here[4096] = "";
	bool absolute = getcwd(here, sizeof(here)) && here[0] == '/';

	came("working directory", absolute, "%s", here);
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	struct stat up, root;
	bool same = stat(".", &up) == 0 && stat("/", &root) == 0 && up.st_ino == root.st_ino &&
		    up.st_dev == root.st_dev;
	came("up from the root", same, "%lu", (unsigned long)up.st_ino);
}

/* chroot(2), out of a directory that is held. */
static void try_chroot(void)
{
	int held = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	mkdir("/tmp/jail", 0700);
	int r = chroot("/tmp/jail");
	came("chroot", r < 0, "%s", r < 0 ? strerrorname_np(errno) : "done");
	if (r == 0 && fchdir(held) == 0)
		came("chroot and up", chdir("../../../..") == 0, "in");
	close(held);
}

void try_descriptors(void)
{
	static const char *const of_init[] = {"exe", "root",   "cwd",  "mem",
					      "fd",  "ns/mnt", "maps", "environ"};

	try_inherited();
	for (size_t i = 0; i < COUNT(of_init); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/1/%s", of_init[i]);
		must_not_open("of pid 1", path, O_RDONLY);
	}
	/* The host's program by the link of its process (CVE-2019-5736). */
	must_not_open("program of pid 1", "/proc/1/exe", O_WRONLY);
	must_not_open("program of pid 1", "/proc/1/exe", O_RDONLY | O_PATH | O_DIRECTORY);
	must_not_open("root of pid 1", "/proc/1/root/etc/shadow", O_RDONLY);
	must_not_open("by a thread", "/proc/1/task/1/root/etc", O_RDONLY);
	try_working_directory();
	try_chroot();
}

/* ---- files of the kernel ---- */

static int written;
static char first_written[4096];

static int try_write(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)where;
	if (type != FTW_F)
		return 0;
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (written++ == 0)
		snprintf(first_written, sizeof(first_written), "%s", path);
	close(fd);
	return 0;
}

static void try_tree(const char *top)
{
	written = 0;
	first_written[0] = 0;
	nftw(top, try_write, 32, FTW_PHYS);
	came("writable files of the kernel", written == 0, "%s: %d, first %s", top, written,
	     first_written);
}

/* Files that lead into the kernel; those that are masked are as good as empty. */
static void try_masked(void)
{
	static const char *const masked[] = {
		"kcore",       "keys",		"kmsg",		 "timer_list",
		"sched_debug", "sysrq-trigger", "latency_stats", "interrupts",
	};

	for (size_t i = 0; i < COUNT(masked); i++) {
		char path[64], byte;
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%s", masked[i]);
		int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0) {
			came("masked file", true, "%s: %s", path, strerrorname_np(errno));
			continue;
		}
		/* What stands in its place is the device that swallows, and cannot be another one
		 * (CVE-2025-31133). */
		bool null =
			fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
		came("masked file", null && read(fd, &byte, 1) == 0, "%s", path);
		close(fd);
	}
	struct statfs fs;
	came("procfs is procfs", statfs("/proc", &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC,
	     "/proc");
}

static void try_mount_table(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[8192];
	int found = 0;

	while (mounts && fgets(line, sizeof(line), mounts))
		if (strstr(line, " - cgroup") || strstr(line, " - sysfs") ||
		    strstr(line, " - debugfs") || strstr(line, " - tracefs") ||
		    strstr(line, " - securityfs") || strstr(line, " - bpf ") ||
		    strstr(line, " - binfmt_misc") || strstr(line, " - mqueue"))
			found++;
	if (mounts)
		fclose(mounts);
	came("file systems of the kernel", mounts && found == 0, "%d", found);
}

static void write_must_fail(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int error = errno;

	if (fd >= 0)
		close(fd);
	came("write to the kernel", n < 0, "%s: %s", path, n < 0 ? strerrorname_np(error) : "done");
}

/* Where it is among the host's cgroups is nothing that a session can see. */
static void try_own_cgroup(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096], *path;
	int below = 0, lines = 0;

	while (file && fgets(line, sizeof(line), file)) {
		lines++;
		path = strrchr(line, ':');
		below += !path || strcmp(path, ":/\n") != 0;
	}
	if (file)
		fclose(file);
	came("names of the host's cgroups", lines > 0 && below == 0, "%d of %d", below, lines);
}

void try_kernel_files(void)
{
	try_tree("/proc/sys");
	try_tree("/proc/irq");
	try_tree("/sys");
	try_masked();
	try_mount_table();
	write_must_fail("/proc/sys/kernel/core_pattern", "|/tmp/x");
	write_must_fail("/proc/sys/kernel/modprobe", "/tmp/x");
	write_must_fail("/proc/sys/fs/binfmt_misc/register", ":x:M::x::/tmp/x:");
	write_must_fail("/proc/sys/user/max_user_namespaces", "1");
	write_must_fail("/sys/fs/cgroup/memory/release_agent", "/tmp/x");
	write_must_fail("/sys/kernel/uevent_helper", "/tmp/x");
	write_must_fail("/proc/self/uid_map", "0 0 1");
	write_must_fail("/proc/self/gid_map", "0 0 1");
	write_must_fail("/proc/self/projid_map", "0 0 1");
	write_must_fail("/proc/self/setgroups", "allow");
	write_must_fail("/proc/self/timens_offsets", "monotonic 1 0");
	write_must_fail("/proc/1/oom_score_adj", "1000");
	write_must_fail("/proc/1/attr/current", "unconfined");
	write_must_fail("/proc/self/oom_score_adj", "-1000");
	write_must_fail("/proc/self/attr/current", "unconfined");
	must_not_open("cgroups", "/sys/fs/cgroup/cgroup.procs", O_RDONLY);
	must_not_open("cgroups", "/sys/fs/cgroup/unified/cgroup.procs", O_RDONLY);
	try_own_cgroup();
}

/* ---- devices ---- */

void try_devices(void)
{
	static const char *const known[] = {"null", "zero", "full",  "random", "urandom",
					    "tty",  "fd",   "stdin", "stdout", "stderr",
					    "ptmx", "pts",  "shm"};
	static const char *const absent[] = {
		"/dev/mem",    "/dev/kmem",	    "/dev/port",
		"/dev/kmsg",   "/dev/sda",	    "/dev/vda",
		"/dev/loop0",  "/dev/loop-control", "/dev/fuse",
		"/dev/kvm",    "/dev/net/tun",	    "/dev/console",
		"/dev/tty0",   "/dev/userfaultfd",  "/dev/mapper/control",
		"/dev/mqueue", "/run/docker.sock",  "/var/run/docker.sock"};
	DIR *dev = opendir("/dev");

	for (struct dirent *e; dev && (e = readdir(dev));) {
		bool is_known = e->d_name[0] == '.';

		for (size_t i = 0; i < COUNT(known); i++)
			is_known |= strcmp(e->d_name, known[i]) == 0;
		if (!is_known)
			came("a device more", false, "/dev/%s", e->d_name);
	}
	if (dev)
		closedir(dev);
	for (size_t i = 0; i < COUNT(absent); i++)
		must_not_open("device", absent[i], O_RDONLY);
	came("another /dev/null", unlink("/dev/null") < 0 && symlink("/etc", "/dev/x") < 0, "%s",
	     strerrorname_np(errno));
	must_not_open("a file in /dev", "/dev/x", O_WRONLY | O_CREAT);
}
