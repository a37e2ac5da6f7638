/* The life of a sandbox: nothing of it is seen on the host, and nothing is left of it, however it
 * ends. */
#include "enclosure.h"

#include "../../supervisor/sandbox/mount.h"
#include "../../supervisor/sandbox/watch.h"

#include <sys/prctl.h>

static void leaves_no_trace(void **state)
{
	struct enclosure *e = *state;
	struct traces before = look(e);

	struct sandbox *s = make_sandbox(e);
	expect(s, false,
	       "echo hello; mkdir -p /tmp/a/b; (sleep 1000 & sleep 1000 &) >/dev/null 2>&1",
	       "hello\n");
	assert_int_equal(count_lines("/proc/self/mountinfo"), before.mounts);
	sandbox_free(s);
	sandbox_free(NULL);

	assert_no_more_than(e, &before);
}

static void does_not_grow(void **state)
{
	struct enclosure *e = *state;
	struct traces before = look(e);

	for (int i = 0; i < 50; i++) {
		struct sandbox *s = make_sandbox(e);

		if (i % 10 == 0)
			expect(s, i % 20 == 0, "echo $$ >/tmp/x; cat /tmp/x; rm /tmp/x", "2\n");
		sandbox_free(s);
	}

	assert_no_more_than(e, &before);
}

/* More than one user may have, root included. */
static void as_many_are_watched_as_there_are(void **state)
{
	const struct mount_option none[] = {{NULL, NULL}};
	int mount_fd = -1, groups[300];
	uid_t before = geteuid();

	(void)state;
	assert_int_equal(mount_detached("tmpfs", none, 0, &mount_fd), 0);
	for (size_t i = 0; i < COUNT(groups); i++)
		assert_int_equal(watch_open(mount_fd, sandbox_uid_base((uint32_t)i), &groups[i]),
				 0);
	assert_int_equal(geteuid(), before);
	assert_int_equal(prctl(PR_GET_SECUREBITS), 0);
	for (size_t i = 0; i < COUNT(groups); i++)
		close(groups[i]);
	close(mount_fd);
}

static void many_live_side_by_side(void **state)
{
	struct enclosure *e = *state;
	struct traces before = look(e);
	struct sandbox *s[8];

	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = make_sandbox(e);
	for (size_t i = 0; i < COUNT(s); i++) {
		for (size_t j = 0; j < i; j++) {
			assert_true(sandbox_info(s[i])->cgroup != sandbox_info(s[j])->cgroup);
			assert_true(sandbox_info(s[i])->uid_base != sandbox_info(s[j])->uid_base);
		}
		expect(s[i], false, "touch /tmp/mine /dev/shm/mine; ls /tmp /dev/shm",
		       "/dev/shm:\nmine\n\n/tmp:\nmine\n");
	}
	for (size_t i = 0; i < COUNT(s); i++)
		sandbox_free(s[i]);

	assert_no_more_than(e, &before);
}

static void assert_refused(struct enclosure *e, const struct sandbox_options *options,
			   const struct cgroup_root *root, const char *step, const char *says)
{
	struct traces before = look(e);
	struct sandbox_error error = {0};
	struct sandbox *s = NULL;

	int r = sandbox_create(e->launcher, root, options, &s, &error);
	assert_true(r < 0);
	assert_null(s);
	assert_string_equal(error.step, step);
	assert_int_equal(error.error, -r);
	if (!strstr(error.text, says))
		fail_msg("\"%s\" does not say \"%s\"", error.text, says);

	assert_no_more_than(e, &before);
}

