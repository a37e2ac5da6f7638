/*
 * Templates: root file systems that sessions start from, kept by name in the state directory, each
 * as a copy that nobody else changes. <state>/templates/NAME/ (root's alone) holds the tree `root`
 * and `template.json`, which says what it was when it was added. A lock (flock) on NAME/, shared
 * while sessions use it, keeps it from being removed.
 */
#pragma once

#include "fault.h"
#include "sandbox/template_digest.h"

#include <stdbool.h>

#define TEMPLATE_NAME_MAX 64
#define TEMPLATE_HOST "host" /* no template: what the host has */

struct template_info {
	char name[TEMPLATE_NAME_MAX + 1];
	char source[PATH_MAX]; /* directory that it was copied from */
	char added[32];	       /* RFC 3339, UTC */
	uint64_t left_out;     /* devices and sockets of it that were not copied */
	struct template_sum sum;
};

/* Letters, digits, '.', '_' and '-', the first no '.' or '-'; not "host". */
bool template_name_is_valid(const char *name);

/*
 * Open <state>/templates. @make: make it, and the state directory, if they are not there. 0,
 * -ENOENT without a fault (there are no templates), or -errno with one.
 */
int template_store_open(const char *state, bool make, int *ret_fd, struct fault *f);

/*
 * Copy the tree at @directory. One that has the name already is an error, or with @replace gives
 * way unless a session uses it. 0 or -errno with a fault.
 */
int template_store_add(int store_fd, const char *name, const char *directory, bool replace,
		       struct template_info *ret_info, struct fault *f);

/* 0, or -errno with a fault: there is none (-ENOENT), a session uses it (-EBUSY), ... */
int template_store_remove(int store_fd, const char *name, struct fault *f);

/*
 * What is known of a template, its tree (*ret_root_fd), and a descriptor that keeps it from being
 * removed (*ret_lock_fd). Whether the tree is as it was is for the caller to see. 0 or -errno with
 * a fault.
 */
int template_store_load(int store_fd, const char *name, struct template_info *ret_info,
			int *ret_root_fd, int *ret_lock_fd, struct fault *f);

/* Read all of it again. *ret_same: it is what was added, and its stamp is renewed. */
int template_store_check(int store_fd, const char *name, bool *ret_same,
			 struct template_info *ret_info, struct fault *f);

/* Names, sorted; NULL-terminated, each and the array to be freed. 0 or -errno with a fault. */
int template_store_list(int store_fd, char ***ret_names, struct fault *f);
