/*
 * Tries what the sandbox is made of: in a child with mounts of its own that nobody sees, and that
 * are gone with it. See doctor.h.
 */
#include "doctor.h"

#include "record/cleanup.h"
#include "sandbox/landlock_wall.h"
#include "sandbox/mount.h"
#include "sandbox/namespaces.h"
#include "sandbox/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define AS_ROOT "run vitrine doctor as root"
#define ALL_NAMESPACES                                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWCGROUP)
#define OWNER 100000 /* any id but 0 */
#define PLACE "/tmp" /* covered by a tmpfs of the child's */

/* Run @probe in a child; what it returns. */
static int in_child(int (*probe)(const struct doctor_subject *subject),
		    const struct doctor_subject *subject)
{
	int *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		return -errno;

	*result = -ECHILD;
	pid_t pid = fork();
	if (pid == 0) {
		*result = probe(subject);
		_exit(0);
	}
	int r = pid < 0 ? -errno : 0;
	if (r == 0)
		waitpid(pid, NULL, 0);
	if (r == 0)
		r = *result;
	munmap(result, sizeof(*result));
	return r;
}

static int hide_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	return 0;
}

static bool not_root(const struct doctor_subject *subject, struct finding *f)
{
	if (!subject->is_root)
		finding_degraded(f, "whether it works is not known", AS_ROOT, "not tried");
	return !subject->is_root;
}

/* ---- namespaces ---- */

static int try_namespaces(const struct doctor_subject *subject)
{
	(void)subject;
	return unshare(ALL_NAMESPACES) < 0 ? -errno : 0;
}

void doctor_namespaces(const struct doctor_subject *subject, struct finding *ret_finding)
{
	if (not_root(subject, ret_finding))
		return;
	int r = in_child(try_namespaces, subject);
	if (r < 0)
		finding_missing(ret_finding,
				"set user.max_user_namespaces and the other user.max_*_namespaces "
				"above 0 (sysctl), and run outside of a chroot",
				"a session's namespaces cannot be made: %s", strerror(-r));
	else
		finding_ok(ret_finding, "user, mount, pid, network, uts, ipc, cgroup");
}

static int map_ids_at(const char *path)
{
	int fd = -1;
	int r = hide_mounts();

	if (r == 0)
		r = mount_clone(AT_FDCWD, path, 0, &fd);
	if (r == 0)
		r = namespaces_map_mount(fd, 0, 0, OWNER);
	return r;
}

static int try_idmap(const struct doctor_subject *subject)
{
	return map_ids_at(subject->workspace);
}

/* Where templates are kept; of a state directory that is yet to be made, where it will be. */
static int try_idmap_of_templates(const struct doctor_subject *subject)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s", subject->state);
	while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')))
		slash[slash == path] = 0;
	return map_ids_at(access(path, F_OK) == 0 ? path : ".");
}

void doctor_idmap(const struct doctor_subject *subject, struct finding *ret_finding)
{
	if (not_root(subject, ret_finding))
		return;
	int r = in_child(try_idmap, subject);
	int templates = in_child(try_idmap_of_templates, subject);
	if (r == 0 && templates < 0)
		finding_degraded(ret_finding, "templates cannot be kept in the state directory",
				 "keep it on ext4, xfs or btrfs, or give root file systems as "
				 "directories on such a file system",
				 "%.160s: ids cannot be mapped: %s", subject->state,
				 strerror(-templates));
	else if (r < 0)
		finding_degraded(ret_finding, "this directory cannot be a workspace",
				 "keep workspaces on ext4, xfs, btrfs or tmpfs: a file system that "
				 "can be mounted with other ids",
				 "%.160s: ids cannot be mapped: %s", subject->workspace,
				 strerror(-r));
	else
		finding_ok(ret_finding, "ids can be mapped at %.200s", subject->workspace);
}

/* ---- the root file system ---- */

static int make_overlay(bool with_handles, int *ret_fd)
{
	const struct mount_option options[] = {
		{"lowerdir", PLACE "/lower"},
		{"upperdir", PLACE "/upper"},
		{"workdir", PLACE "/work"},
		{"index", with_handles ? "on" : "off"},
		{with_handles ? "nfs_export" : NULL, "on"},
		{NULL, NULL},
	};
	int fd = -1, r = hide_mounts();

	if (r == 0)
		r = mount_detached("tmpfs", (const struct mount_option[]){{NULL, NULL}}, 0, &fd);
	if (r == 0)
		r = mount_place(fd, PLACE);
	if (r == 0 && (mkdir(PLACE "/lower", 0755) < 0 || mkdir(PLACE "/upper", 0755) < 0 ||
		       mkdir(PLACE "/work", 0700) < 0))
		r = -errno;
	return r < 0 ? r : mount_detached("overlay", options, 0, ret_fd);
}

