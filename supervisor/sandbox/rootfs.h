/*
 * Root file systems of sessions, as the launcher builds them in a mount namespace of its own.
 */
#pragma once

#include "launch.h"

/* Where things are in the launcher's mount namespace, which each session starts from. */
#define LAUNCHER_NEW "/new" /* a session's root is placed here, in the session's own namespace */
#define LAUNCHER_DEV "/dev" /* read-only; with empty pts and shm */

/* Directories of the host's system, all that are not links on the host: "/usr", maybe "/bin", ...
 */
extern const char *const rootfs_system_directories[];

/*
 * Leave the host's mounts: after this the namespace holds a small root, /proc, read-only copies of
 * the system directories, /dev and what rootfs_set_skeleton places. 0 or -errno.
 */
int rootfs_prepare(void);

/* Use this detached mount as the lower layer from now on. */
int rootfs_set_skeleton(int mount_fd);

/* A root, and what it is made of: descriptors of directories. */
struct rootfs {
	int mount_fd; /* its detached mount */
	int stage_fd; /* the tmpfs that holds SANDBOX_UPPER and SANDBOX_BASE */
	int lower_fd; /* skeleton or template, with ids as the session has them */
};
#define ROOTFS_NONE ((struct rootfs){-1, -1, -1})

/*
 * A new root: overlay of the skeleton, or of the template whose detached mount @template_fd is (-1:
 * none); above it what furnishes the session, and above that an ephemeral upper that is empty: all
 * that is ever in it is the session's. On failure *ret_step says what, and nothing is open.
 */
int rootfs_make(const struct launch_request *request, int template_fd, struct rootfs *ret_root,
		enum setup_step *ret_step);
/* Always after rootfs_make, when there is time: until then its upper is in the launcher's
 * namespace, and in those that begin as copies of it. */
void rootfs_clear(void);
