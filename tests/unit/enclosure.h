/*
 * Sandboxes for tests: one launcher, and commands run to their end with what they said. Needs root
 * and the programs in ../../bin beside the test.
 */
#pragma once

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/sandbox/launcher.h"
#include "../../supervisor/sandbox/networks.h"
#include "../../supervisor/sandbox/sandbox.h"
#include "../../supervisor/sandbox/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SLOT 50000 /* daemons count from 0 */
#define SAID_MAX (4 << 20)
#define PATIENCE_MS 20000

struct enclosure {
	struct launcher *launcher;
	struct cgroup_root root;
	unsigned ids;
	char id[32];
};

struct outcome {
	struct sandbox_status started, end;
	char *said; /* both outputs */
	size_t size;
};

static inline int open_bin(void)
{
	char path[PATH_MAX];

	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	if (n < 0)
		return -1;
	path[n] = 0;
	char *slash = strrchr(path, '/');
	snprintf(slash, 16, "/../../bin");
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Why these tests cannot run here, or NULL. */
static inline const char *cannot_run(void)
{
	cleanup(close_fd) int bin = open_bin();

	if (geteuid() != 0)
		return "needs root";
	return bin < 0 || faccessat(bin, "vitrine-launcher", X_OK, 0) < 0
		       ? "vitrine-launcher is not built"
		       : NULL;
}

static inline int open_enclosure(void **state)
{
	static struct enclosure e;
	char error[512];
	cleanup(close_fd) int bin = open_bin();

	/* What a daemon ignores or blocks, and its umask, must not reach a session. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	umask(077);
	setenv("CANARY", "from-the-daemon", 1);
	int r = launcher_start(bin, &e.launcher);
	if (r == 0)
		r = cgroup_root_open(&e.root, error);
	*state = &e;
	return r;
}

static inline int close_enclosure(void **state)
{
	struct enclosure *e = *state;

	launcher_stop(e->launcher);
	cgroup_root_close(&e->root);
	return 0;
}

static inline const char *next_id(struct enclosure *e)
{
	snprintf(e->id, sizeof(e->id), "test-%d-%u", getpid(), e->ids++);
	return e->id;
}

static inline struct sandbox *make_sandbox_of(struct enclosure *e, struct sandbox_options options)
{
	struct sandbox_error error;
	struct sandbox *s = NULL;

	options.id = next_id(e);
	options.slot = SLOT + e->ids;
	if (sandbox_create(e->launcher, &e->root, &options, &s, &error) < 0)
		fail_msg("%s: %s", error.step, error.text);
	return s;
}

static inline struct sandbox *make_sandbox(struct enclosure *e)
{
	return make_sandbox_of(e, (struct sandbox_options){.net = SANDBOX_NET_NONE});
}

static const char *const plain_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent",
					"LANG=C.UTF-8", NULL};

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Statuses of @exec until its end; reads @fd (may be -1) meanwhile. */
static inline void follow(struct sandbox *s, uint32_t exec, int fd, struct outcome *o)
{
	int64_t deadline_ms = now_ms() + PATIENCE_MS;
	bool ended = false;

	while (!ended || fd >= 0) {
		struct pollfd p[2] = {{ended ? -1 : sandbox_status_fd(s), POLLIN}, {fd, POLLIN}};

		assert_true(now_ms() < deadline_ms);
		assert_true(poll(p, 2, 1000) >= 0);
		if (p[1].revents) {
			ssize_t n = read(fd, o->said + o->size, SAID_MAX - o->size - 1);
			if (n <= 0)
				fd = -1;
			else
				o->size += (size_t)n;
		}

		struct sandbox_status status;
		while (!ended && sandbox_next_status(s, &status) == 1) {
			assert_int_equal(status.exec, exec);
			if (status.kind == SANDBOX_STARTED) {
				o->started = status;
				continue;
			}
			o->end = status;
			ended = true;
		}
	}
	o->said[o->size] = 0;
}

static inline void cleanup_outcome(struct outcome *o)
{
	free(o->said);
}

/* Run a command to its end, with both its outputs in one pipe. */
static inline void run_command(struct sandbox *s, struct sandbox_command command, struct outcome *o)
{
	static uint32_t execs;
	struct sandbox_error error;
	uint64_t cgroup;
	int out[2];

	free(o->said);
	*o = (struct outcome){.said = malloc(SAID_MAX)};
	assert_non_null(o->said);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	cleanup(close_fd) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	command.exec = ++execs;
	command.env = command.env ? command.env : plain_env;
	command.cwd = command.cwd ? command.cwd : "/";
	command.stdin_fd = null;
	command.stdout_fd = command.stderr_fd = out[1];
	assert_int_equal(sandbox_prepare_exec(s, command.exec, &cgroup), 0);
	if (sandbox_exec(s, &command, &error) < 0)
		fail_msg("%s: %s", error.step, error.text);
	close(out[1]);
	follow(s, command.exec, out[0], o);
	close(out[0]);
	assert_int_equal(sandbox_kill(s, command.exec), 0);
}

static inline void run_shell(struct sandbox *s, bool as_root, const char *script, struct outcome *o)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	run_command(s, (struct sandbox_command){.argv = argv, .as_root = as_root}, o);
}

/* A script that says exactly this, and succeeds. */
static inline void expect(struct sandbox *s, bool as_root, const char *script, const char *said)
{
	cleanup(outcome) struct outcome o = {0};

	run_shell(s, as_root, script, &o);
	assert_string_equal(o.said, said);
	assert_int_equal(o.end.kind, SANDBOX_EXITED);
	assert_int_equal(o.end.wait_status, 0);
}

/* What the host holds of sandboxes, so that a test can see that nothing is left. */
struct traces {
	size_t mounts, mounts_of_launcher, descriptors, descriptors_of_launcher, cgroups, processes;
	size_t networks_of_launcher; /* its own, and those made ahead */
};

static inline size_t count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t lines = 0;

	if (!f)
		return 0;
	for (int c; (c = fgetc(f)) != EOF;)
		lines += c == '\n';
	fclose(f);
	return lines;
}

