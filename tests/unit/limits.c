/* Limits that cgroups hold: set where the host has the controllers, hit, counted and removed. */
#include "../../supervisor/sandbox/limits.h"

#include "../../supervisor/sandbox/cgroup1.h"
#include "cgroup_place.h"

#include <sys/mman.h>
#include <sys/resource.h>

static int open_place(void **state)
{
	return open_place_owned(state, 0);
}

/* Is there a v1 cgroup of that name? */
static bool is_on_v1(const char *controller, const char *name)
{
	char mount[CGROUP1_PATH_MAX], path[CGROUP1_PATH_MAX + 128];
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

static void memory_is_held_and_counted(void **state)
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
	assert_int_equal(limits_hits(&l, SANDBOX_PIDS, &hits), 0);
	assert_int_equal(hits, 1);

	assert_int_equal(cgroup_kill(p->fd, -1), 0);
	limits_close(&l, p->name);
	assert_false(is_on_v1("pids", p->name));
}

/* A command has less than its session, and what it hits is its own; another one has what is left.
 */
static void a_command_has_limits_below_its_session(void **state)
{
	struct place *p = *state, command = *p;
	struct limits session = LIMITS_NONE, own = LIMITS_NONE;
	const struct sandbox_limits asked = {.pids = 6}, less = {.pids = 2};
	char why[LIMITS_WHY] = "", path[64];
	uint64_t hits = 0;

	assert_int_equal(cgroup_make(p->fd, "7", 0, &command.fd, &command.id), 0);
	assert_int_equal(limits_open(&p->root, p->fd, p->name, &asked, &session, why), 0);
	assert_int_equal(
		limits_open_command(&p->root, p->fd, command.fd, p->name, "7", &less, &own, why),
		0);
	int status = run_inside(&command, &own, fork_too_often);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(limits_hits(&own, SANDBOX_PIDS, &hits), 0);
	assert_int_equal(hits, 1);
	assert_int_equal(limits_hits(&own, SANDBOX_MEMORY, &hits), -ENODATA);

	assert_int_equal(cgroup_kill(p->fd, -1), 0);
	snprintf(path, sizeof(path), "%s/7", p->name);
	limits_close(&own, path);
	assert_false(is_on_v1("pids", path));
	close(command.fd);
	limits_close(&session, p->name);
	assert_false(is_on_v1("pids", p->name));
}

/* Also where the session itself has no limit, and nobody takes the command's away but the end of
 * its session. */
static void what_a_command_has_goes_with_its_session(void **state)
{
	struct place *p = *state;
	struct limits own = LIMITS_NONE;
	const struct sandbox_limits asked = {.memory_bytes = 16 << 20, .pids = 2};
	char why[LIMITS_WHY] = "";
	uint64_t id;
	int fd = -1;

	assert_int_equal(cgroup_make(p->fd, "1", 0, &fd, &id), 0);
	assert_int_equal(limits_open_command(&p->root, p->fd, fd, p->name, "1", &asked, &own, why),
			 0);
	limits_close_files(&own);
	close(fd);
	assert_int_equal(limits_remove(p->name), 0);
	assert_false(is_on_v1("memory", p->name));
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
		assert_non_null(strstr(why, "/vitrine/test-"));
		close(fd);
		limits_close(&l, p->name);
		assert_int_equal(limits_remove(p->name), 0);
		assert_int_equal(limits_remove(p->name), 0);
	}
	char path[CGROUP1_PATH_MAX];
	assert_int_equal(cgroup1_find("no_such_controller", path), -ENOENT);
}

static void expect_in(int dir_fd, const char *file, const char *words)
{
	char text[256] = "";
	cleanup(close_fd) int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	if (!strstr(text, words))
		fail_msg("%s: want %s, have %s", file, words, text);
}

static void a_weight_is_what_the_hierarchy_has_for_it(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	const struct sandbox_limits asked = {.cpu_weight = 25};
	char why[LIMITS_WHY] = "";

	assert_int_equal(limits_open(&p->root, p->fd, p->name, &asked, &l, why), 0);
	if (l.by[SANDBOX_CPU].tasks_fd >= 0)
		expect_in(l.by[SANDBOX_CPU].dir_fd, "cpu.shares", "256\n");
	else
		expect_in(l.by[SANDBOX_CPU].dir_fd, "cpu.weight", "25\n");
	limits_close(&l, p->name);
}

/* The disk of the file system that we are on, where it is on one. */
static void rates_are_those_of_disks(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	struct sandbox_limits asked = {.io_bytes = 1 << 20};
	char why[LIMITS_WHY] = "";
	struct stat here, memory;

	assert_int_equal(stat("/", &here), 0);
	assert_int_equal(stat("/dev/shm", &memory), 0);
	asked.io_places[0] = (struct sandbox_io_place){"/", here.st_dev, false};
	int r = limits_open(&p->root, p->fd, p->name, &asked, &l, why);
	if (r == 0 && l.by[SANDBOX_IO].tasks_fd >= 0)
		expect_in(l.by[SANDBOX_IO].dir_fd, "blkio.throttle.write_bps_device", " 1048576\n");
	else if (r == 0)
		expect_in(l.by[SANDBOX_IO].dir_fd, "io.max", "wbps=1048576");
	else
		assert_non_null(strstr(why, "io"));
	limits_close(&l, p->name);

	asked.io_places[1] = (struct sandbox_io_place){"/workspace", memory.st_dev, true};
	assert_true(limits_open(&p->root, p->fd, p->name, &asked, &l, why) < 0);
	if (r == 0)
		assert_non_null(strstr(why, "/workspace is on no block device"));
	limits_close(&l, p->name);
	assert_false(is_on_v1("blkio", p->name));
}

/* After a crash only names are known. */
static void leftovers_are_found_on_v1_too(void **state)
{
	struct place *p = *state;
	struct limits l = LIMITS_NONE;
	const struct sandbox_limits asked = {
		.memory_bytes = 16 << 20, .pids = 4, .cpu_milli = 500, .cpu_weight = 50};
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
		cmocka_unit_test(memory_is_held_and_counted),
		cmocka_unit_test(processes_are_held_and_counted),
		cmocka_unit_test(a_command_has_limits_below_its_session),
		cmocka_unit_test(what_a_command_has_goes_with_its_session),
		cmocka_unit_test(a_weight_is_what_the_hierarchy_has_for_it),
		cmocka_unit_test(rates_are_those_of_disks),
		cmocka_unit_test(what_cannot_be_had_is_named),
		cmocka_unit_test(leftovers_are_found_on_v1_too),
	};

	if (geteuid() != 0) {
		printf("limits: skipped: needs root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, open_place, close_place);
}
