/* The directory of one session below <state>/sessions, held open and locked while somebody writes
 * in it. */
#pragma once

#include "record/store.h"

#include <sys/types.h>

/* Whose a session's directory is: the recorder's, which writes the journal there. */
struct session_dir_owner {
	uid_t uid;
	gid_t gid;
	bool group_reads; /* the group reads all that is made in it; else nobody but @uid does */
};

/* A new random id. 0 or -errno. */
int session_dir_make_id(char ret_id[SESSION_ID_LENGTH + 1]);

/*
 * Make a directory for the id in @ret_id, or with a new one where that is empty, locked (flock) as
 * long as *ret_fd or a duplicate of it is open. 0 or -errno.
 */
int session_dir_create(int sessions_fd, const struct session_dir_owner *owner,
		       char ret_id[SESSION_ID_LENGTH + 1], int *ret_fd);

/* Open and lock that of a session that was. -EAGAIN: somebody still writes in it. 0 or -errno. */
int session_dir_open(int sessions_fd, const char *id, int *ret_fd);

/* Remove a session that never had a record. */
void session_dir_remove(int sessions_fd, int fd, const char *id);

/* Finish what supervisors died over: remove what has no manifest yet, and settle manifests. */
void session_dir_tidy(int sessions_fd);
