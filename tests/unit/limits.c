/* Limits that cgroups hold: set where the host has the controllers, hit, counted and removed. */
#include "../../supervisor/sandbox/limits.h"

#include "../../supervisor/sandbox/cgroup.h"
#include "../../supervisor/sandbox/cgroup1.h"
#include "enclosure.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>

struct place {
	struct cgroup_root root;
	char name[32];
	int fd;
	uint64_t id;
};

static int open_place(void **state)
{
	static struct place p;
	char error[512];

	int r = cgroup_root_open(&p.root, error);
	if (r < 0)
		return r;
	snprintf(p.name, sizeof(p.name), "test-limits-%d", getpid());
	*state = &p;
	return cgroup_make(p.root.fd, p.name, 0, &p.fd, &p.id);
}

static int close_place(void **state)
{
	struct place *p = *state;

	close(p->fd);
	int r = sandbox_remove_leftover(&p->root, p->name);
	cgroup_root_close(&p->root);
	return r;
}

/* Is there a v1 cgroup of that name? */
static bool is_on_v1(const char *controller, const char *name)
{
	char mount[CGROUP1_PATH_MAX], path[CGROUP1_PATH_MAX + 64];
	struct stat st;

	if (cgroup1_find(controller, mount) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/vitrine/%s", mount, name);
	return stat(path, &st) == 0;
}

static void enter(const struct place *p, const struct limits *l)
{
	int tasks[SANDBOX_CONTROLLERS];
	size_t count = limits_tasks(l, tasks);

	if (cgroup_write(p->fd, "cgroup.procs", "0") < 0)
		_exit(100);
	for (size_t i = 0; i < count; i++)
		if (write(tasks[i], "0", 1) != 1)
			_exit(101);
}

static void take_memory(size_t bytes)
{
	char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)room)[i] = 1;
}

static int run_inside(const struct place *p, const struct limits *l, void (*act)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		enter(p, l);
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void take_too_much(void)
{
	take_memory(64 << 20);
}

static void take_a_little(void)
{
	take_memory(1 << 20);
}

static void fork_too_often(void)
{
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(errno == EAGAIN ? i : 102);
		if (pid == 0) {
			pause();
			_exit(0);
		}
	}
}

static bool is_ready(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, 1000) > 0;
}

static void memory_is_held_counted_and_told(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	const struct sandbox_limits asked = {.memory_bytes = 16 << 20};
	char why[LIMITS_WHY] = "";
	uint64_t hits = 99;

	assert_int_equal(limits_open(&p->root, p->fd, p->name, &asked, &l, why), 0);
	assert_int_equal(limits_hits(&l, SANDBOX_MEMORY, &hits), 0);
	assert_int_equal(hits, 0);
	assert_int_equal(limits_hits(&l, SANDBOX_PIDS, &hits), -ENODATA);
	assert_int_equal(run_inside(p, &l, take_a_little), 0);
	assert_int_equal(limits_hits(&l, SANDBOX_MEMORY, &hits), 0);
	assert_int_equal(hits, 0);

	int status = run_inside(p, &l, take_too_much);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	const struct controller_limit *by = &l.by[SANDBOX_MEMORY];
	assert_true(by->notices_fd >= 0 ? is_ready(by->notices_fd, POLLIN)
					: is_ready(by->hits_fd, POLLPRI));
	assert_int_equal(limits_hits(&l, SANDBOX_MEMORY, &hits), 0);
	assert_true(hits >= 1);

	limits_close(&l, p->name);
	limits_close(&l, p->name);
	assert_false(is_on_v1("memory", p->name));
}

static void processes_are_held_and_counted(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	const struct sandbox_limits asked = {.pids = 4};
	char why[LIMITS_WHY] = "";
	uint64_t hits = 0;

	assert_int_equal(limits_open(&p->root, p->fd, p->name, &asked, &l, why), 0);
	int status = run_inside(p, &l, fork_too_often);
	/* One more than was asked for is the session's init, which is not here. */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 4);
	assert_true(is_ready(l.by[SANDBOX_PIDS].hits_fd, POLLPRI));
	assert_int_equal(limits_hits(&l, SANDBOX_PIDS, &hits), 0);
	assert_int_equal(hits, 1);

	assert_int_equal(cgroup_kill(p->fd, -1), 0);
	limits_close(&l, p->name);
	assert_false(is_on_v1("pids", p->name));
}

static void what_cannot_be_had_is_named(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	struct rlimit files;
	char why[LIMITS_WHY] = "";

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < 1 << 30) {
		const struct sandbox_limits asked = {.files = files.rlim_max + 1};

		assert_int_equal(limits_open(&p->root, p->fd, p->name, &asked, &l, why), -EPERM);
		assert_non_null(strstr(why, "open files"));
		limits_close(&l, p->name);
	}
	/* A v2 hierarchy that has no controllers, and v1 cgroups that are there already. */
	char mount[CGROUP1_PATH_MAX];
	if (cgroup1_find("pids", mount) == 0) {
		const struct sandbox_limits asked = {.pids = 4};
		int fd = -1;

		assert_int_equal(cgroup1_make(mount, p->name, &fd), 0);
		assert_int_equal(limits_open(&p->root, p->fd, p->name, &asked, &l, why), -EEXIST);
		assert_non_null(strstr(why, "/vitrine/test-limits-"));
		close(fd);
		limits_close(&l, p->name);
		assert_int_equal(limits_remove(p->name), 0);
		assert_int_equal(limits_remove(p->name), 0);
	}
	char path[CGROUP1_PATH_MAX];
	assert_int_equal(cgroup1_find("no_such_controller", path), -ENOENT);
}

/* After a crash only names are known. */
static void leftovers_are_found_on_v1_too(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	const struct sandbox_limits asked = {.memory_bytes = 16 << 20, .pids = 4, .cpu_milli = 500};
	char why[LIMITS_WHY] = "", name[48];
	uint64_t id;
	int fd;

	snprintf(name, sizeof(name), "%s-left", p->name);
	assert_int_equal(cgroup_make(p->root.fd, name, 0, &fd, &id), 0);
	assert_int_equal(limits_open(&p->root, fd, name, &asked, &l, why), 0);
	close(fd);
	assert_int_equal(sandbox_remove_leftover(&p->root, name), 0);
	for (size_t i = 0; i < SANDBOX_CONTROLLERS; i++)
		assert_false(is_on_v1(limits_controllers[i], name));
	limits_close(&l, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_held_counted_and_told),
		cmocka_unit_test(processes_are_held_and_counted),
		cmocka_unit_test(what_cannot_be_had_is_named),
		cmocka_unit_test(leftovers_are_found_on_v1_too),
	};

	if (geteuid() != 0) {
		printf("limits: skipped: needs root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, open_place, close_place);
}
