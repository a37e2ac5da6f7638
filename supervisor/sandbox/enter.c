/*
 * From the launcher's child to pid 1 of a session. See enter.h.
 *
 * Nothing of the session runs yet, so paths here are ours alone. What is mounted is a detached
 * mount made by us or a copy of one in the launcher's namespace.
 */
#include "enter.h"

#include "../record/cleanup.h"
#include "init.h"
#include "kernel_text.h"
#include "message.h"
#include "mount.h"
#include "rootfs.h"
#include "syscalls.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEW LAUNCHER_NEW
#define FD_ASIDE 64	    /* above all that is placed at a fixed number */
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
	/* While still the host's root: of a process whose user has changed /proc/self is not its
	 * own. */
	int r = kernel_text_write("/proc/self/oom_score_adj", OOM_SCORE_ADJ);
	if (r < 0)
		return r;
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

static int bind_system_directories(void)
{
	for (const char *const *d = rootfs_system_directories; *d; d++) {
		char place[64];
		struct stat st;

		if (lstat(*d, &st) < 0)
			continue;
		snprintf(place, sizeof(place), NEW "%s", *d);
		if (mount(*d, place, NULL, MS_BIND | MS_REC, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* /dev/shm is a directory of the root's upper: one quota, and one file system to watch. */
static int mount_dev(void)
{
	const struct mount_option options[] = {
		{"gid", "5"}, {"mode", "0620"}, {"ptmxmode", "0666"}, {NULL, NULL}};
	cleanup(close_fd) int shm = -1, pts = -1;

	int r = mount_clone(AT_FDCWD, NEW "/dev/shm", false, &shm);
	if (r < 0)
		return r;
	if (mount(LAUNCHER_DEV, NEW "/dev", NULL, MS_BIND, NULL) < 0)
		return -errno;
	r = mount_place(shm, NEW "/dev/shm");
	if (r == 0)
		r = mount_detached("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &pts);
	return r < 0 ? r : mount_place(pts, NEW "/dev/pts");
}

static int place_mounts(const struct session_start *start)
{
	int r = mount_place(start->root_fd, NEW);
	if (r == 0 && !(start->request->flags & LAUNCH_TEMPLATE))
		r = bind_system_directories();
	return r < 0 ? r : mount_dev();
}

static int mask(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), NEW "/proc/%s", name);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;

	/* An empty directory, and a device that swallows; both read-only. */
	const char *cover = S_ISDIR(st.st_mode) ? LAUNCHER_DEV "/shm" : LAUNCHER_DEV "/null";
	return mount(cover, path, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

static int make_read_only(const char *name)
{
	char path[64];
	cleanup(close_fd) int fd = -1;

	snprintf(path, sizeof(path), NEW "/proc/%s", name);
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
		r = mount_place(fd, NEW "/proc");
	if (r == 0)
		r = kernel_text_write(NEW "/proc/sys/user/max_user_namespaces", "0");
	for (size_t i = 0; r == 0 && i < COUNT(masked); i++)
		r = mask(masked[i]);
	for (size_t i = 0; r == 0 && i < COUNT(read_only); i++)
		r = make_read_only(read_only[i]);
	return r;
}

static int change_root(int root_fd)
{
	struct stat root, now;

	if (chdir(NEW) < 0 || pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
	    chdir("/") < 0)
		return -errno;
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
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Descriptors 0 to 3 as init expects them; all others close with the exec. */
static int place_descriptors(int control_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;

	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (dup2(control_fd, INIT_FD_CONTROL) < 0)
		return -errno;
	if (close_range(INIT_FD_COUNT, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	return 0;
}

static int execute_init(int init_fd)
{
	char *const argv[] = {"vitrine-init", NULL};
	char *const env[] = {NULL};

	signal(SIGCHLD, SIG_DFL);
	execveat(init_fd, "", argv, env, AT_EMPTY_PATH);
	return -errno;
}

static int enter(const struct session_start *start, int control_fd, enum setup_step *ret_step)
{
	int r;

#define DO(name, act)                                                                              \
	*ret_step = SETUP_##name;                                                                  \
	r = (act);                                                                                 \
	if (r < 0)                                                                                 \
	return r

	DO(ids, wait_for_ids(start));
	DO(identity, become_root());
	DO(host_name, set_host_name(start->request->id));
	DO(mounts, place_mounts(start));
	DO(proc, mount_proc());
	DO(pivot, change_root(start->root_fd));
	DO(capabilities, drop_capabilities());
	DO(streams, place_descriptors(control_fd));
	DO(init, execute_init(start->init_fd));
#undef DO
	return -ENOEXEC;
}

_Noreturn void session_enter(const struct session_start *start)
{
	enum setup_step step = SETUP_init;
	int control_fd = fcntl(start->control_fd, F_DUPFD_CLOEXEC, FD_ASIDE);

	int r = control_fd < 0 ? -errno : enter(start, control_fd, &step);
	struct init_report report = {.kind = INIT_SETUP_FAILED, .error = -r, .step = step};
	message_send(control_fd, &report, sizeof(report), NULL, 0);
	_exit(1);
}
