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

/* Held open and locked (flock) as long as .fd or a duplicate of it is open. */
struct session_dir {
	int fd;
	int manifest_fd; /* of the file that is to be its manifest; -1: none */
};
#define SESSION_DIR_NONE                                                                           \
	{                                                                                          \
		-1, -1                                                                             \
	}

#define SPARE_NAME_SIZE (sizeof(SPARE_PREFIX) + SESSION_ID_LENGTH)

/* A new random id. 0 or -errno. */
int session_dir_make_id(char ret_id[SESSION_ID_LENGTH + 1]);

/* Make a directory of this name. 0 or -errno. -EEXIST: it is taken, or who clears up was faster
 * than the lock. */
int session_dir_make(int sessions_fd, const char *name, const struct session_dir_owner *owner,
		     struct session_dir *ret_dir);
void session_dir_close(struct session_dir *dir);

/* Open and lock that of a session that was. -EAGAIN: somebody still writes in it. 0 or -errno. */
int session_dir_open(int sessions_fd, const char *id, int *ret_fd);

/* Remove a session that never had a record. */
void session_dir_remove(int sessions_fd, int fd, const char *id);

/* Finish what supervisors died over: remove what has no manifest yet, and settle manifests. */
void session_dir_tidy(int sessions_fd);
