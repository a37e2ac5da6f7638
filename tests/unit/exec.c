/* Commands of a sandbox: what they get, how they end, and what is said of them. */
#include "enclosure.h"

#include <sys/ioctl.h>

static struct sandbox *shared;

static int open_shared(void **state)
{
	int r = open_enclosure(state);

	if (r == 0)
		shared = make_sandbox(*state);
	return r;
}

static int close_shared(void **state)
{
	sandbox_free(shared);
	return close_enclosure(state);
}

static void assert_end(const char *script, enum sandbox_status_kind kind, int wait_status)
{
	cleanup(outcome) struct outcome o = {0};

	run_shell(shared, false, script, &o);
	assert_int_equal(o.end.kind, kind);
	assert_int_equal(o.end.wait_status, wait_status);
	assert_int_equal(o.started.kind, SANDBOX_STARTED);
	assert_true(o.started.pid > 1);
	assert_int_equal(o.end.pid, o.started.pid);
	assert_true(o.end.cpu_ns > 0);
	assert_true(o.end.memory_peak > 65536);
}

static void ends_as_it_does(void **state)
{
	(void)state;
	assert_end("exit 0", SANDBOX_EXITED, 0);
	assert_end("exit 3", SANDBOX_EXITED, 3 << 8);
	assert_end("exit 255", SANDBOX_EXITED, 255 << 8);
	assert_end("kill -SEGV $$", SANDBOX_EXITED, SIGSEGV);
	assert_end("kill -KILL $$", SANDBOX_EXITED, SIGKILL);
	assert_end("kill -TERM $$", SANDBOX_EXITED, SIGTERM);
	assert_end("trap '' PIPE; exit 13", SANDBOX_EXITED, 13 << 8);
}

static void assert_fails(const char *name, const char *cwd, const char *const *env, int error)
{
	cleanup(outcome) struct outcome o = {0};
	const char *const argv[] = {name, "argument", NULL};

	run_command(shared, (struct sandbox_command){.argv = argv, .cwd = cwd, .env = env}, &o);
	assert_int_equal(o.end.kind, SANDBOX_FAILED);
	assert_int_equal(o.end.error, error);
	assert_string_equal(o.end.step, cwd ? "directory" : "execute");
	assert_int_equal(o.size, 0);
}

static void says_why_it_cannot_run(void **state)
{
	static const char *const bad_path[] = {"PATH=/etc:/nonexistent", NULL};

	(void)state;
	expect(shared, false,
	       "cd /tmp; printf 'x\\0y\\nz' >garbage; echo '#!/nonexistent' >broken; "
	       "ln -s loop loop; chmod 755 garbage broken",
	       "");
	assert_fails("no-such-command", NULL, NULL, ENOENT);
	assert_fails("/no/such/command", NULL, NULL, ENOENT);
	assert_fails("", NULL, NULL, ENOENT);
	assert_fails("/tmp/broken", NULL, NULL, ENOENT);
	assert_fails("/etc/passwd", NULL, NULL, EACCES);
	assert_fails("/tmp", NULL, NULL, EACCES);
	assert_fails("passwd", NULL, bad_path, EACCES);
	assert_fails("/tmp/garbage", NULL, NULL, ENOEXEC);
	assert_fails("/tmp/loop", NULL, NULL, ELOOP);
	assert_fails("true", "/nonexistent", NULL, ENOENT);
	assert_fails("true", "/root", NULL, EACCES);
	assert_fails("true", "/etc/passwd", NULL, ENOTDIR);
}

static void is_found_as_by_a_shell(void **state)
{
	static const char *const path[] = {"PATH=/nonexistent:/tmp/a:/tmp/b:/usr/bin", NULL};
	static const char *const current[] = {"PATH=:/usr/bin", NULL};
	static const char *const none[] = {"HOME=/", NULL};
	static const struct {
		const char *name, *cwd;
		const char *const *env;
		const char *said;
	} rows[] = {
		{"tool", "/", path, "b\n"},	   {"tool", "/tmp/b", current, "b\n"},
		{"./tool", "/tmp/b", path, "b\n"}, {"script", "/", path, "sh one\n"},
		{"echo", "/tmp/b", none, "one\n"},
	};

	(void)state;
	expect(shared, false,
	       "cd /tmp; mkdir a b; echo >a/tool; mkdir a/script; printf '#!/bin/sh\\necho b\\n' "
	       ">b/tool; echo 'echo sh $1' >b/script; chmod 755 b/*",
	       "");
	for (size_t i = 0; i < COUNT(rows); i++) {
		cleanup(outcome) struct outcome o = {0};
		const char *const argv[] = {rows[i].name, "one", NULL};
		struct sandbox_command command = {
			.argv = argv, .cwd = rows[i].cwd, .env = rows[i].env};

		run_command(shared, command, &o);
		assert_string_equal(o.said, rows[i].said);
		assert_int_equal(o.end.wait_status, 0);
	}
}

