/*
 * Mounts that are made detached: seen in no mount table until they are placed, gone with their
 * descriptor if they never are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mount_option {
	const char *key;   /* NULL ends a list */
	const char *value; /* NULL: a flag */
};

/* A new file system with @attributes (MOUNT_ATTR_...). 0 or -errno. */
int mount_detached(const char *type, const struct mount_option *options, uint64_t attributes,
		   int *ret_mount_fd);

/* A detached copy of the mounts at @path, all below it included where @recursive. */
int mount_clone(int dir_fd, const char *path, int recursive, int *ret_mount_fd);

/* Set attributes of a mount, and of all below it where @recursive. */
int mount_restrict(int mount_fd, uint64_t attributes, int recursive);

/* Give the file system at whose root @dir_fd is other options. 0 or -errno. */
int mount_reconfigure(int dir_fd, const struct mount_option *options);

/* Place it. */
int mount_place(int mount_fd, const char *path);
