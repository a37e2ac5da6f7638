/* A process of our own beside this one (the recorder, the resolver of names, a private vitrined),
 * tied to it by one socket. */
#pragma once

#include <sys/types.h>

struct companion {
	pid_t pid;  /* 0: not running */
	int pidfd;  /* readable when it has ended */
	int socket; /* ours; the companion has the other end as descriptor 3 */
};

#define COMPANION_NONE                                                                             \
	{                                                                                          \
		.pidfd = -1, .socket = -1                                                          \
	}

/*
 * Start @dir/@program with @arguments (NULL-terminated; NULL: none) in a process group of its own.
 * It gets our standard error for its log, the socket, nothing to read and a bare environment. 0 or
 * -errno.
 */
int companion_start(const char *dir, const char *program, const char *const *arguments,
		    struct companion *ret_companion);

/* Close the socket, wait @timeout_ms for the companion to end, then kill it. NULL-safe, twice-safe.
 */
void companion_stop(struct companion *c, int timeout_ms);
