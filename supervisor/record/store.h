/*
 * The state directory: <state>/sessions/<id>/{manifest.json, NNNNNN.vtj, checkpoints}, and the
 * ledger <state>/chain.
 *
 * The manifest holds what a list of sessions needs; it is written by vitrined at start and at end
 * (to a temporary name, then renamed), and is never evidence: the journal is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_DEFAULT_STATE "/var/lib/vitrine"
#define SPARE_PREFIX                                                                               \
	".spare-" /* beside the sessions: a directory made ahead, with nothing in it               \
		   */
#define MANIFEST_TEMPORARY "manifest.json.tmp" /* its name while it is written */
#define SESSION_ID_LENGTH 12		       /* lower-case hex digits */

/* True for SESSION_ID_LENGTH lower-case hex digits. */
bool session_id_is_valid(const char *id);

enum session_state { SESSION_STARTING, SESSION_RUNNING, SESSION_ENDED };

struct manifest {
	char id[SESSION_ID_LENGTH + 1];
	char *name;    /* owned; may be NULL */
	char *tenant;  /* owned; may be NULL */
	char *command; /* owned; JSON array text of the redacted command */
	enum session_state state;
	char *reason;	     /* owned; NULL while it runs */
	int64_t exit_code;   /* -1 where there is none */
	int64_t signal;	     /* -1 where there is none */
	uint64_t started_ns; /* wall clock */
	uint64_t ended_ns;   /* 0 while it runs */
	uint64_t records;
	uint64_t lost;
	int64_t uid;		/* of the user who asked for it, on this host; -1: not known */
	int64_t supervisor_pid; /* pid of the vitrined that runs it, with its start time: a dead one
				   means a dead session */
	uint64_t supervisor_start; /* field 22 of /proc/<pid>/stat */
};

void manifest_free(struct manifest *m);

#define MANIFEST_FILE "manifest.json"

/* Read <dir>/manifest.json. 0 or -errno (-EBADMSG: not a manifest). */
int manifest_read(int session_dir_fd, struct manifest *ret_manifest);
/* Write it atomically, with fsync. 0, -EINVAL (the command is not JSON) or -errno. */
int manifest_write(int session_dir_fd, const struct manifest *m);
/*
 * All of the session has ended and only its record still gets onto the disk: who reads the manifest
 * of a session in the meantime waits for it. 0 or -errno.
 */
int manifest_mark_ending(int session_dir_fd, bool is_ending);
/*
 * The same in two steps. After the first every reader sees it; until the second has ended, a crash
 * of the machine may bring back the manifest before it. *ret_fd (owned by the caller) is for the
 * second, which may be done in another thread.
 */
int manifest_put(int session_dir_fd, const struct manifest *m, int *ret_fd);
/*
 * The first step in two, in a directory that nobody sees yet: the file, made ahead, and what it
 * says. *ret_fd is owned by the caller.
 */
int manifest_prepare(int session_dir_fd, int *ret_fd);
int manifest_fill(int fd, const struct manifest *m);
int manifest_settle(int session_dir_fd, int fd);
/* The second step, if it was begun and not ended. */
int manifest_settle_again(int session_dir_fd);

/*
 * All sessions below @state_fd, oldest first. *ret_list is an array of *ret_count, freed by
 * store_list_free. Directories that hold no readable manifest are left out and counted in
 * *ret_unreadable.
 */
int store_list(int state_fd, struct manifest **ret_list, size_t *ret_count, size_t *ret_unreadable);
void store_list_free(struct manifest *list, size_t count);

/*
 * Find a session by id, unique prefix of an id (4 digits or more), name (the newest of that name)
 * or "last". On success @ret_dir_fd is an open directory that the caller closes. -ENOENT: none;
 * -ENOTUNIQ: more than one, also two that are alive and share a name; -EBADMSG: it has no readable
 * manifest.
 */
int store_find(int state_fd, const char *what, struct manifest *ret_manifest, int *ret_dir_fd);