static void refuses_bad_options(void **state)
{
	struct enclosure *e = *state;
	const struct sandbox_options rows[] = {
		{.id = ""},
		{.id = ".."},
		{.id = "a/b"},
		{.id = "-x"},
		{.id = "new\nline"},
		{.id = "test-slot", .slot = 60000},
		{.id = "a.b"},
		{.id = "0123456789012345678901234567890123456789012345678901234567890123"},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_refused(e, &rows[i], &e->root, "options", "");
}

static void refuses_bad_workspaces(void **state)
{
	struct enclosure *e = *state;
	static const struct {
		const char *path, *step, *says;
	} rows[] = {
		{"/nonexistent/directory", "workspace", "/nonexistent/directory"},
		{"/etc/passwd", "workspace", "Not a directory"},
		{"/proc/self", "workspace_ids", "/proc/self is on proc"},
		{"/sys/kernel", "workspace_ids", "is on sysfs"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sandbox_options options = {
			.id = next_id(e),
			.slot = SLOT,
			.workspace = rows[i].path,
		};

		assert_refused(e, &options, &e->root, rows[i].step, rows[i].says);
	}
}

static void refuses_a_template_without_ids(void **state)
{
	struct enclosure *e = *state;
	cleanup(close_fd) int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct sandbox_template template = {fd, "/proc/self"};
	struct sandbox_options options = {
		.id = next_id(e),
		.slot = SLOT,
		.template = &template,
	};

	assert_refused(e, &options, &e->root, "template_ids", "/proc/self is on proc");
}

static void refuses_without_a_cgroup(void **state)
{
	struct enclosure *e = *state;
	struct sandbox_options options = {.id = next_id(e), .slot = SLOT};
	struct cgroup_root elsewhere = e->root;

	cleanup(close_fd) int tmp = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	elsewhere.fd = tmp;
	assert_refused(e, &options, &elsewhere, "cgroup", options.id);

	/* One of that name is there already: it belongs to somebody else, and stays. */
	assert_int_equal(mkdirat(e->root.fd, options.id, 0755), 0);
	assert_refused(e, &options, &e->root, "cgroup", "File exists");
	assert_int_equal(unlinkat(e->root.fd, options.id, AT_REMOVEDIR), 0);
}

static void refuses_what_does_not_fit(void **state)
{
	struct enclosure *e = *state;
	struct sandbox_options options = {
		.id = next_id(e), .slot = SLOT, .upper_bytes = 1 << 20, .upper_inodes = 4};

	assert_refused(e, &options, &e->root, "upper", "No space left");
}

static void refuses_when_the_launcher_is_gone(void **state)
{
	struct enclosure *e = *state;
	struct sandbox_options options = {.id = next_id(e), .slot = SLOT};
	char id[32];
	memcpy(id, options.id, sizeof(id));
	options.id = id;
	struct enclosure own = *e;

	cleanup(close_fd) int bin = open_bin();
	assert_int_equal(launcher_start(bin, &own.launcher), 0);
	struct sandbox *s = make_sandbox(&own);
	struct pollfd p = {launcher_pidfd(own.launcher), POLLIN};
	assert_int_equal(poll(&p, 1, 0), 0);
	kill(own.launcher->pid, SIGKILL);
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_refused(&own, &options, &e->root, "launcher", "");

	/* What runs goes on. */
	expect(s, false, "echo on", "on\n");
	sandbox_free(s);
	launcher_stop(own.launcher);
	assert_int_equal(count_own_cgroups(&e->root), 0);
	e->ids = own.ids;
}

/* What is no launcher: no program, one that ends at once, one that ends before it says anything. */
static void does_not_start_with_another_in_its_place(void **state)
{
	static const char *const others[] = {"/etc/passwd", "/usr/bin/true", "/usr/bin/env"};

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		char dir[] = "/tmp/vitrine-bin-XXXXXX", path[PATH_MAX];
		struct launcher *l = NULL;

		assert_non_null(mkdtemp(dir));
		snprintf(path, sizeof(path), "%s/vitrine-launcher", dir);
		assert_int_equal(symlink(others[i], path), 0);
		cleanup(close_fd) int bin = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(launcher_start(bin, &l), -ECONNRESET);
		assert_null(l);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rmdir(dir), 0);
	}
}

static void does_not_start_without_its_programs(void **state)
{
	struct launcher *l = NULL;

	(void)state;
	cleanup(close_fd) int empty = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(launcher_start(empty, &l), -ENOENT);
	assert_null(l);
	launcher_stop(NULL);
}

