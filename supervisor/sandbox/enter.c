/*
 * From the launcher's child to pid 1 of a session. See enter.h.
 *
 * Nothing of the session runs yet, so paths here are ours alone. The root is there, over that of
 * the launcher; what is mounted here is what needs namespaces of the session's own.
 */
#include "enter.h"

#include "../record/cleanup.h"
#include "init.h"
#include "kernel_text.h"
#include "message.h"
#include "mount.h"
#include "syscalls.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EMPTY "/dev/pts"    /* until devpts is there */
#define OOM_SCORE_ADJ "200" /* the host's out-of-memory killer takes sessions first */

/* In /proc: hidden altogether, and readable but not writable. */
static const char *const masked[] = {
	"kcore",       "keys",		"kmsg", "latency_stats", "timer_list", "timer_stats",
	"sched_debug", "sysrq-trigger", "scsi", "acpi",		 "asound",     "interrupts",
};
static const char *const read_only[] = {"sys", "irq", "bus", "fs"};

static int wait_for_ids(const struct session_start *start)
{
	char go;

	return read(start->go_fd, &go, 1) == 1 ? 0 : -ECANCELED;
}

static int become_root(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return -errno;
	if (setsid() < 0)
		return -errno;

	/* A fresh keyring; a kernel without keys has none to leak. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return -errno;
	return 0;
}

static int set_host_name(const char *id)
{
	if (sethostname(id, strlen(id)) < 0 || setdomainname("", 0) < 0)
		return -errno;
	return 0;
}

static int mount_devpts(void)
{
	const struct mount_option options[] = {
		{"gid", "5"}, {"mode", "0620"}, {"ptmxmode", "0666"}, {NULL, NULL}};
	cleanup(close_fd) int fd = -1;

	int r = mount_detached("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &fd);
	return r < 0 ? r : mount_place(fd, EMPTY);
}

static int mask(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s", name);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;

	/* An empty directory, and a device that swallows; both read-only. */
	const char *cover = S_ISDIR(st.st_mode) ? EMPTY : "/dev/null";
	return mount(cover, path, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

static int make_read_only(const char *name)
{
	char path[64];
	cleanup(close_fd) int fd = -1;

	snprintf(path, sizeof(path), "/proc/%s", name);
	int r = mount_clone(AT_FDCWD, path, false, &fd);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = mount_restrict(fd, MOUNT_ATTR_RDONLY, false);
	return r < 0 ? r : mount_place(fd, path);
}

static int mount_proc(void)
{
	const struct mount_option options[] = {{"hidepid", "invisible"}, {NULL, NULL}};
	const uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	cleanup(close_fd) int fd = -1;

	int r = mount_detached("proc", options, attributes, &fd);
	if (r == 0)
		r = mount_place(fd, "/proc");
	if (r == 0)
		r = kernel_text_write(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0");
	for (size_t i = 0; r == 0 && i < COUNT(masked); i++)
		r = mask(masked[i]);
	for (size_t i = 0; r == 0 && i < COUNT(read_only); i++)
		r = make_read_only(read_only[i]);
	return r;
}

/* The launcher was in the root, so the child is in its copy of it. */
static int check_root(int root_fd)
{
	struct stat root, now;

	if (fstat(root_fd, &root) < 0 || stat("/", &now) < 0)
		return -errno;
	return root.st_dev == now.st_dev && root.st_ino == now.st_ino ? 0 : -EXDEV;
}

static int drop_capabilities(void)
{
	int r = 0;

	for (int c = 0; r == 0; c++)
		if (!(INIT_CAPABILITIES >> c & 1) && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			r = -errno;
	if (r != -EINVAL) /* of the one behind the last */
		return r;
	r = capabilities_keep(INIT_CAPABILITIES);
	if (r < 0)
		return r;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Descriptors 0 to 3 are init's. All others are the launcher's, and closed. */
static int place_descriptors(const struct session_start *start, int *control_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;

	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (dup3(start->control_fd, INIT_FD_CONTROL, O_CLOEXEC) < 0)
		return -errno;
	*control_fd = INIT_FD_CONTROL;
	return close_range(INIT_FD_COUNT, ~0u, 0) < 0 ? -errno : 0;
}

static int enter(const struct session_start *start, int *control_fd, enum setup_step *ret_step)
{
	int r;

#define DO(name, act)                                                                              \
	*ret_step = SETUP_##name;                                                                  \
	r = (act);                                                                                 \
	if (r < 0)                                                                                 \
	return r

	/* As the host's root: of a process whose user has changed /proc/self is not its own. */
	DO(root, check_root(start->root_fd));
	DO(identity, kernel_text_write(start->home_fd, "proc/self/oom_score_adj", OOM_SCORE_ADJ));
	DO(host_name, set_host_name(start->request->id));
	DO(ids, wait_for_ids(start));
	DO(identity, become_root());
	DO(proc, mount_proc());
	DO(devices, mount_devpts());
	DO(capabilities, drop_capabilities());
	DO(streams, place_descriptors(start, control_fd));
#undef DO
	return init_run(ret_step);
}

_Noreturn void session_enter(const struct session_start *start)
{
	enum setup_step step = SETUP_init;
	int control_fd = start->control_fd;

	int r = enter(start, &control_fd, &step);
	struct init_report report = {.kind = INIT_SETUP_FAILED, .error = -r, .step = step};
	message_send(control_fd, &report, sizeof(report), NULL, 0);
	_exit(1);
}
