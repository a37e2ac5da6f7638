/*
 * A session to read: what its manifest says, and its journal.
 */
#pragma once

#include "../supervisor/record/reader.h"
#include "../supervisor/record/store.h"

#include <stdio.h>

struct session {
	struct manifest manifest;
	int dir_fd;
	struct reader *reader;
	char scratch[64]; /* a directory to remove at the end; "": none */
};

#define SESSION_NONE ((struct session){.dir_fd = -1})

/*
 * Find @what (an id, a unique prefix, a name, or "last") below @state and open its journal. What
 * has a slash in it or ends in ".tar" is a path: of a bundle, which is unpacked where nobody else
 * looks, or of a session's directory. On failure one line on @errors says why, as @called. 0 or
 * -errno.
 */
int session_open(const char *state, const char *what, const char *called, FILE *errors,
		 struct session *ret_session);
void session_close(struct session *s);

bool session_is_path(const char *what);

/* True while the vitrined that runs the session is alive, as far as this machine can tell. */
bool manifest_is_alive(const struct manifest *m);

/*
 * "starting", "running", "ended", or "lost": it never ended, and the supervisor that ran it is
 * gone. And why it ended: NULL while it has not.
 */
const char *manifest_state_name(const struct manifest *m);
const char *manifest_reason(const struct manifest *m);

/* Open the directory of sessions' state, as session_open does. */
int state_open(const char *state, const char *called, FILE *errors, int *ret_fd);

static inline void cleanup_session(struct session *s)
{
	session_close(s);
}
