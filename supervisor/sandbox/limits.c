/*
 * Limits that controllers of cgroups hold. See limits.h.
 */
#include "limits.h"

#include "../record/cleanup.h"
#include "cgroup.h"
#include "cgroup1.h"
#include "cgroup_controllers.h"
#include "limits_set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

const char *const limits_controllers[SANDBOX_CONTROLLERS + 1] = {
	[SANDBOX_MEMORY] = "memory",
	[SANDBOX_PIDS] = "pids",
	[SANDBOX_CPU] = "cpu",
	[SANDBOX_IO] = "blkio",
};

const char *limits_controller_v2(enum sandbox_controller c)
{
	return c == SANDBOX_IO ? "io" : limits_controllers[c];
}

/* Where each controller counts how often it was hit; NULL: it does not. */
static const struct {
	const char *file_v1, *file_v2, *key;
} counters[SANDBOX_CONTROLLERS] = {
	[SANDBOX_MEMORY] = {"memory.oom_control", "memory.events", "oom_kill"},
	[SANDBOX_PIDS] = {"pids.events", "pids.events", "max"},
	[SANDBOX_CPU] = {"cpu.stat", "cpu.stat", "nr_throttled"},
};

/* Where the cgroups of a session, or of a command of it, are. */
struct place {
	const struct cgroup_root *root;
	int cgroup_fd;	/* v2 */
	int session_fd; /* v2, of a command: the session's; -1 */
	const char *id;
	const char *name; /* of a command; NULL */
};

static int enable(const struct place *p, const char *controller, char why[LIMITS_WHY])
{
	char word[16];
	int r = cgroup_controller_enable(p->root, controller, why);

	if (r < 0 || p->session_fd < 0)
		return r;
	snprintf(word, sizeof(word), "+%s", controller);
	r = cgroup_write(p->session_fd, "cgroup.subtree_control", word);
	if (r < 0)
		snprintf(why, LIMITS_WHY, "%s/vitrine/%s/cgroup.subtree_control takes no %s",
			 p->root->path, p->id, word);
	return r;
}

/* What a command is below is there, or is made without a limit of its own. */
static int make_v1(const struct place *p, const char *mount, int *ret_fd)
{
	char path[CGROUP1_PATH_MAX];
	cleanup(close_fd) int parent = -1;

	if (!p->name)
		return cgroup1_make(mount, p->id, ret_fd);
	int r = cgroup1_make(mount, p->id, &parent);
	if (r < 0 && r != -EEXIST)
		return r;
	snprintf(path, sizeof(path), "%s/%s", p->id, p->name);
	return cgroup1_make(mount, path, ret_fd);
}

static int open_v1(const struct place *p, enum sandbox_controller c, struct limits *l,
		   char why[LIMITS_WHY])
{
	const char *name = limits_controllers[c];
	struct controller_limit *by = &l->by[c];
	char mount[CGROUP1_PATH_MAX];

	int r = cgroup1_find(name, mount);
	if (r < 0) {
		snprintf(why, LIMITS_WHY,
			 "the host has no %s controller: %s/cgroup.controllers does not list it, "
			 "and no v1 hierarchy of %s is mounted",
			 limits_controller_v2(c), p->root->path, name);
		return r;
	}
	r = make_v1(p, mount, &by->dir_fd);
	if (r < 0) {
		snprintf(why, LIMITS_WHY, "cannot make %.200s/vitrine/%s", mount, p->id);
		return r;
	}
	r = limits_set(true, by->dir_fd, c, l, why);
	if (r < 0)
		return r;
	by->tasks_fd = openat(by->dir_fd, "tasks", O_WRONLY | O_CLOEXEC);
	return by->tasks_fd < 0 ? -errno : 0;
}

static int open_controller(const struct place *p, enum sandbox_controller c, struct limits *l,
			   char why[LIMITS_WHY])
{
	struct controller_limit *by = &l->by[c];
	int r = enable(p, limits_controller_v2(c), why);

	if (r == -ENOENT)
		return open_v1(p, c, l, why);
	if (r < 0)
		return r;
	by->dir_fd = fcntl(p->cgroup_fd, F_DUPFD_CLOEXEC, 0);
	return by->dir_fd < 0 ? -errno : limits_set(false, by->dir_fd, c, l, why);
}

