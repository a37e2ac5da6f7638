/*
 * The templates that a daemon's sessions start from: found, seen to be what they were when they
 * were added, and remembered as such as long as nothing in them changes (inotify), so that a
 * session does not wait for a look at every file.
 */
#pragma once

#include "fault.h"
#include "sandbox/template_digest.h"

#include <jansson.h>
#include <stdbool.h>

#define TEMPLATES_KNOWN_MAX 16

struct known_template {
	char *rootfs; /* owned: name or directory; NULL: the place is free */
	char stamp[TEMPLATE_HEX];
	dev_t dev; /* of its root directory */
	ino_t ino;
	int watch_fd;
	uint64_t used; /* when, for the choice of which is forgotten */
};

struct templates {
	struct known_template known[TEMPLATES_KNOWN_MAX];
	uint64_t uses;
};

/* What a session holds of its template. */
struct template_use {
	int root_fd; /* the directory */
	int lock_fd; /* keeps a template of the state directory from being removed; -1: a directory
		      */
	char digest[TEMPLATE_HEX];
};

#define TEMPLATE_USE_NONE ((struct template_use){.root_fd = -1, .lock_fd = -1})

void templates_init(struct templates *t);
void templates_free(struct templates *t);

/*
 * Take the template @rootfs: a name, or a directory of which @given tells digest and stamp, as root
 * read them. 0, or -errno with a fault: there is none, it has changed, ...
 */
int templates_take(struct templates *t, const char *state, const char *rootfs, const json_t *given,
		   struct template_use *ret_use, struct fault *f);
/* Twice is once. What it was stays known. */
void template_use_end(struct template_use *use);
