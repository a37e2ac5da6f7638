/*
 * The lower layer of every session's root: an /etc made of what is listed by name, links and mount
 * points. It lives in a tmpfs of its own that is in no mount table. Whatever is not listed does not
 * exist inside; listed files are taken only if anybody on the host may read them.
 */
#pragma once

#include <stdint.h>

/* Changes when the host's files that a skeleton is made of do. */
uint64_t skeleton_fingerprint(void);

/* Watch these files (changes.h). 0 with *ret_fd, or -errno. */
int skeleton_watch(int *ret_fd);

/* Make one. *ret_mount_fd is its detached mount. 0 or -errno. */
int skeleton_make(int *ret_mount_fd);