static inline size_t count_entries(const char *path)
{
	cleanup(closedir) DIR *dir = opendir(path);
	size_t entries = 0;

	while (dir && readdir(dir))
		entries++;
	return entries;
}

static inline size_t count_networks(const char *descriptors)
{
	cleanup(closedir) DIR *dir = opendir(descriptors);
	struct dirent *entry;
	char link[64];
	size_t networks = 0;

	while (dir && (entry = readdir(dir)))
		if (readlinkat(dirfd(dir), entry->d_name, link, sizeof(link)) > 5)
			networks += strncmp(link, "net:[", 5) == 0;
	return networks;
}

/* Processes whose user is of a test's sandbox. */
static inline size_t count_processes(void)
{
	cleanup(closedir) DIR *dir = opendir("/proc");
	size_t found = 0;

	for (struct dirent *d; dir && (d = readdir(dir));) {
		struct stat st;

		if (d->d_name[0] < '0' || d->d_name[0] > '9')
			continue;
		if (fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
		    st.st_uid >= 0x20000000u + SLOT * 65536u)
			found++;
	}
	return found;
}

static inline size_t count_own_cgroups(const struct cgroup_root *root)
{
	cleanup(closedir) DIR *dir = fdopendir(openat(root->fd, ".", O_RDONLY | O_DIRECTORY));
	char prefix[32];
	size_t found = 0;

	snprintf(prefix, sizeof(prefix), "test-%d-", getpid());
	for (struct dirent *d; dir && (d = readdir(dir));)
		found += strncmp(d->d_name, prefix, strlen(prefix)) == 0;
	return found;
}

static inline struct traces look(const struct enclosure *e)
{
	struct traces t = {0};
	char path[64];

	t.mounts = count_lines("/proc/self/mountinfo");
	t.descriptors = count_entries("/proc/self/fd");
	t.cgroups = count_own_cgroups(&e->root);
	t.processes = count_processes();
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", e->launcher->pid);
	t.mounts_of_launcher = count_lines(path);
	snprintf(path, sizeof(path), "/proc/%d/fd", e->launcher->pid);
	t.networks_of_launcher = count_networks(path);
	t.descriptors_of_launcher = count_entries(path) - t.networks_of_launcher;
	return t;
}

static inline bool no_more(const struct traces *now, const struct traces *before)
{
	return now->mounts <= before->mounts &&
	       now->mounts_of_launcher <= before->mounts_of_launcher &&
	       now->descriptors <= before->descriptors &&
	       now->descriptors_of_launcher <= STAGES_AHEAD + before->descriptors_of_launcher &&
	       now->networks_of_launcher <= 1 + NETWORKS_AHEAD && now->cgroups <= before->cgroups &&
	       now->processes <= before->processes;
}

/* Soon: the dead are reaped, and the descriptor of a fanotify group closes in a thread of its own.
 */
static inline void assert_no_more_than(const struct enclosure *e, const struct traces *before)
{
	struct traces now = look(e);

	for (int i = 0; i < 200 && !no_more(&now, before); i++) {
		usleep(10000);
		now = look(e);
	}
	if (no_more(&now, before))
		return;
	fail_msg("left: mounts %zd, of the launcher %zd, descriptors %zd, of the launcher %zd, "
		 "cgroups %zd, processes %zd",
		 now.mounts - before->mounts, now.mounts_of_launcher - before->mounts_of_launcher,
		 now.descriptors - before->descriptors,
		 now.descriptors_of_launcher - before->descriptors_of_launcher,
		 now.cgroups - before->cgroups, now.processes - before->processes);
}

static inline int run_enclosed(const char *name, const struct CMUnitTest *tests, size_t count)
{
	const char *reason = cannot_run();

	if (reason) {
		printf("%s: skipped: %s\n", name, reason);
		return 0;
	}
	return _cmocka_run_group_tests(name, tests, count, open_enclosure, close_enclosure);
}
