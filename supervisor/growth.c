/*
 * Measuring is done by a thread of its own. What it walks through is the session's: names change
 * under its eyes, links lead anywhere, directories are as deep as somebody likes. So it opens
 * directories alone, by descriptors, and takes of everything else no more than its size.
 */
#include "growth.h"

#include "record/cleanup.h"
#include "worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_US 1000000ull
#define SHARE 20 /* of the time at most one part in so many is spent on measuring */
#define BLOCK 512ull
#define NAMELESS_MAX 65536

struct growth {
	struct growth_options options;
	struct worker *worker;
	sd_event_source *timer;
	int dir_fd, cgroup_fd;
	atomic_bool stop;
	bool is_ready, is_over;
	uint64_t first, bytes; /* of the first time, and of the last */
	uint64_t took_us;
};

/* ---- the tree ---- */

struct tree {
	dev_t dev;
	const atomic_bool *stop;
	uint64_t bytes;
};

/* Of a file with several names each has its share: nothing of another file system can be one. */
static void add_file(struct tree *t, const struct stat *st)
{
	t->bytes += (uint64_t)st->st_blocks * BLOCK / (S_ISDIR(st->st_mode) ? 1 : st->st_nlink);
}

static int walk(struct tree *t, int dir_fd, int depth);

static int walk_into(struct tree *t, int dir_fd, const char *name, int depth)
{
	struct stat st;
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) /* it was renamed or removed meanwhile */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st) < 0 || st.st_dev != t->dev)
		return 0;
	return walk(t, fd, depth + 1);
}

