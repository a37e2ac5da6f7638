/*
 * The extended attributes of a file that are part of what it is, in order of their names: all but
 * those that label it for the host or for the file system that it lies on.
 */
#pragma once

#include "template_walk.h"

typedef int (*template_xattr_visit)(void *context, const char *name, const void *value,
				    size_t size);

/* 0, what @visit returned, or -errno. A file system without attributes has none. */
int template_xattrs(const struct template_entry *e, template_xattr_visit visit, void *context);

/* Give the entry @name below @dir_fd an attribute. 0 or -errno. */
int template_xattr_set(int dir_fd, const char *name, const char *attribute, const void *value,
		       size_t size);
