/* What a client asks for of one command, checked: from here on it is of the right shape and size.
 */
#pragma once

#include "fault.h"
#include "limit_settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What the session gives to each of its commands. */
struct exec_ground {
	const char *user; /* whose the command is, unless it asks for another; static */
	bool has_workspace;
	char *const *env;			   /* NULL-terminated, borrowed */
	const json_t *limits;			   /* of each command; borrowed */
	const struct limit_values *session_limits; /* no command may have more; borrowed */
	bool may_limit; /* a request may say its command's own: else they are the session's */
};

struct exec_request {
	char **argv; /* owned, NULL-terminated, not empty */
	char **env;  /* owned, NULL-terminated: the environment but for secrets, "NAME=value" */
	char *cwd;   /* owned */
	const char *user; /* static */
	bool tty;
	uint16_t columns, rows;
	json_t *limits_given; /* owned: as the record has them */
	struct limit_values limits;
};

/*
 * Check what @body says of a command.
 * 0, -EINVAL with a fault ("bad_request" or "bad_setting"), or -ENOMEM.
 */
int exec_request_parse(const json_t *body, const struct exec_ground *ground,
		       struct exec_request *ret_request, struct fault *ret_fault);
void exec_request_free(struct exec_request *r);

/* Bytes without NUL as text. 0 or -errno. */
int exec_request_text(const json_t *value, char **ret_text);
/* Put the variables of @env, an object or NULL, into the environment *@list. 0 or -errno with a
 * fault. */
int exec_request_add_env(const json_t *env, char ***list, struct fault *ret_fault);