static void disk_is_bounded(void **state)
{
	struct enclosure *e = *state;
	struct sandbox *s = make_sandbox_of(
		e, (struct sandbox_options){.upper_bytes = 4 << 20, .upper_inodes = 200});

	expect(s, false,
	       "for d in /tmp /dev/shm /var/tmp $HOME /workspace; do\n"
	       "head -c 8388608 /dev/zero 2>/dev/null >$d/big && echo $d; rm -f $d/big; done\n"
	       "i=0; while true >/tmp/$i; do i=$((i+1)); done 2>/dev/null; test $i -lt 200",
	       "");
	sandbox_free(s);
}

/* A command's escapees: own session, double fork, deaf to signals. */
static void kill_reaches_the_escaped(void **state)
{
	struct enclosure *e = *state;
	struct sandbox *s = make_sandbox(e);
	struct traces before = look(e);
	struct outcome o = {0};

	run_shell(s, false,
		  "for i in 1 2 3; do setsid sh -c '(trap \"\" TERM HUP INT; "
		  "while :; do sleep 0.05; done) &' </dev/null >/dev/null 2>&1; done",
		  &o);
	assert_int_equal(o.end.kind, SANDBOX_EXITED);
	assert_no_more_than(e, &before);

	cleanup_outcome(&o);
	sandbox_free(s);
}

static void killed_whole_is_gone(void **state)
{
	struct enclosure *e = *state;
	struct sandbox *s = make_sandbox(e);
	struct sandbox_status status = {0};
	uint64_t cpu_ns, peak;

	assert_int_equal(sandbox_usage(s, &cpu_ns, &peak), 0);
	assert_true(cpu_ns > 0);
	assert_int_equal(sandbox_next_status(s, &status), 0);
	assert_int_equal(sandbox_kill(s, 0), 0);
	assert_int_equal(kill(sandbox_info(s)->init_pid, 0), -1);

	struct pollfd p = {sandbox_status_fd(s), POLLIN};
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(sandbox_next_status(s, &status), 1);
	assert_int_equal(status.kind, SANDBOX_GONE);
	assert_int_equal(sandbox_next_status(s, &status), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(sandbox_kill(s, 0), 0);
	sandbox_free(s);
}

/* A fork beside a thread that ends could take a lock of the sanitizer's along. */
static void wait_for_threads(void)
{
	while (count_entries("/proc/self/task") > 3)
		usleep(1000);
}

/* vitrined is killed: the socket closes, so init ends and all of the session with it. */
static void dies_with_its_supervisor(void **state)
{
	struct enclosure *e = *state;
	struct traces before = look(e);
	const char *id = next_id(e);
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	wait_for_threads();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct enclosure own = *e;
		cleanup(close_fd) int bin = open_bin();
		struct sandbox_options options = {.id = id, .slot = SLOT};
		struct sandbox_error error;
		struct sandbox *s;
		struct outcome o = {0};

		if (launcher_start(bin, &own.launcher) < 0 ||
		    sandbox_create(own.launcher, &own.root, &options, &s, &error) < 0)
			_exit(1);
		run_shell(s, false, "setsid sleep 1000 </dev/null >/dev/null 2>&1 & sleep 0.1", &o);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(count_own_cgroups(&e->root), before.cgroups + 1);
	close(ready[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	for (int i = 0; i < 200 && count_processes() > before.processes; i++)
		usleep(10000);
	assert_true(count_processes() <= before.processes);
	assert_int_equal(sandbox_remove_leftover(&e->root, id), 0);
	assert_no_more_than(e, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_no_trace),
		cmocka_unit_test(does_not_grow),
		cmocka_unit_test(many_live_side_by_side),
		cmocka_unit_test(as_many_are_watched_as_there_are),
		cmocka_unit_test(refuses_bad_options),
		cmocka_unit_test(refuses_bad_workspaces),
		cmocka_unit_test(refuses_a_template_without_ids),
		cmocka_unit_test(refuses_without_a_cgroup),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(refuses_when_the_launcher_is_gone),
		cmocka_unit_test(does_not_start_with_another_in_its_place),
		cmocka_unit_test(does_not_start_without_its_programs),
		cmocka_unit_test(disk_is_bounded),
		cmocka_unit_test(kill_reaches_the_escaped),
		cmocka_unit_test(killed_whole_is_gone),
		cmocka_unit_test(dies_with_its_supervisor),
	};

	return run_enclosed("sandbox", tests, COUNT(tests));
}
