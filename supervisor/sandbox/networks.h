/*
 * Network namespaces of sessions, with a loopback device that is up. Some are made ahead, because
 * to make one takes as long as all the other namespaces together. They belong to the host's user
 * namespace: in its own network a session's root may do what everybody may.
 */
#pragma once

#include <stdbool.h>

#define NETWORKS_AHEAD 4 /* at most */

/* Remember where the launcher is at home. 0 or -errno. */
int networks_open(void);

/* Whether more are to be made ahead. */
bool networks_want_more(void);
/* Make one more. False if that failed. */
bool networks_make_ahead(void);

/* Move this process to a new network, for its next child. 0 or -errno. */
int networks_enter(void);
/* And back. Where that fails the process ends: the next session shall not be in this one's. */
void networks_leave(void);
