/*
 * A tree of files in the one order that its digest, its stamp and its copy are made in: a directory
 * before what is in it, names of a directory by their bytes.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#define TEMPLATE_DEPTH_MAX 128

struct template_entry {
	const char *path; /* below the root; "." for the root itself */
	const char *name; /* in dir_fd; "." for the root itself */
	int dir_fd;
	struct stat st; /* of the entry itself, no link followed */
};

/* What went wrong with which file. */
struct template_fault {
	char path[PATH_MAX];
	const char *what; /* static, in words; NULL: the errno says it */
};

typedef int (*template_visit)(void *context, const struct template_entry *e);

/*
 * Visit everything below the directory @root_fd, which has to be of mounts of its own (mount_clone,
 * not recursive): what is mounted in the tree is then not part of it. 0, what @visit returned, or
 * -errno with the path in @ret_fault.
 */
int template_walk(int root_fd, template_visit visit, void *context,
		  struct template_fault *ret_fault);
