/* Control groups: made, emptied, removed, and not taken from under another daemon. */

#include "cgroup_place.h"

#include <sys/prctl.h>

static int open_place(void **state)
{
	return open_place_owned(state, 12345);
}

static void is_owned_only_where_it_has_to_be(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(fstatat(p->fd, "cgroup.procs", &st, 0), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(fstatat(p->fd, "cgroup.freeze", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(fstat(p->fd, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_ino, p->id);
}

static void is_made_once(void **state)
{
	struct place *p = *state;
	uint64_t id;
	int fd = -1;

	assert_int_equal(cgroup_make(p->root.fd, p->name, 0, &fd, &id), -EEXIST);
	assert_int_equal(fd, -1);
}

/* A process in the cgroup that ignores what can be ignored. */
static pid_t start_stubborn(int fd)
{
	cleanup(close_fd) int procs = openat(fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGTERM, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(procs, "0", 1) != 1 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void kills_what_is_below(void **state)
{
	struct place *p = *state;
	uint64_t id, cpu_ns, peak;
	int below, status;

	assert_int_equal(cgroup_make(p->fd, "below", 0, &below, &id), 0);
	pid_t pid = start_stubborn(below);
	assert_int_equal(cgroup_remove(p->root.fd, p->name), -EBUSY);

	assert_int_equal(cgroup_kill(p->fd, -1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(cgroup_usage(p->fd, &cpu_ns, &peak), 0);
	assert_true(cpu_ns > 0);

	close(below);
	assert_int_equal(cgroup_remove(p->fd, "below"), 0);
	assert_int_equal(cgroup_remove(p->fd, "below"), 0);
}

static void kills_what_is_frozen(void **state)
{
	struct place *p = *state;
	uint64_t id;
	int below, status;

	assert_int_equal(cgroup_make(p->fd, "frozen", 0, &below, &id), 0);
	pid_t pid = start_stubborn(below);
	cleanup(close_fd) int freeze = openat(below, "cgroup.freeze", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(freeze, "1", 1), 1);
	assert_int_equal(cgroup_kill(below, -1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(below);
	assert_int_equal(cgroup_remove(p->fd, "frozen"), 0);
}

/* A second daemon that ends does not remove the empty cgroup that the first lives in. */
static void stays_while_another_daemon_has_it(void **state)
{
	struct cgroup_root first, second;
	struct stat ours, named;
	char error[512], path[300];

	(void)state;
	assert_int_equal(cgroup_root_open(&first, error), 0);
	assert_int_equal(cgroup_root_open(&second, error), 0);
	assert_int_equal(second.session_level, 2);
	cgroup_root_close(&second);
	assert_int_equal(second.fd, -1);
	cgroup_root_close(&second);

	snprintf(path, sizeof(path), "%s/vitrine", first.path);
	assert_int_equal(fstat(first.fd, &ours), 0);
	assert_int_equal(stat(path, &named), 0);
	assert_int_equal(ours.st_ino, named.st_ino);
	cgroup_root_close(&first);
}

static void leftovers_go_whatever_is_in_them(void **state)
{
	struct place *p = *state;
	uint64_t id;
	int fd, status;

	assert_int_equal(cgroup_make(p->root.fd, "test-leftover", 0, &fd, &id), 0);
	pid_t pid = start_stubborn(fd);
	close(fd);
	assert_int_equal(sandbox_remove_leftover(&p->root, "test-leftover"), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(sandbox_remove_leftover(&p->root, "test-leftover"), 0);
	assert_int_equal(sandbox_remove_leftover(&p->root, "../vitrine"), -EINVAL);
	assert_int_equal(sandbox_remove_leftover(&p->root, ".."), -EINVAL);
}

/* Twenty clear up at once, beside one who finds it by chance: each succeeds, nothing is left. */
static void twenty_clear_up_at_once(void **state)
{
	struct place *p = *state;
	char id[64];
	int fd = -1, child_fd = -1, status;
	uint64_t cgroup;
	pid_t callers[20];

	snprintf(id, sizeof(id), "%012x", getpid());
	assert_int_equal(cgroup_make_held(p->root.fd, id, 0, &fd, &cgroup), 0);
	assert_int_equal(cgroup_make(fd, "1", 0, &child_fd, &cgroup), 0);
	pid_t sleeper = start_stubborn(child_fd);
	close(child_fd);

	for (size_t i = 0; i < 20; i++) {
		callers[i] = fork();
		if (callers[i] == 0)
			_exit(sandbox_remove_leftover(&p->root, id) == 0 &&
					      (i % 4 || sandbox_remove_strays(&p->root) == 0)
				      ? 0
				      : 1);
	}
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(waitpid(callers[i], &status, 0), callers[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(faccessat(p->root.fd, id, F_OK, 0), -1);
	assert_int_equal(waitpid(sleeper, &status, 0), sleeper);
	close(fd);
}

/* What somebody holds, or lives in, is left alone; what nobody does goes. */
static void strays_are_what_nobody_holds(void **state)
{
	struct place *p = *state;
	char held[64], left[64];
	int held_fd = -1, left_fd = -1;
	uint64_t id;

	snprintf(held, sizeof(held), "a%011x", getpid());
	snprintf(left, sizeof(left), "b%011x", getpid());
	assert_int_equal(cgroup_make_held(p->root.fd, held, 0, &held_fd, &id), 0);
	assert_int_equal(cgroup_make_held(p->root.fd, left, 0, &left_fd, &id), 0);
	close(left_fd);
	assert_int_equal(sandbox_remove_strays(&p->root), 0);
	assert_int_equal(faccessat(p->root.fd, held, F_OK, 0), 0);
	assert_int_equal(faccessat(p->root.fd, left, F_OK, 0), -1);
	close(held_fd);
	assert_int_equal(sandbox_remove_strays(&p->root), 0);
	assert_int_equal(faccessat(p->root.fd, held, F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_owned_only_where_it_has_to_be),
		cmocka_unit_test(is_made_once),
		cmocka_unit_test(kills_what_is_below),
		cmocka_unit_test(kills_what_is_frozen),
		cmocka_unit_test(leftovers_go_whatever_is_in_them),
		cmocka_unit_test(twenty_clear_up_at_once),
		cmocka_unit_test(strays_are_what_nobody_holds),
	};

	const struct CMUnitTest alone[] = {
		cmocka_unit_test(stays_while_another_daemon_has_it),
	};

	if (geteuid() != 0) {
		printf("cgroup: skipped: needs root\n");
		return 0;
	}
	return cmocka_run_group_tests(alone, NULL, NULL) +
	       cmocka_run_group_tests(tests, open_place, close_place);
}