static void arguments_arrive_as_they_are(void **state)
{
	static const char *const argv[] = {"/usr/bin/printf", "[%s]",	  "", "two words",
					   "line\nbreak",     "\xff\xfe", "", NULL};
	static const char *const env[] = {"A=1", "EMPTY=", "B=x\ny\xff", "no-equals", NULL};
	static const char *const show_env[] = {"/usr/bin/env", NULL};
	cleanup(outcome) struct outcome o = {0};

	(void)state;
	run_command(shared, (struct sandbox_command){.argv = argv}, &o);
	assert_string_equal(o.said, "[][two words][line\nbreak][\xff\xfe][]");
	run_command(shared, (struct sandbox_command){.argv = show_env, .env = env}, &o);
	assert_string_equal(o.said, "A=1\nEMPTY=\nB=x\ny\xff\nno-equals\n");
}

static void long_arguments_arrive_or_fail(void **state)
{
	cleanup(outcome) struct outcome o = {0};
	cleanup(free) char *word = calloc(1, 128 << 10);
	const char *argv[19] = {"/usr/bin/printf", "%s"};

	(void)state;
	memset(word, 'w', (128 << 10) - 1);
	for (size_t i = 2; i < 17; i++)
		argv[i] = word;
	run_command(shared, (struct sandbox_command){.argv = argv}, &o);
	assert_int_equal(o.end.kind, SANDBOX_EXITED);
	assert_int_equal(o.size, 15 * ((128 << 10) - 1));

	argv[17] = word; /* 2 MiB with it, a quarter of the stack */
	run_command(shared, (struct sandbox_command){.argv = argv}, &o);
	assert_int_equal(o.end.kind, SANDBOX_FAILED);
	assert_int_equal(o.end.error, E2BIG);
}

/* Nothing of the daemon, the launcher or init comes along. */
static void starts_clean(void **state)
{
	(void)state;
	expect(shared, false, "ls /proc/self/fd | wc -l; umask", "4\n0022\n"); /* 3: ls's own */
	expect(shared, false, "ulimit -Ss; ulimit -Hs; ulimit -Hc; ulimit -Sn",
	       "8192\n8192\n0\n1024\n");
	expect(shared, false, "grep -E '^Sig(Ign|Blk)' /proc/self/status",
	       "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	expect(shared, false, "env -u _ -u PWD -u OLDPWD -u SHLVL env | sort",
	       "HOME=/home/agent\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\n");
	expect(shared, false, "tr '\\0' '\\n' </proc/self/environ | grep -c CANARY || true", "0\n");
	expect(shared, false, "test $(ps -o sid= -p $$) -eq $$ && echo leader", "leader\n");
}

static int wait_terminal(uint32_t exec)
{
	struct sandbox_status status;

	for (;;) {
		struct pollfd p = {sandbox_status_fd(shared), POLLIN};

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		while (sandbox_next_status(shared, &status) == 1)
			if (status.kind == SANDBOX_TERMINAL && status.exec == exec)
				return status.tty_fd;
	}
}

static uint32_t start(const char *script, bool tty, int fd)
{
	static uint32_t execs = 5000;
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct sandbox_error error;
	uint64_t cgroup;
	struct sandbox_command command = {
		.exec = ++execs,
		.argv = argv,
		.env = plain_env,
		.cwd = "/",
		.stdin_fd = fd,
		.stdout_fd = fd,
		.stderr_fd = fd,
		.tty = tty,
		.columns = 120,
		.rows = 40,
	};

	assert_int_equal(sandbox_prepare_exec(shared, command.exec, &cgroup), 0);
	assert_true(cgroup > 1);
	if (sandbox_exec(shared, &command, &error) < 0)
		fail_msg("%s: %s", error.step, error.text);
	return command.exec;
}