static int walk(struct tree *t, int dir_fd, int depth)
{
	if (depth > GROWTH_DEPTH)
		return -ELOOP;
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;

	for (struct dirent *e; (e = readdir(dir));) {
		struct stat st;

		if (atomic_load(t->stop))
			return -ECANCELED;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fstatat(copy, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 ||
		    st.st_dev != t->dev || st.st_nlink == 0)
			continue;
		add_file(t, &st);
		int r = S_ISDIR(st.st_mode) ? walk_into(t, copy, e->d_name, depth) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- files without a name ---- */

struct nameless {
	struct {
		ino_t ino;
		uint64_t bytes;
	} * files;
	size_t count;
};

static void cleanup_nameless(struct nameless *n)
{
	free(n->files);
}

static int add_nameless(struct nameless *n, const struct stat *st)
{
	for (size_t i = n->count; i-- > 0;)
		if (n->files[i].ino == st->st_ino)
			return 0;
	if (n->count == NAMELESS_MAX)
		return -EOVERFLOW;
	if ((n->count & (n->count - 1)) == 0) {
		void *more = realloc(n->files, (n->count ? 2 * n->count : 1) * sizeof(*n->files));

		if (!more)
			return -ENOMEM;
		n->files = more;
	}
	n->files[n->count].ino = st->st_ino;
	n->files[n->count++].bytes = (uint64_t)st->st_blocks * BLOCK;
	return 0;
}

/* What the links of /proc/PID/fd or map_files lead to; none of it is opened. */
static int look_at_links(const struct tree *t, const char *path, struct nameless *n)
{
	cleanup(closedir) DIR *dir = opendir(path);
	int r = 0;

	for (struct dirent *e; dir && r == 0 && (e = readdir(dir));) {
		struct stat st;

		if (atomic_load(t->stop))
			return -ECANCELED;
		if (fstatat(dirfd(dir), e->d_name, &st, AT_NO_AUTOMOUNT) == 0 &&
		    st.st_dev == t->dev && st.st_nlink == 0 && S_ISREG(st.st_mode))
			r = add_nameless(n, &st);
	}
	return r;
}

static int look_at_processes(const struct tree *t, int cgroup_fd, struct nameless *n)
{
	char line[32], path[64];
	int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	cleanup(fclose) FILE *procs = fd < 0 ? NULL : fdopen(fd, "re");
	int r = 0;

	while (procs && r == 0 && fgets(line, sizeof(line), procs)) {
		line[strcspn(line, "\n")] = 0;
		snprintf(path, sizeof(path), "/proc/%s/fd", line);
		r = look_at_links(t, path, n);
		snprintf(path, sizeof(path), "/proc/%s/map_files", line);
		if (r == 0)
			r = look_at_links(t, path, n);
	}
	return r;
}

/* The cgroup and those below it. */
static int look_at_cgroup(const struct tree *t, int cgroup_fd, struct nameless *n, int depth)
{
	int r = look_at_processes(t, cgroup_fd, n);
	int copy = openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	for (struct dirent *e; dir && r == 0 && depth < GROWTH_DEPTH && (e = readdir(dir));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		cleanup(close_fd) int below =
			openat(copy, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below >= 0)
			r = look_at_cgroup(t, below, n, depth + 1);
	}
	return r;
}

int growth_measure(int dir_fd, int cgroup_fd, const atomic_bool *stop, uint64_t *ret_bytes)
{
	struct tree t = {.stop = stop};
	cleanup(nameless) struct nameless n = {NULL, 0};
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return -errno;
	t.dev = st.st_dev;
	int r = walk(&t, dir_fd, 0);
	if (r == 0 && cgroup_fd >= 0)
		r = look_at_cgroup(&t, cgroup_fd, &n, 0);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n.count; i++)
		t.bytes += n.files[i].bytes;
	*ret_bytes = t.bytes;
	return 0;
}

/* ---- again and again ---- */

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static int measure(void *context)
{
	struct growth *g = context;
	uint64_t began = now_us();
	int r = growth_measure(g->dir_fd, g->cgroup_fd, &g->stop, &g->bytes);

	g->took_us = now_us() - began;
	return r;
}

static void tell_over(struct growth *g, int error)
{
	if (g->is_over)
		return;
	g->is_over = true;
	g->options.over(g->options.context, error);
}

static int on_pause_over(sd_event_source *source, uint64_t at_us, void *context);

static int look_later(struct growth *g)
{
	uint64_t pause = g->took_us * SHARE > PAUSE_US ? g->took_us * SHARE : PAUSE_US;

	g->timer = sd_event_source_disable_unref(g->timer);
	return sd_event_add_time_relative(g->options.loop, &g->timer, CLOCK_MONOTONIC, pause, 0,
					  on_pause_over, g);
}

static void measured(void *context, int r)
{
	struct growth *g = context;
	bool is_first = !g->is_ready;

	if (atomic_load(&g->stop))
		return;
	if (is_first)
		g->first = g->bytes;
	g->is_ready = true;
	if (r == 0)
		r = look_later(g);
	if (is_first)
		g->options.ready(g->options.context, r < 0 ? r : 0);
	else if (r < 0 || (g->bytes > g->first && g->bytes - g->first > g->options.most))
		tell_over(g, r < 0 ? r : 0);
}

static int on_pause_over(sd_event_source *source, uint64_t at_us, void *context)
{
	struct growth *g = context;

	(void)source, (void)at_us;
	worker_add(g->worker, &(struct work){measure, measured, g});
	return 0;
}

int growth_start(const struct growth_options *options, struct growth **ret_growth)
{
	struct growth *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->options = *options;
	g->dir_fd = openat(options->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = g->dir_fd < 0 ? -errno : 0;
	g->cgroup_fd = fcntl(options->cgroup_fd, F_DUPFD_CLOEXEC, 3);
	if (r == 0 && g->cgroup_fd < 0)
		r = -errno;
	if (r == 0)
		r = worker_start(options->loop, &g->worker);
	if (r < 0) {
		growth_stop(g);
		return r;
	}
	worker_add(g->worker, &(struct work){measure, measured, g});
	*ret_growth = g;
	return 0;
}

void growth_stop(struct growth *g)
{
	if (!g)
		return;
	atomic_store(&g->stop, true);
	worker_stop(g->worker);
	sd_event_source_disable_unref(g->timer);
	cleanup_close_fd(&g->dir_fd);
	cleanup_close_fd(&g->cgroup_fd);
	free(g);
}
