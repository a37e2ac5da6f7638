/* What a session sees of itself and of the host. */
#include "enclosure.h"

#include <sys/fanotify.h>

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

static void users_have_what_they_need(void **state)
{
	const char *const status = "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs|Seccomp:)' "
				   "/proc/self/status | tr -d '\\t'";

	(void)state;
	expect(shared, false, status,
	       "1000\n1000\n1000\nCapInh:0000000000000000\nCapPrm:0000000000000000\n"
	       "CapEff:0000000000000000\nCapBnd:0000000000000000\nCapAmb:0000000000000000\n"
	       "NoNewPrivs:1\nSeccomp:2\n");
	expect(shared, true, status,
	       "0\n0\n0\nCapInh:0000000000000000\nCapPrm:00000000000000fb\n"
	       "CapEff:00000000000000fb\nCapBnd:00000000000000fb\nCapAmb:0000000000000000\n"
	       "NoNewPrivs:1\nSeccomp:2\n");
	expect(shared, false, "id -un; echo ~; getent passwd root | cut -d: -f3",
	       "agent\n/home/agent\n0\n");
}

static void read_link(const char *path, char *ret, size_t size)
{
	ssize_t n = readlink(path, ret, size - 1);

	assert_true(n > 0);
	ret[n] = 0;
}

static void namespaces_are_its_own(void **state)
{
	static const char *const names[] = {"user", "mnt", "pid", "net", "uts", "ipc", "cgroup"};
	cleanup(outcome) struct outcome o = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		char path[64], host[64], script[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		read_link(path, host, sizeof(host));
		snprintf(script, sizeof(script), "readlink /proc/self/ns/%s", names[i]);
		run_shell(shared, false, script, &o);
		assert_int_equal(strncmp(o.said, names[i], strlen(names[i])), 0);
		assert_null(strstr(o.said, host));
	}
	expect(shared, false, "grep ^0:: /proc/self/cgroup", "0::/\n");
}

static void names_are_its_own(void **state)
{
	struct enclosure *e = *state;
	char id[2 * sizeof(e->id) + 4];

	snprintf(id, sizeof(id), "%s\n%s\n", e->id, e->id);
	expect(shared, false, "uname -n; cat /etc/hostname", id);
	expect(shared, false, "cat /etc/resolv.conf", "nameserver 127.0.0.1\n");
	expect(shared, false,
	       "getent hosts localhost | grep -c ::1; getent hosts $(uname -n) | "
	       "cut -d' ' -f1",
	       "1\n127.0.1.1\n");
}

static void has_a_loopback_and_no_more(void **state)
{
	struct enclosure *e = *state;

	expect(shared, false, "grep -c : /proc/net/dev; grep -o 'lo:' /proc/net/dev", "1\nlo:\n");
	expect(shared, false, "grep -c . /proc/net/route; cut -c1-32 /proc/net/if_inet6",
	       "1\n00000000000000000000000000000001\n");
	expect(shared, false,
	       "python3 -c 'import socket as s\n"
	       "l = s.create_server((\"127.0.0.1\", 80)); c = s.create_connection((\"127.0.0.1\", "
	       "80))\n"
	       "l.accept()[0].send(b\"hi\"); print(c.recv(2).decode())\n"
	       "try: s.create_connection((\"192.0.2.1\", 80))\n"
	       "except OSError as x: print(x.errno)'",
	       "hi\n101\n");

	struct sandbox *open_net =
		make_sandbox_of(e, (struct sandbox_options){.net = SANDBOX_NET_HOST});
	char host[64], script[128];
	read_link("/proc/self/ns/net", host, sizeof(host));
	snprintf(script, sizeof(script), "test $(readlink /proc/self/ns/net) = '%s'", host);
	expect(open_net, false, script, "");
	sandbox_free(open_net);
}

static void devices_are_the_few(void **state)
{
	(void)state;
	expect(shared, false, "ls /dev | tr '\\n' ' '",
	       "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ");
	expect(shared, false, "cd /dev; stat -c '%n %t:%T %a' null zero full random urandom tty",
	       "null 1:3 666\nzero 1:5 666\nfull 1:7 666\nrandom 1:8 666\nurandom 1:9 666\n"
	       "tty 5:0 666\n");
	expect(shared, false,
	       "head -c 3 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c; echo x >/dev/null; "
	       "(echo x >/dev/full) 2>/dev/null || echo full",
	       "3\n5\nfull\n");
	expect(shared, true,
	       "(mknod /tmp/mem c 1 1 || mknod /dev/mem c 1 1 || chmod 777 /dev/null || "
	       "rm /dev/null) 2>/dev/null || echo no",
	       "no\n");
}

