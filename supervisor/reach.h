/* The way to a session that is alive. */
#pragma once

#include "fault.h"
#include "record/store.h"

#include <jansson.h>

struct reach_options {
	const char *state, *socket; /* NULL: the default */
};

/*
 * Which session @what is (an id, the beginning of one, a name, or last), and a connection to its
 * daemon, owned by the caller. Root finds it by its record, others ask the daemon. 0 or -errno with
 * a fault.
 */
int reach_session(const struct reach_options *o, const char *what,
		  char ret_id[SESSION_ID_LENGTH + 1], int *ret_socket, struct fault *ret_fault);

/* A message (its reference is taken) and its answer, owned by the caller. 0, -EREMOTEIO (refused)
 * or -errno with a fault. */
int reach_ask(int socket, json_t *message, json_t **ret_answer, struct fault *ret_fault);
