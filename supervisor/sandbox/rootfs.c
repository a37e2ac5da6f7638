/*
 * Root file systems of sessions. See rootfs.h.
 *
 * The launcher's namespace holds about five mounts, as every session starts with a copy of it. A
 * session's root is built in it, over the launcher's own root: in the copy that is the root of the
 * namespace, what is below cannot be uncovered (the kernel locks the mounts of a copy that a lesser
 * user namespace owns), and nothing has to be unmounted, which waits for a grace period. The
 * overlay's layers are placed while it is mounted: kernels before 6.15 take no layer from a
 * detached mount. Device nodes are made here, not bound: one mount instead of seven.
 */
#include "rootfs.h"

#include "../record/cleanup.h"
#include "mount.h"
#include "sandbox.h"
#include "stage.h"
#include "syscalls.h"
#include "tree.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* A session's root is placed over the launcher's own: ".." of the root leads to what lies above. */
#define NEW "/.."
#define DEV "/dev"   /* read-only; with empty pts and shm */
#define BASE "/proc" /* exists everywhere; covered while the new root is built */
#define SKELETON "/skeleton"
#define TEMPLATE "/template"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const system_directories[] = {"/usr",   "/bin",   "/sbin",	"/lib",
						 "/lib32", "/lib64", "/libx32", NULL};

static const char *const places[] = {"proc", "dev", "skeleton", "template"};

static const struct node {
	const char *name;
	unsigned minor, major;
} nodes[] = {
	{"null", 3, 1},	  {"zero", 5, 1},    {"full", 7, 1},
	{"random", 8, 1}, {"urandom", 9, 1}, {"tty", 0, 5},
};

