/*
 * fanotify on the file system of a session's root: names of what is created, deleted, renamed and
 * changed in its attributes, as the kernel knows them.
 */
#pragma once

#include <sys/types.h>

/*
 * A group that watches the whole file system of @mount_fd (of one session alone), on the account of
 * @uid: a user has fs.fanotify.max_user_groups of them, 128 as a rule, and the root of the host
 * needs its own. -EOPNOTSUPP where its files have no handles, -EMFILE where there are no more
 * groups.
 */
int watch_open(int mount_fd, uid_t uid, int *ret_fanotify_fd);
