/*
 * Control groups of the v2 hierarchy. See cgroup.h and sandbox.h.
 *
 * Processes are started in their cgroup and never moved: a move waits 5 to 7 ms for a grace period.
 */
#include "cgroup.h"
#include "../record/crash.h"
#include "../record/store.h"

#include "../record/cleanup.h"
#include "cgroup1.h"
#include "cgroup_controllers.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define ROOT_NAME "vitrine"
#define HIERARCHY_ROOT_ID 1
#define EMPTY_TIMEOUT_MS 10000
#define ASK_FIRST_NS 100000
#define ASK_LAST_NS 10000000
#define HOLD_TRIES 8
#define STRAYS_MS 300 /* for all together */
#define REMOVE_TRIES 200
#define REMOVE_WAIT_NS 1000000

/* Where the whole v2 hierarchy is mounted, and whether there are v1 ones beside it. */
static int find_hierarchy(char *ret_path, size_t size, bool *ret_pure)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return -errno;

	struct mntent entry;
	char line[4096 + 1024];
	bool found = false;
	*ret_pure = true;
	while (getmntent_r(mounts, &entry, line, sizeof(line))) {
		struct stat st;

		if (strcmp(entry.mnt_type, "cgroup") == 0)
			*ret_pure = false;
		if (found || strcmp(entry.mnt_type, "cgroup2") != 0 ||
		    strlen(entry.mnt_dir) >= size)
			continue;
		if (stat(entry.mnt_dir, &st) < 0 || st.st_ino != HIERARCHY_ROOT_ID)
			continue;
		strncpy(ret_path, entry.mnt_dir, size);
		found = true;
	}
	endmntent(mounts);
	return found ? 0 : -ENOENT;
}

/* Lock it as in use, so that no other daemon removes it. -EAGAIN if one just has. */
static int open_locked(int mount_fd, int *ret_fd)
{
	struct stat ours, named;

	if (mkdirat(mount_fd, ROOT_NAME, 0755) < 0 && errno != EEXIST)
		return -errno;
	cleanup(close_fd) int fd = openat(mount_fd, ROOT_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(fd, LOCK_SH) < 0 || fstat(fd, &ours) < 0)
		return -errno;
	if (fstatat(mount_fd, ROOT_NAME, &named, 0) < 0 || named.st_ino != ours.st_ino)
		return -EAGAIN;

	*ret_fd = take_fd(fd);
	return 0;
}

int cgroup_root_open(struct cgroup_root *ret_root, char ret_error[512])
{
	struct cgroup_root root = {.fd = -1, .session_level = 2};

	int r = find_hierarchy(root.path, sizeof(root.path), &root.pure);
	if (r < 0) {
		snprintf(ret_error, 512,
			 "no mount of the whole cgroup v2 hierarchy (%s): mount -t cgroup2 none "
			 "/sys/fs/cgroup/unified, and run vitrined in the host's cgroup namespace",
			 strerror(-r));
		return r;
	}

	cleanup(close_fd) int mount_fd = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = mount_fd < 0 ? -errno : -EAGAIN;
	while (r == -EAGAIN)
		r = open_locked(mount_fd, &root.fd);
	if (r < 0) {
		snprintf(ret_error, 512, "cannot make the cgroup %s/%s: %s", root.path, ROOT_NAME,
			 strerror(-r));
		return r;
	}

	*ret_root = root;
	return 0;
}

void cgroup_root_close(struct cgroup_root *root)
{
	if (root->fd < 0)
		return;

	cleanup(close_fd) int mount_fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char controllers[CONTROLLERS_ROOM];

	cgroup_controllers_noted(root->fd, controllers);
	if (mount_fd >= 0 && flock(mount_fd, LOCK_EX) == 0 &&
	    flock(root->fd, LOCK_EX | LOCK_NB) == 0 &&
	    unlinkat(mount_fd, ROOT_NAME, AT_REMOVEDIR) == 0)
		cgroup_controllers_put_back(mount_fd, controllers);
	if (!root->pure)
		cgroup1_remove_parents(limits_controllers);
	close(root->fd);
	root->fd = -1;
}

int cgroup_make(int parent_fd, const char *name, uid_t owner, int *ret_fd, uint64_t *ret_id)
{
	if (mkdirat(parent_fd, name, 0755) < 0)
		return -errno;

	crash_point();
	struct stat st;
	cleanup(close_fd) int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || fchownat(fd, "cgroup.procs", owner, owner, 0) < 0) {
		int r = -errno;

		unlinkat(parent_fd, name, AT_REMOVEDIR);
		return r;
	}

	*ret_fd = take_fd(fd);
	*ret_id = st.st_ino;
	return 0;
}

/* Somebody who clears up may have been faster than the lock: then it is made again. */
static int hold(int parent_fd, const char *name, int fd)
{
	struct stat ours, named;

	if (flock(fd, LOCK_EX) < 0 || fstat(fd, &ours) < 0)
		return -errno;
	if (fstatat(parent_fd, name, &named, 0) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	return named.st_ino == ours.st_ino ? 0 : -EAGAIN;
}

int cgroup_make_held(int parent_fd, const char *name, uid_t owner, int *ret_fd, uint64_t *ret_id)
{
	int r = -EAGAIN;

	for (int i = 0; i < HOLD_TRIES && (r == -EAGAIN || r == -ENOENT); i++) {
		cleanup(close_fd) int fd = -1;

		r = cgroup_make(parent_fd, name, owner, &fd, ret_id);
		if (r == 0)
			r = hold(parent_fd, name, fd);
		if (r == 0)
			*ret_fd = take_fd(fd);
	}
	return r;
}

int cgroup_read_value(int fd, const char *key, uint64_t *ret_value)
{
	char text[2048];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = 0;

	size_t length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != ' ')
			continue;
		*ret_value = strtoull(line + length, NULL, 10);
		return 0;
	}
	return -ENODATA;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int is_empty(int events)
{
	uint64_t populated = 1;
	int r = cgroup_read_value(events, "populated", &populated);

	return r < 0 ? r : populated == 0;
}

