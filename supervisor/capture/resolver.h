/*
 * The other side of vitrine-names, inside that process: the root mounts of the sessions, and the
 * way from a directory's handle up to the root. What it meets was made by sessions.
 */
#pragma once

#include "names_wire.h"

#include <stddef.h>

struct resolver;

int resolver_new(struct resolver **ret_resolver);
void resolver_free(struct resolver *r);

/*
 * Answer one request. @fd rode along and is taken over (-1: none). The reply is written to
 * @reply, NAMES_REPLY_MAX bytes, and its size returned.
 */
size_t resolver_answer(struct resolver *r, const struct names_request *request, int fd,
		       void *reply);
