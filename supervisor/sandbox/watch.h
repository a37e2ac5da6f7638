/*
 * fanotify on the file system of a session's root: names of what is created, deleted, renamed and
 * changed in its attributes, as the kernel knows them.
 */
#pragma once

/*
 * A group that watches the whole file system of @mount_fd (of one session alone). -EOPNOTSUPP where
 * its files have no handles.
 */
int watch_open(int mount_fd, int *ret_fanotify_fd);

/* Close a group. The kernel waits 20 ms for its readers when the last descriptor goes; nobody here
 * does. */
void watch_close(int fanotify_fd);
