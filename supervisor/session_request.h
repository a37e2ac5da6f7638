/* What a client asks for with session.run, checked: from here on it is of the right shape and size.
 */
#pragma once

#include "policy.h"
#include "session_secrets.h"

#include <stdbool.h>
#include <stdint.h>

struct grant;

struct session_request {
	char *name; /* owned; NULL: none */
	struct policy policy;
	char **argv; /* owned, NULL-terminated, not empty */
	char **env;  /* owned, NULL-terminated: the environment but for secrets, "NAME=value" */
	char *cwd;   /* owned */
	bool tty;
	uint16_t columns, rows;
	int workspace_fd; /* owned; as the client opened it; -1: by its name */
	json_t *template; /* owned: {digest, stamp} of a directory as root file system; NULL: none
			   */
	struct session_secrets secrets;
};

/*
 * Check @body and build the request; @grant is what its sender may have. @workspace_fd: the
 * directory of its workspace, taken over in any case; -1: none came. 0, -EINVAL with a fault
 * ("bad_request" or "bad_setting"), -EPERM ("forbidden"), or -ENOMEM.
 */
int session_request_parse(const json_t *body, const struct grant *grant, int workspace_fd,
			  struct session_request *ret_request, struct fault *ret_fault);
void session_request_free(struct session_request *r);
