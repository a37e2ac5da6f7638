/*
 * Cgroups of v1 controllers, on hosts where those are not in the v2 hierarchy: <mount>/vitrine/<id>
 * in the hierarchy of each controller that a session needs.
 */
#pragma once

#include <stddef.h>

#define CGROUP1_PATH_MAX 256

/* Where the hierarchy of @controller is mounted. 0, -ENOENT or -errno. */
int cgroup1_find(const char *controller, char ret_path[CGROUP1_PATH_MAX]);

/* Make vitrine/@id below @mount. 0 or -errno; -EEXIST if it is there already. */
int cgroup1_make(const char *mount, const char *id, int *ret_fd);

/* Remove vitrine/@id, whose processes have ended, in the hierarchy of each of @controllers (closed
 * by NULL). 0 also if it is not there. */
int cgroup1_remove(const char *const *controllers, const char *id);

/* Remove `vitrine` itself where nothing is in it. */
void cgroup1_remove_parents(const char *const *controllers);
