/*
 * What may be bound as /workspace: a directory that a session may write, so none that holds what
 * vitrine keeps, or that lies in it.
 */
#pragma once

#include "fault.h"

#include <stdbool.h>
#include <stddef.h>

struct kept_place {
	const char *path; /* a directory */
	bool whole;	  /* nothing below it may be a workspace either */
};

/*
 * Refuse @path if it is one of the @count directories @kept, above one of them, or below one that
 * is kept whole; links on the way are followed. What cannot be opened is left to whoever binds it.
 * 0 or -EINVAL with a fault.
 */
int workspace_check(const char *path, const struct kept_place *kept, size_t count, struct fault *f);
