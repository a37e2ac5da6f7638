/* What a client asks for with session.run, checked: from here on it is of the right shape and size.
 */
#pragma once

#include "exec_request.h"
#include "policy.h"
#include "session_secrets.h"

#include <stdbool.h>
#include <stdint.h>

struct grant;

struct session_request {
	char *name; /* owned; NULL: none */
	struct policy policy;
	char **env; /* owned, NULL-terminated: what each command gets, "NAME=value"; NULL: nothing
		     */
	bool has_command; /* else it lives until it is ended */
	struct exec_request command;
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

/* What commands get of the session; borrowed of @r. */
struct exec_ground session_request_ground(const struct session_request *r);
