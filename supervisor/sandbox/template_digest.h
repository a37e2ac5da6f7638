/*
 * What identifies a tree of files that sessions start from.
 *
 * The digest is of what a session can see: SHA-256 over all entries in the order of template_walk,
 * each as type (one of d f l p c b s, or h for one more name of a file that came before), mode (16
 * bits), owner and group (32 bits each), path with a NUL; then, of a file its size (64 bits) and
 * the SHA-256 of its bytes, of a link its target with a NUL, of a device its number (64 bits), of a
 * name more the first path with a NUL; then the extended attributes in order of their names, each
 * as name with a NUL, size (32 bits), value, and a NUL behind the last. Numbers are little endian.
 * Times are not part of it; nor are attributes that label a file for the host (security.selinux,
 * security.ima, ...).
 *
 * The stamp is cheap: of inode number, mode, owners, size and time of change of each entry. As only
 * a clock that is set back can make a change unseen there, a tree with the stamp of before has the
 * digest of before.
 */
#pragma once

#include "template_walk.h"

#include <stdint.h>

#define TEMPLATE_HEX (2 * 32 + 1)

struct template_sum {
	char digest[TEMPLATE_HEX]; /* "" in a sum of template_stamp */
	char stamp[TEMPLATE_HEX];
	uint64_t entries, bytes;
	int64_t changed_ns; /* latest time of change */
};

/* Read everything below @root_fd (see template_walk). 0 or -errno with a fault. */
int template_digest(int root_fd, struct template_sum *ret_sum, struct template_fault *ret_fault);

/* Look at everything, read nothing. */
int template_stamp(int root_fd, struct template_sum *ret_sum, struct template_fault *ret_fault);