static const struct dev_link {
	const char *name, *target;
} dev_links[] = {
	{"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
	{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
};

static int home = -1; /* the launcher's root */
static unsigned laid; /* so many mounts lie over it */

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int place_system_directories(int root_fd)
{
	for (const char *const *d = system_directories; *d; d++) {
		cleanup(close_fd) int tree = -1;
		char place[64];

		if (!is_directory(*d))
			continue;
		snprintf(place, sizeof(place), BASE "%s", *d);
		int r = mount_clone(AT_FDCWD, *d, true, &tree);
		if (r == 0)
			r = mount_restrict(tree,
					   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
					   true);
		if (r == 0)
			r = tree_make_directory(root_fd, *d + 1, 0755, 0);
		if (r == 0)
			r = mount_place(tree, place);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_dev(int fd)
{
	for (size_t i = 0; i < COUNT(nodes); i++) {
		dev_t number = makedev(nodes[i].major, nodes[i].minor);

		if (mknodat(fd, nodes[i].name, S_IFCHR | 0666, number) < 0 ||
		    fchmodat(fd, nodes[i].name, 0666, 0) < 0)
			return -errno;
	}
	for (size_t i = 0; i < COUNT(dev_links); i++)
		if (symlinkat(dev_links[i].target, fd, dev_links[i].name) < 0)
			return -errno;

	int r = tree_make_directory(fd, "pts", 0755, 0);
	return r < 0 ? r : tree_make_directory(fd, "shm", 0755, 0);
}

static int place_dev(void)
{
	const struct mount_option options[] = {{"mode", "0755"}, {"size", "64k"}, {NULL, NULL}};
	cleanup(close_fd) int fd = -1;

	int r = mount_detached("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &fd);
	if (r == 0)
		r = fill_dev(fd);
	if (r == 0)
		r = mount_restrict(fd, MOUNT_ATTR_RDONLY, false);
	return r < 0 ? r : mount_place(fd, DEV);
}

static int place_proc(void)
{
	const uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	cleanup(close_fd) int fd = -1;

	int r = mount_detached("proc", NULL, attributes, &fd);
	return r < 0 ? r : mount_place(fd, "/proc");
}

/* The new root, in place of the old one. */
static int change_root(void)
{
	const struct mount_option options[] = {{"mode", "0755"}, {"size", "64k"}, {NULL, NULL}};
	cleanup(close_fd) int fd = -1;

	int r = mount_detached("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &fd);
	if (r < 0)
		return r;
	for (size_t i = 0; i < COUNT(places); i++) {
		r = tree_make_directory(fd, places[i], 0755, 0);
		if (r < 0)
			return r;
	}
	r = mount_place(fd, BASE);
	if (r == 0)
		r = place_system_directories(fd);
	if (r < 0)
		return r;

	if (fchdir(fd) < 0 || pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
	    chdir("/") < 0)
		return -errno;
	return 0;
}

static int open_directory(int dir_fd, const char *path, int *ret_fd)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int rootfs_prepare(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;

	int r = change_root();
	if (r == 0)
		r = place_proc();
	if (r == 0)
		r = place_dev();
	return r < 0 ? r : open_directory(AT_FDCWD, "/", &home);
}

int rootfs_set_skeleton(int mount_fd)
{
	if (umount2(SKELETON, MNT_DETACH) < 0 && errno != EINVAL)
		return -errno;
	return mount_place(mount_fd, SKELETON);
}

/* ---- the root of a session ---- */

static int lay(int mount_fd)
{
	int r = mount_place(mount_fd, NEW);

	laid += r == 0;
	return r;
}

/* Its layers are named from the stage, which is the current directory. File handles, so that
 * fanotify can report names; without them where the kernel cannot. */
static int mount_overlay(const char *lower, int *ret_mount_fd)
{
	char layers[64];

	snprintf(layers, sizeof(layers), SANDBOX_BASE ":%s", lower);
	const struct mount_option options[] = {
		{"lowerdir", layers},
		{"upperdir", SANDBOX_UPPER},
		{"workdir", STAGE_WORK},
		{"xino", "on"},
		{"index", "on"},
		{"nfs_export", "on"},
		{NULL, NULL},
	};
	struct mount_option plain[COUNT(options)];
	const uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	int r = mount_detached("overlay", options, attributes, ret_mount_fd);
	if (r == 0)
		return 0;

	memcpy(plain, options, sizeof(plain));
	plain[COUNT(options) - 3] = (struct mount_option){NULL, NULL};
	return mount_detached("overlay", plain, attributes, ret_mount_fd);
}

static int mount_over(const char *lower, struct rootfs *root)
{
	int r = open_directory(AT_FDCWD, lower, &root->lower_fd);

	if (r == 0 && fchdir(root->stage_fd) < 0)
		r = -errno;
	if (r < 0)
		return r;
	r = mount_overlay(lower, &root->mount_fd);
	if (chdir("/") < 0)
		abort();
	return r;
}

/* The template is placed as long as the overlay is mounted: that has a copy of its own. */
static int mount_over_template(int template_fd, struct rootfs *root)
{
	int r = mount_place(template_fd, TEMPLATE);
	if (r < 0)
		return r;
	r = mount_over(TEMPLATE, root);
	umount2(TEMPLATE, MNT_DETACH);
	return r;
}

static int bind_system_directories(void)
{
	for (const char *const *d = system_directories; *d; d++) {
		char place[64];

		if (!is_directory(*d))
			continue;
		snprintf(place, sizeof(place), NEW "%s", *d);
		if (mount(*d, place, NULL, MS_BIND | MS_REC, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* /dev/shm is a directory of the root's upper: one quota, and one file system to watch. */
static int bind_dev(void)
{
	cleanup(close_fd) int shm = -1;

	int r = mount_clone(AT_FDCWD, NEW "/dev/shm", false, &shm);
	if (r < 0)
		return r;
	if (mount(DEV, NEW "/dev", NULL, MS_BIND, NULL) < 0)
		return -errno;
	return mount_place(shm, NEW "/dev/shm");
}

static int place_mounts(const struct rootfs *root, const struct rootfs_source *from)
{
	int r = lay(root->mount_fd);
	if (r == 0 && from->template_fd < 0)
		r = bind_system_directories();
	if (r == 0)
		r = bind_dev();
	if (r == 0 && from->workspace_fd >= 0)
		r = mount_place(from->workspace_fd, NEW "/workspace");
	if (r == 0 && from->secrets_fd >= 0)
		r = mount_place(from->secrets_fd, NEW "/run/secrets");
	return r;
}

int rootfs_make(const struct launch_request *request, const struct rootfs_source *from,
		struct rootfs *root, enum setup_step *ret_step)
{
	cleanup(close_fd) int stage = -1;

	*ret_step = SETUP_upper;
	int r = stage_take(request, from->template_fd, &stage);
	if (r == 0)
		r = open_directory(stage, ".", &root->stage_fd);
	if (r == 0)
		r = lay(stage);
	if (r < 0)
		return r;
	*ret_step = SETUP_overlay;
	r = from->template_fd < 0 ? mount_over(SKELETON, root)
				  : mount_over_template(from->template_fd, root);
	if (r < 0)
		return r;
	*ret_step = SETUP_mounts;
	return place_mounts(root, from);
}

int rootfs_enter(int *ret_home_fd)
{
	*ret_home_fd = home;
	return chdir(NEW) < 0 || chroot(".") < 0 ? -errno : 0;
}

void rootfs_leave(void)
{
	if (fchdir(home) < 0 || chroot(".") < 0)
		abort();
}

int rootfs_clear(void)
{
	for (; laid > 0; laid--)
		if (umount2(NEW, MNT_DETACH) < 0)
			return -errno;
	return 0;
}