static void read_until(int fd, const char *wanted, char *said, size_t size)
{
	size_t n = strlen(said);
	int64_t deadline_ms = now_ms() + PATIENCE_MS;

	while (!strstr(said, wanted)) {
		struct pollfd p = {fd, POLLIN};

		if (now_ms() > deadline_ms)
			fail_msg("\"%s\" does not say \"%s\"", said, wanted);
		if (poll(&p, 1, 1000) != 1)
			continue;
		ssize_t r = read(fd, said + n, size - n - 1);
		assert_true(r > 0);
		n += (size_t)r;
		said[n] = 0;
	}
}

static void has_a_terminal(void **state)
{
	cleanup(outcome) struct outcome o = {.said = malloc(SAID_MAX)};
	char said[4096] = "";

	(void)state;
	uint32_t exec =
		start("trap 'echo now $(stty size)' WINCH; tty; stty size; "
		      "stat -c '%U %a' $(tty); ps -o tpgid=,pgid= -p $$; "
		      "echo on >/dev/tty; read line; echo got $line; while :; do sleep 0.05; "
		      "done",
		      true, -1);
	int master = wait_terminal(exec);
	assert_true(master >= 0);
	read_until(master, "on\r\n", said, sizeof(said));
	assert_non_null(strstr(said, "/dev/pts/0\r\n40 120\r\nagent 620\r\n"));
	assert_int_equal(write(master, "x y\n", 4), 4);
	read_until(master, "got x y\r\n", said, sizeof(said));
	assert_int_equal(sandbox_resize(shared, exec, 90, 20), 0);
	read_until(master, "now 20 90\r\n", said, sizeof(said));

	/* The interrupt key reaches the command: it controls this terminal. */
	assert_int_equal(write(master, "\003", 1), 1);
	follow(shared, exec, -1, &o);
	assert_int_equal(o.end.kind, SANDBOX_EXITED);
	assert_int_equal(o.end.wait_status, SIGINT);
	assert_int_equal(sandbox_resize(shared, exec, 1, 1), -ENOENT);

	/* Nothing of ours holds the other end. */
	ssize_t n;
	do
		n = read(master, said, sizeof(said));
	while (n > 0);
	assert_int_equal(n, -1);
	assert_int_equal(errno, EIO);
	close(master);
	assert_int_equal(sandbox_kill(shared, exec), 0);
}

/* One that waits for its terminal holds up no other. */
static void statuses_come_as_they_are(void **state)
{
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct sandbox_status status;
	bool seen[2] = {false, false};
	int master = -1;

	(void)state;
	for (int i = 0; i < 20; i++) {
		uint32_t first = start("exit 7", false, null);
		uint32_t second = start("exit 8", true, -1);

		seen[0] = seen[1] = false;
		while (!seen[0] || !seen[1]) {
			struct pollfd p = {sandbox_status_fd(shared), POLLIN};

			assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
			while (sandbox_next_status(shared, &status) == 1) {
				if (status.kind == SANDBOX_TERMINAL)
					master = status.tty_fd;
				if (status.kind == SANDBOX_STARTED ||
				    status.kind == SANDBOX_TERMINAL)
					continue;
				assert_int_equal(WEXITSTATUS(status.wait_status),
						 status.exec == first ? 7 : 8);
				seen[status.exec == second] = true;
			}
		}
		struct pollfd p = {sandbox_status_fd(shared), POLLIN};
		assert_int_equal(poll(&p, 1, 0), 0);
		close(master);
		assert_int_equal(sandbox_kill(shared, first), 0);
		assert_int_equal(sandbox_kill(shared, second), 0);
	}
}

static void takes_signals(void **state)
{
	cleanup(outcome) struct outcome o = {.said = malloc(SAID_MAX)};
	int out[2];
	char said[64] = "";

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	uint32_t exec = start("trap 'echo term' TERM; echo up; while :; do sleep 0.05; done", false,
			      out[1]);
	close(out[1]);
	read_until(out[0], "up\n", said, sizeof(said));
	assert_int_equal(sandbox_signal(shared, exec, SIGTERM), 0);
	read_until(out[0], "term\n", said, sizeof(said));
	assert_int_equal(sandbox_signal(shared, exec, SIGKILL), 0);
	follow(shared, exec, -1, &o);
	assert_int_equal(o.end.wait_status, SIGKILL);
	close(out[0]);
	assert_int_equal(sandbox_kill(shared, exec), 0);
	assert_int_equal(sandbox_signal(shared, exec, SIGTERM), -ENOENT);
}

