/*
 * Root file systems of sessions. See rootfs.h.
 *
 * The launcher's namespace holds about five mounts, as every session starts with a copy of it. The
 * overlay's layers are placed in it while the overlay is mounted: kernels before 6.15 take no layer
 * from a detached mount. Device nodes are made here, not bound: one mount instead of seven.
 */
#include "rootfs.h"

#include "../record/cleanup.h"
#include "furniture.h"
#include "mount.h"
#include "sandbox.h"
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

#define BASE "/proc" /* exists everywhere; covered while the new root is built */
#define SKELETON "/skeleton"
#define STAGE "/stage"
#define TEMPLATE "/template"
#define FURNISHED STAGE "/" SANDBOX_BASE ":" /* above the lower layer */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const rootfs_system_directories[] = {"/usr",   "/bin",   "/sbin",	"/lib",
						 "/lib32", "/lib64", "/libx32", NULL};

static const char *const places[] = {"proc", "dev", "skeleton", "stage", "template", "new"};

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

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int place_system_directories(int root_fd)
{
	for (const char *const *d = rootfs_system_directories; *d; d++) {
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
	return r < 0 ? r : mount_place(fd, LAUNCHER_DEV);
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

int rootfs_prepare(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;

	int r = change_root();
	if (r == 0)
		r = place_proc();
	return r < 0 ? r : place_dev();
}

int rootfs_set_skeleton(int mount_fd)
{
	if (umount2(SKELETON, MNT_DETACH) < 0 && errno != EINVAL)
		return -errno;
	return mount_place(mount_fd, SKELETON);
}

static int furnish(const struct launch_request *request, int template_fd)
{
	int r = tree_make_directory(AT_FDCWD, STAGE "/" SANDBOX_UPPER, 0755, request->uid_base);
	if (r == 0)
		r = tree_make_directory(AT_FDCWD, STAGE "/" SANDBOX_BASE, 0755, request->uid_base);
	if (r == 0)
		r = tree_make_directory(AT_FDCWD, STAGE "/work", 0700, 0);
	if (r < 0)
		return r;

	cleanup(close_fd) int fd = open(STAGE "/" SANDBOX_BASE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : furniture_make(request, template_fd, fd);
}

/* File handles, so that fanotify can report names; without them where the kernel cannot. */
static int mount_overlay(const char *layers, int *ret_mount_fd)
{
	const struct mount_option options[] = {
		{"lowerdir", layers},
		{"upperdir", STAGE "/" SANDBOX_UPPER},
		{"workdir", STAGE "/work"},
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

static int place_upper(void)
{
	cleanup(close_fd) int fd = -1;
	char size[24], inodes[24];

	snprintf(size, sizeof(size), "%llu", SESSION_UPPER_BYTES);
	snprintf(inodes, sizeof(inodes), "%llu", SESSION_UPPER_INODES);
	const struct mount_option options[] = {
		{"mode", "0755"}, {"size", size}, {"nr_inodes", inodes}, {NULL, NULL}};

	int r = mount_detached("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &fd);
	return r < 0 ? r : mount_place(fd, STAGE);
}

static int open_directory(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int mount_over(const char *lower, const char *layers, struct rootfs *ret_root)
{
	cleanup(close_fd) int stage_fd = -1, lower_fd = -1;
	int r = open_directory(STAGE, &stage_fd);

	if (r == 0)
		r = open_directory(lower, &lower_fd);
	if (r == 0)
		r = mount_overlay(layers, &ret_root->mount_fd);
	if (r < 0)
		return r;
	ret_root->stage_fd = take_fd(stage_fd);
	ret_root->lower_fd = take_fd(lower_fd);
	return 0;
}

/* The template is placed as long as the overlay is mounted: that has a copy of its own. */
static int mount_over_template(int template_fd, struct rootfs *ret_root)
{
	int r = mount_place(template_fd, TEMPLATE);
	if (r < 0)
		return r;
	r = mount_over(TEMPLATE, FURNISHED TEMPLATE, ret_root);
	umount2(TEMPLATE, MNT_DETACH);
	return r;
}

int rootfs_make(const struct launch_request *request, int template_fd, struct rootfs *ret_root,
		enum setup_step *ret_step)
{
	*ret_step = SETUP_upper;
	int r = place_upper();
	if (r < 0)
		return r;

	r = furnish(request, template_fd);
	if (r == 0) {
		*ret_step = SETUP_overlay;
		r = template_fd < 0 ? mount_over(SKELETON, FURNISHED SKELETON, ret_root)
				    : mount_over_template(template_fd, ret_root);
	}
	return r;
}

void rootfs_clear(void)
{
	umount2(STAGE, MNT_DETACH);
}