/* Every way to write where it must not. */
static void the_system_cannot_be_written(void **state)
{
	static const char *const paths[] = {
		"/usr/bin/x",
		"/bin/x",
		"/lib/x",
		"/dev/x",
		"/proc/sys/vm/x",
		"/proc/sys/kernel/hostname",
		"/proc/sysrq-trigger",
		"/proc/sys/user/max_user_namespaces",
		"/sys/x",
		"/proc/irq/default_smp_affinity",
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(paths); i++) {
		cleanup(outcome) struct outcome o = {0};
		char script[128];

		snprintf(script, sizeof(script), "echo 1 >%s", paths[i / 2]);
		run_shell(shared, i % 2, script, &o);
		if (o.end.wait_status == 0 && strcmp(paths[i / 2], "/proc/sysrq-trigger") != 0)
			fail_msg("%s can be written", paths[i / 2]);
	}
	expect(shared, true,
	       "touch /etc/x /root/x /var/lib/x /opt/x /tmp/x /run/x /etc/ssl/certs/x "
	       "&& echo 'y::1:' >>/etc/group && echo yes",
	       "yes\n");
	expect(shared, false,
	       "for d in /etc /root /var/lib / /usr/local/bin; do touch $d/y; done "
	       "2>/dev/null; touch ~/x /tmp/y /var/tmp/x /dev/shm/x /workspace/x && "
	       "echo yes",
	       "yes\n");
}

static void the_hosts_secrets_are_not_there(void **state)
{
	(void)state;
	expect(shared, true,
	       "ls -A /root /home/agent /mnt /srv /opt /sys /workspace | tr '\\n' ' '",
	       "/home/agent:  /mnt:  /opt:  /root:  /srv:  /sys:  /workspace: ");
	for (int as_root = 0; as_root < 2; as_root++) {
		expect(shared, as_root,
		       "ls /etc | grep -cE 'shadow|sudoers|^ssh$|environment|pip.conf|"
		       "gitconfig|npmrc' || true",
		       "0\n");
		expect(shared, as_root, "ls /etc/ssl | grep -c private || true", "0\n");
		/* Of the host's system, what its others may not read stays so for the root inside.
		 */
		expect(shared, as_root,
		       "find /usr -xdev '(' -type f -o -type d ')' ! -perm -o+r 2>/dev/null | "
		       "while read -r f; do test -d \"$f\" && ls \"$f\" || cat \"$f\"; "
		       "done 2>/dev/null; true",
		       "");
		expect(shared, as_root,
		       "head -c1 /proc/kcore /proc/keys /proc/kmsg /proc/timer_list 2>/dev/null | "
		       "grep -v '^==>' | tr -d '\\n' || true",
		       "");
	}
}

/* Each file of /etc inside that the host has too may be read by anybody there. */
static void etc_holds_what_all_may_read(void **state)
{
	cleanup(outcome) struct outcome o = {0};
	size_t seen = 0;
	struct stat st;

	(void)state;
	run_shell(shared, true, "find /etc -type f ! -name hostname ! -name resolv.conf", &o);
	for (char *rest = o.said, *path; (path = strsep(&rest, "\n"));) {
		if (!*path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (!(st.st_mode & S_IROTH))
			fail_msg("%s is not for everybody", path);
		seen++;
	}
	assert_true(seen > 5);
}

static void others_are_not_seen(void **state)
{
	struct enclosure *e = *state;
	struct sandbox *other = make_sandbox(e);
	cleanup(outcome) struct outcome o = {0};
	char script[128];

	for (int as_root = 0; as_root < 2; as_root++) {
		expect(shared, as_root, "ls -d /proc/1 2>/dev/null | wc -l", "0\n");
		snprintf(script, sizeof(script), "kill -9 %d 2>/dev/null; kill -9 1; echo $?",
			 sandbox_info(other)->init_pid);
		run_shell(shared, as_root, script, &o);
	}
	expect(shared, true,
	       "python3 -c 'import resource as r\n"
	       "try: r.prlimit(1, r.RLIMIT_NOFILE, (3, 3)); print(\"limited\")\n"
	       "except PermissionError: print(\"no\")'",
	       "no\n");
	expect(other, false, "echo alive", "alive\n");
	expect(shared, false, "echo alive", "alive\n");
	sandbox_free(other);
}

static void init_is_the_sealed_one(void **state)
{
	const struct sandbox_info *info = sandbox_info(shared);
	char path[64], target[128];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/exe", info->init_pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0111);
	read_link(path, target, sizeof(target));
	assert_string_equal(target, "/memfd:vitrine-launcher (deleted)");
	cleanup(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fd, -1);

	/* Its descriptors: null, the socket to vitrined, one for signals. */
	snprintf(path, sizeof(path), "/proc/%d/fd", info->init_pid);
	assert_int_equal(count_entries(path), 2 + 5);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", info->init_pid);
	cleanup(close_fd) int cmdline_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(cmdline_fd, target, sizeof(target)) > 0);
	assert_string_equal(target, "vitrine-init");
	snprintf(path, sizeof(path), "/proc/%d/environ", info->init_pid);
	cleanup(close_fd) int environ_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(environ_fd, target, sizeof(target)), 0);
}

/* What it may still do, and no exec gives back. */
static void init_has_few_capabilities(void **state)
{
	static const char few[] = "CapInh:\t0000000000000000\nCapPrm:\t00000000002001fb\n"
				  "CapEff:\t00000000002001fb\nCapBnd:\t00000000002001fb\n"
				  "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";
	char path[64], text[4096];

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/status", sandbox_info(shared)->init_pid);
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, few));
}