static void streams_pass_byte_exact(void **state)
{
	cleanup(outcome) struct outcome o = {0};

	(void)state;
	run_shell(shared, false, "head -c 1000000 /dev/zero | tr '\\0' a; exit 3", &o);
	assert_int_equal(o.size, 1000000);
	assert_int_equal(o.end.wait_status, 3 << 8);
}

/* More commands than init can hold at once, one after the other; and as many as it can hold. */
static void places_are_used_again(void **state)
{
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t execs[64];
	uint64_t cgroup;

	(void)state;
	for (int i = 0; i < 100; i++)
		expect(shared, false, "echo $PPID", "1\n");
	for (size_t i = 0; i < COUNT(execs); i++)
		execs[i] = start("sleep 1000", false, null);
	assert_int_equal(sandbox_prepare_exec(shared, 9999, &cgroup), -ENOSPC);
	assert_int_equal(sandbox_prepare_exec(shared, execs[0], &cgroup), -EEXIST);
	for (size_t i = 0; i < COUNT(execs); i++)
		assert_int_equal(sandbox_kill(shared, execs[i]), 0);

	struct sandbox_status status;
	for (size_t ended = 0; ended < COUNT(execs);) {
		struct pollfd p = {sandbox_status_fd(shared), POLLIN};

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		while (sandbox_next_status(shared, &status) == 1)
			ended += status.kind != SANDBOX_STARTED;
	}
	expect(shared, false, "echo again", "again\n");
}

/* Killed at once, before or after init comes to it: it ends, and nothing of it is left. */
static void killed_at_once_never_runs_on(void **state)
{
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct enclosure *e = *state;
	struct traces before = look(e);
	struct sandbox_status status;
	uint64_t cgroup;

	for (int i = 0; i < 200; i++) {
		uint32_t exec = start("sleep 1000 & sleep 1000", false, null);

		usleep((unsigned)i * 10);
		assert_int_equal(sandbox_kill(shared, exec), 0);
		assert_int_equal(sandbox_kill(shared, exec), 0);
		do {
			struct pollfd p = {sandbox_status_fd(shared), POLLIN};

			assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
			assert_int_equal(sandbox_next_status(shared, &status), 1);
			assert_int_equal(status.exec, exec);
		} while (status.kind == SANDBOX_STARTED);
		if (status.kind == SANDBOX_FAILED) {
			assert_int_equal(status.error, ECANCELED);
			assert_string_equal(status.step, "start");
		} else {
			assert_int_equal(status.wait_status, SIGKILL);
		}
	}

	/* Prepared and then not wanted: its place is free again. */
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(sandbox_prepare_exec(shared, 20000 + i, &cgroup), 0);
		assert_int_equal(sandbox_kill(shared, 20000 + i), 0);
	}
	assert_no_more_than(e, &before);
}

static void zombies_are_reaped(void **state)
{
	(void)state;
	expect(shared, false,
	       "for i in $(seq 300); do (sh -c 'sleep 0.01 &'); done; sleep 0.3; "
	       "ps -eo stat= | grep -c Z || true",
	       "0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_as_it_does),
		cmocka_unit_test(says_why_it_cannot_run),
		cmocka_unit_test(is_found_as_by_a_shell),
		cmocka_unit_test(arguments_arrive_as_they_are),
		cmocka_unit_test(long_arguments_arrive_or_fail),
		cmocka_unit_test(starts_clean),
		cmocka_unit_test(has_a_terminal),
		cmocka_unit_test(statuses_come_as_they_are),
		cmocka_unit_test(takes_signals),
		cmocka_unit_test(streams_pass_byte_exact),
		cmocka_unit_test(places_are_used_again),
		cmocka_unit_test(killed_at_once_never_runs_on),
		cmocka_unit_test(zombies_are_reaped),
	};
	const char *reason = cannot_run();

	if (reason) {
		printf("exec: skipped: %s\n", reason);
		return 0;
	}
	return cmocka_run_group_tests(tests, open_shared, close_shared);
}