/* A limit whose hits nobody counts holds all the same. */
static void count_hits(struct limits *l, enum sandbox_controller c)
{
	struct controller_limit *by = &l->by[c];
	const char *file = by->tasks_fd >= 0 ? counters[c].file_v1 : counters[c].file_v2;

	if (file)
		by->hits_fd = openat(by->dir_fd, file, O_RDONLY | O_CLOEXEC);
}

static int check_files(const struct sandbox_limits *asked, char why[LIMITS_WHY])
{
	struct rlimit now;

	if (!asked->files || getrlimit(RLIMIT_NOFILE, &now) < 0 || asked->files <= now.rlim_max)
		return 0;
	snprintf(why, LIMITS_WHY,
		 "files: %llu is more than vitrined's own hard limit of %llu open files "
		 "(LimitNOFILE= of its unit, ulimit -Hn)",
		 (unsigned long long)asked->files, (unsigned long long)now.rlim_max);
	return -EPERM;
}

static int open_all(const struct place *p, const struct sandbox_limits *asked, struct limits *l,
		    char ret_why[LIMITS_WHY])
{
	const uint64_t wanted[SANDBOX_CONTROLLERS] = {
		[SANDBOX_MEMORY] = asked->memory_bytes,
		[SANDBOX_PIDS] = asked->pids,
		[SANDBOX_CPU] = asked->cpu_milli + asked->cpu_weight,
		[SANDBOX_IO] = asked->io_bytes,
	};

	l->asked = *asked;
	int r = check_files(asked, ret_why);
	for (int c = 0; r == 0 && c < SANDBOX_CONTROLLERS; c++) {
		if (!wanted[c])
			continue;
		snprintf(ret_why, LIMITS_WHY, "%s", limits_controller_v2(c));
		r = open_controller(p, c, l, ret_why);
		if (r == 0)
			count_hits(l, c);
	}
	return r;
}

int limits_open(const struct cgroup_root *root, int cgroup_fd, const char *id,
		const struct sandbox_limits *asked, struct limits *l, char ret_why[LIMITS_WHY])
{
	const struct place place = {root, cgroup_fd, -1, id, NULL};

	l->has_init = true;
	return open_all(&place, asked, l, ret_why);
}

int limits_open_command(const struct cgroup_root *root, int session_fd, int cgroup_fd,
			const char *id, const char *name, const struct sandbox_limits *asked,
			struct limits *l, char ret_why[LIMITS_WHY])
{
	const struct place place = {root, cgroup_fd, session_fd, id, name};

	return open_all(&place, asked, l, ret_why);
}

size_t limits_tasks(const struct limits *l, int *ret_fds)
{
	size_t count = 0;

	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		if (l->by[c].tasks_fd >= 0)
			ret_fds[count++] = l->by[c].tasks_fd;
	return count;
}

int limits_hits(const struct limits *l, enum sandbox_controller c, uint64_t *ret_hits)
{
	if (l->by[c].hits_fd < 0)
		return -ENODATA;
	return cgroup_read_value(l->by[c].hits_fd, counters[c].key, ret_hits);
}

bool limits_counts_below(const struct limits *l, enum sandbox_controller c)
{
	const struct controller_limit *by = &l->by[c];

	if (by->dir_fd < 0 || by->tasks_fd >= 0)
		return false;
	/* Since 6.12, which has this file too. */
	if (c == SANDBOX_PIDS)
		return faccessat(by->dir_fd, "pids.events.local", F_OK, 0) == 0;
	return c == SANDBOX_MEMORY;
}

uint64_t limits_memory_peak(const struct limits *l)
{
	const struct controller_limit *memory = &l->by[SANDBOX_MEMORY];
	uint64_t peak = 0;

	if (memory->tasks_fd < 0)
		return 0;
	return cgroup_read_number(memory->dir_fd, "memory.max_usage_in_bytes", &peak) < 0 ? 0
											  : peak;
}

void limits_close_files(struct limits *l)
{
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++) {
		cleanup_close_fd(&l->by[c].dir_fd);
		cleanup_close_fd(&l->by[c].tasks_fd);
		cleanup_close_fd(&l->by[c].hits_fd);
	}
	*l = LIMITS_NONE;
}

void limits_close(struct limits *l, const char *id)
{
	bool made = false;

	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		made |= l->by[c].dir_fd >= 0;
	limits_close_files(l);
	if (made)
		limits_remove(id);
}

int limits_remove(const char *id)
{
	return cgroup1_remove(limits_controllers, id);
}