int cgroup_is_empty(int fd)
{
	cleanup(close_fd) int events = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);

	return events < 0 ? -errno : is_empty(events);
}

/* The kernel tells of a change at most every 10 ms, so it is asked in between. */
static int wait_empty(int fd, int64_t timeout_ms)
{
	cleanup(close_fd) int events = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (events < 0)
		return -errno;

	int64_t deadline_ns = now_ns() + timeout_ms * 1000000;
	for (long wait_ns = ASK_FIRST_NS;;
	     wait_ns = wait_ns < ASK_LAST_NS ? 2 * wait_ns : wait_ns) {
		const struct timespec wait = {.tv_nsec = wait_ns};
		struct pollfd p = {.fd = events, .events = POLLPRI};
		int r = is_empty(events);

		if (r != 0)
			return r < 0 ? r : 0;
		if (now_ns() >= deadline_ns)
			return -ETIMEDOUT;
		if (ppoll(&p, 1, &wait, NULL) < 0 && errno != EINTR)
			return -errno;
	}
}

int cgroup_write(int dir_fd, const char *name, const char *text)
{
	cleanup(close_fd) int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

int cgroup_wait_empty(int fd, int last_pidfd)
{
	struct pollfd p = {.fd = last_pidfd, .events = POLLIN};

	if (last_pidfd >= 0)
		poll(&p, 1, EMPTY_TIMEOUT_MS);
	return wait_empty(fd, EMPTY_TIMEOUT_MS);
}

int cgroup_kill(int fd, int last_pidfd)
{
	crash_point();
	int r = cgroup_write(fd, "cgroup.kill", "1");
	if (r < 0)
		return r;
	crash_point();
	return cgroup_wait_empty(fd, last_pidfd);
}

static int remove_one(int parent_fd, const char *name)
{
	const struct timespec wait = {.tv_nsec = REMOVE_WAIT_NS};

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return -errno;
		nanosleep(&wait, NULL);
	}
	return -EBUSY;
}

static int remove_children(int fd)
{
	cleanup(closedir) DIR *dir = NULL;
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy < 0 || !(dir = fdopendir(copy)))
		return -errno;

	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;

		int r = cgroup_remove(fd, e->d_name);
		if (r < 0)
			return r;
	}
	return 0;
}

int cgroup_remove(int parent_fd, const char *name)
{
	crash_point();
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;

	cleanup(close_fd) int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;

	int r = remove_children(fd);
	return r < 0 ? r : remove_one(parent_fd, name);
}

int cgroup_read_number(int dir_fd, const char *name, uint64_t *ret_value)
{
	char text[32] = "";
	cleanup(close_fd) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	*ret_value = strtoull(text, NULL, 10);
	return 0;
}

int cgroup_usage(int fd, uint64_t *ret_cpu_ns, uint64_t *ret_memory_peak)
{
	cleanup(close_fd) int cpu = openat(fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
	if (cpu < 0)
		return -errno;
	uint64_t cpu_us;
	int r = cgroup_read_value(cpu, "usage_usec", &cpu_us);
	if (r < 0)
		return r;

	*ret_memory_peak = 0;
	cgroup_read_number(fd, "memory.peak", ret_memory_peak);
	*ret_cpu_ns = cpu_us * 1000;
	return 0;
}

int sandbox_remove_leftover(const struct cgroup_root *root, const char *id)
{
	if (strchr(id, '/') || id[0] == '.' || id[0] == 0)
		return -EINVAL;
	cleanup(close_fd) int fd = openat(root->fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? limits_remove(id) : -errno;

	/* Another one who clears up may be faster at each step. */
	int r = cgroup_kill(fd, -1);
	if (r == 0 || r == -ENOENT || r == -ENODEV)
		r = cgroup_remove(root->fd, id);
	return r < 0 ? r : limits_remove(id);
}

/* What still dies gets a moment; what lives is not for us to kill: a session has a manifest. */
static int remove_stray(const struct cgroup_root *root, const char *id, int64_t deadline_ns)
{
	int64_t left_ms = (deadline_ns - now_ns()) / 1000000;
	cleanup(close_fd) int fd = openat(root->fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0; /* gone meanwhile, or held */
	int r = wait_empty(fd, left_ms > 0 ? left_ms : 0);
	if (r < 0)
		return r == -ETIMEDOUT ? 0 : r;
	return sandbox_remove_leftover(root, id);
}

int sandbox_remove_strays(const struct cgroup_root *root)
{
	cleanup(closedir) DIR *dir = NULL;
	const int64_t deadline_ns = now_ns() + STRAYS_MS * 1000000ll;
	int copy = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = 0;
	if (copy < 0 || !(dir = fdopendir(copy)))
		return -errno;

	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_type != DT_DIR || !session_id_is_valid(e->d_name))
			continue;
		int r = remove_stray(root, e->d_name, deadline_ns);
		if (r < 0)
			failed = r;
	}
	return failed;
}
