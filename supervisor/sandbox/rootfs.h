/*
 * Root file systems of sessions, as the launcher builds them in a mount namespace of its own.
 */
#pragma once

#include "launch.h"

/*
 * Leave the host's mounts: after this the namespace holds a small root, /proc, read-only copies of
 * the system directories, /dev and what rootfs_set_skeleton places. 0 or -errno.
 */
int rootfs_prepare(void);

/* Use this detached mount as the lower layer from now on. */
int rootfs_set_skeleton(int mount_fd);

/* Detached mounts that a root is made of, borrowed; -1: none. */
struct rootfs_source {
	int template_fd;
	int workspace_fd;
	int secrets_fd;
};

/* A root, and what it is made of: descriptors of directories, of the caller's. */
struct rootfs {
	int mount_fd; /* its mount */
	int stage_fd; /* the tmpfs that holds SANDBOX_UPPER and SANDBOX_BASE */
	int lower_fd; /* skeleton or template, with ids as the session has them */
};
#define ROOTFS_NONE ((struct rootfs){-1, -1, -1})

/*
 * A new root, over the launcher's own: overlay of the skeleton, or of the template; above it what
 * furnishes the session, and above that an ephemeral upper that is empty: all that is ever in it is
 * the session's. In it are the host's system directories (without a template), /dev, and what is in
 * @from. @root begins as ROOTFS_NONE. On failure *ret_step says what.
 */
int rootfs_make(const struct launch_request *request, const struct rootfs_source *from,
		struct rootfs *root, enum setup_step *ret_step);
/* Be in it, for the next child; *ret_home_fd is the launcher's own root, borrowed. 0 or -errno. */
int rootfs_enter(int *ret_home_fd);
/* And back. Where that fails the process ends: it is no launcher in there. */
void rootfs_leave(void);
/* Before the next one is made. What fails here fails for good: the root would be below that of the
 * next session. 0 or -errno. */
int rootfs_clear(void);