/* tmpfs has idmapped mounts since 6.3. */
static bool can_be_workspace(struct enclosure *e, const char *dir)
{
	struct sandbox_options options = {.id = next_id(e), .slot = SLOT, .workspace = dir};
	struct sandbox_error error;
	struct sandbox *s;

	if (sandbox_create(e->launcher, &e->root, &options, &s, &error) == 0) {
		sandbox_free(s);
		return true;
	}
	assert_string_equal(error.step, "workspace_ids");
	assert_non_null(strstr(error.text, "is on tmpfs"));
	return false;
}

static void the_workspace_keeps_its_owner(void **state)
{
	struct enclosure *e = *state;
	char dir[] = "/tmp/vitrine-test-XXXXXX", path[64];
	struct stat st;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chown(dir, 4321, 8765), 0);
	snprintf(path, sizeof(path), "%s/secret", dir);
	cleanup(close_fd) int secret = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(secret, "key", 3), 3);

	if (!can_be_workspace(e, dir)) {
		print_message("/tmp is on a file system that this kernel does not map ids of\n");
		skip();
	}
	for (int as_root = 0; as_root < 2; as_root++) {
		struct sandbox *s = make_sandbox_of(e, (struct sandbox_options){
							       .workspace = dir,
							       .workspace_for_root = as_root,
						       });
		expect(s, as_root,
		       "cd /workspace; stat -c %u:%g .; echo x >made; chmod 4755 made "
		       "2>/dev/null; cat secret 2>/dev/null; rm -f made2; mv made made2",
		       as_root ? "0:0\n" : "1000:1000\n");
		expect(s, as_root, "grep -o ' /workspace rw,nosuid,nodev' /proc/self/mountinfo",
		       " /workspace rw,nosuid,nodev\n");
		expect(s, as_root,
		       "cd /workspace; python3 -c 'import os\n"
		       "for mode in 0o4755, 0o2755:\n"
		       "  for f in lambda: os.open(\"s\", os.O_CREAT | os.O_WRONLY, mode), "
		       "lambda: os.chmod(\"made2\", mode), lambda: os.mknod(\"n\", 0o100000 | "
		       "mode):\n"
		       "    try: f(); print(\"made\")\n"
		       "    except PermissionError: pass'",
		       "");
		sandbox_free(s);

		snprintf(path, sizeof(path), "%s/made2", dir);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_uid, 4321);
		assert_int_equal(st.st_gid, 8765);
		assert_int_equal(st.st_mode & 07777, 0644);
		assert_int_equal(unlink(path), 0);
	}
	snprintf(path, sizeof(path), "%s/secret", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Names of what is made in the root and in /dev/shm come out of the group, and lead back to paths.
 */
static void names_are_watched(void **state)
{
	const struct sandbox_info *info = sandbox_info(shared);
	char events[65536], path[64], target[128] = "";
	bool seen = false;

	(void)state;
	if (info->fanotify_fd < 0)
		skip();
	while (read(info->fanotify_fd, events, sizeof(events)) > 0)
		;
	expect(shared, false, "mkdir /dev/shm/deep; echo >/dev/shm/deep/name-to-see", "");

	ssize_t n = read(info->fanotify_fd, events, sizeof(events));
	assert_true(n > 0);
	const struct fanotify_event_metadata *m = (void *)events;
	for (; FAN_EVENT_OK(m, n); m = FAN_EVENT_NEXT(m, n)) {
		const struct fanotify_event_info_fid *fid = (const void *)(m + 1);
		struct file_handle *handle = (void *)fid->handle;

		assert_int_not_equal(m->mask & FAN_Q_OVERFLOW, FAN_Q_OVERFLOW);
		const char *name = (const char *)handle->f_handle + handle->handle_bytes;
		if (fid->hdr.info_type != FAN_EVENT_INFO_TYPE_DFID_NAME ||
		    strcmp(name, "name-to-see") != 0 || !(m->mask & FAN_CREATE))
			continue;
		cleanup(close_fd) int dir = open_by_handle_at(info->root_mount_fd, handle, O_PATH);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
		read_link(path, target, sizeof(target));
		seen = true;
	}
	assert_true(seen);
	assert_string_equal(target, "/dev/shm/deep");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_its_own),
		cmocka_unit_test(users_have_what_they_need),
		cmocka_unit_test(namespaces_are_its_own),
		cmocka_unit_test(has_a_loopback_and_no_more),
		cmocka_unit_test(devices_are_the_few),
		cmocka_unit_test(the_hosts_secrets_are_not_there),
		cmocka_unit_test(the_system_cannot_be_written),
		cmocka_unit_test(etc_holds_what_all_may_read),
		cmocka_unit_test(others_are_not_seen),
		cmocka_unit_test(init_is_the_sealed_one),
		cmocka_unit_test(init_has_few_capabilities),
		cmocka_unit_test(the_workspace_keeps_its_owner),
		cmocka_unit_test(names_are_watched),
	};
	const char *reason = cannot_run();

	if (reason) {
		printf("enter: skipped: %s\n", reason);
		return 0;
	}
	return cmocka_run_group_tests(tests, open_shared, close_shared);
}
