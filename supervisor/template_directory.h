/*
 * A directory of the host's as the root file system of sessions: what it is, read anew or known
 * from before.
 */
#pragma once

#include "fault.h"
#include "sandbox/template_digest.h"

/*
 * What a directory of the host's is as a template: read all of it, unless the state directory knows
 * what it was and nothing in it has changed since. 0 or -errno with a fault.
 */
int template_of_directory(const char *state, const char *directory, struct template_sum *ret_sum,
			  struct fault *f);

/*
 * Open a directory of the host's as the root of a template: *ret_root_fd is the directory, and
 * *ret_tree_fd the same without what is mounted in it, to look at. Refused is the host's own root.
 */
int template_open_directory(const char *directory, int *ret_root_fd, int *ret_tree_fd,
			    struct fault *f);

/* Read the tree at @tree_fd, which is called @what in the fault. 0 or -errno. */
int template_digest_of(int tree_fd, const char *what, struct template_sum *ret_sum,
		       struct fault *f);

/* A fault out of one of a tree. Returns @r. */
int template_blame(const struct template_fault *fault, int r, const char *what, struct fault *f);