static int try_overlay(const struct doctor_subject *subject)
{
	int fd;

	(void)subject;
	return make_overlay(false, &fd);
}

static int try_handles(const struct doctor_subject *subject)
{
	int fd;

	(void)subject;
	return make_overlay(true, &fd);
}

static int try_names(const struct doctor_subject *subject)
{
	int fd, group;
	int r = make_overlay(true, &fd);

	(void)subject;
	return r < 0 ? r : watch_open(fd, getuid(), &group);
}

/* What keeps the file of a secret for one program: each open of it asks. */
static int try_guard(const struct doctor_subject *subject)
{
	int fd = -1,
	    r = mount_detached("tmpfs", (const struct mount_option[]){{NULL, NULL}}, 0, &fd);

	(void)subject;
	if (r < 0)
		return r;
	int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	if (group < 0 || mknodat(fd, "guarded", S_IFREG | 0600, 0) < 0 ||
	    fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN_PERM, fd, "guarded") < 0)
		return -errno;
	return 0;
}

void doctor_overlay(const struct doctor_subject *subject, struct finding *ret_finding)
{
	if (not_root(subject, ret_finding))
		return;
	int r = in_child(try_overlay, subject);
	int handles = in_child(try_handles, subject);

	if (r < 0)
		finding_missing(ret_finding, "modprobe overlay (CONFIG_OVERLAY_FS)",
				"an overlay cannot be mounted: %s", strerror(-r));
	else if (handles < 0)
		finding_degraded(ret_finding,
				 "names of files are taken from calls and open files alone",
				 "boot a kernel whose overlay has nfs_export and index",
				 "overlay without file handles: %s", strerror(-handles));
	else
		finding_ok(ret_finding, "overlay on tmpfs, with file handles (nfs_export)");
}

void doctor_fanotify(const struct doctor_subject *subject, struct finding *ret_finding)
{
	if (not_root(subject, ret_finding))
		return;
	int r = in_child(try_names, subject);
	int guard = in_child(try_guard, subject);
	if (r < 0)
		finding_degraded(ret_finding,
				 "names of files are taken from calls and open files alone",
				 "boot a kernel with CONFIG_FANOTIFY=y",
				 "a session's root cannot be watched: %s", strerror(-r));
	else if (guard < 0)
		finding_degraded(
			ret_finding,
			"no secret can be kept for one program (--secret ...,only=PROGRAM)",
			"boot a kernel with CONFIG_FANOTIFY_ACCESS_PERMISSIONS=y",
			"opens of a file cannot be decided: %s", strerror(-guard));
	else
		finding_ok(ret_finding,
			   "names of what is made, removed and renamed; secrets for one program");
}

/* ---- walls ---- */

void doctor_seccomp(const struct doctor_subject *subject, struct finding *ret_finding)
{
	(void)subject;
	/* A filter without a program is bad memory to a kernel that has filters. */
	if (prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, NULL, 0, 0) < 0 && errno == EFAULT)
		finding_ok(ret_finding, "filters");
	else
		finding_missing(ret_finding,
				"boot a kernel with CONFIG_SECCOMP_FILTER=y, and run outside of "
				"filters that forbid it",
				"no filters: %s", strerror(errno));
}

void doctor_landlock(const struct doctor_subject *subject, struct finding *ret_finding)
{
	int abi = landlock_wall_abi();

	(void)subject;
	if (abi >= LANDLOCK_WALL_WHOLE)
		finding_ok(ret_finding,
			   "ABI %d: device nodes, abstract sockets and signals are walled", abi);
	else if (abi > 0)
		finding_degraded(ret_finding,
				 "a session with the host's network reaches abstract sockets of "
				 "the host",
				 "boot a kernel whose Landlock has ABI 6, or run sessions without "
				 "the host's network",
				 "ABI %d", abi);
	else
		finding_degraded(ret_finding,
				 "sessions have no second wall, and one with the host's network "
				 "reaches abstract sockets of the host",
				 "boot a kernel with CONFIG_SECURITY_LANDLOCK=y, with landlock in "
				 "its lsm= list",
				 "not there: %s", strerror(-abi));
}
