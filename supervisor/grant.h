/*
 * What users other than root may ask a daemon for: `users` of its configuration, an object of
 * "NAME", "@GROUP" or "*" to what those are granted. The first row that a user belongs to counts.
 */
#pragma once

#include "session_request.h"
#include "setting_types.h"

#include <sys/socket.h>

#define GRANT_ROOT_UID 0

struct grant {
	const json_t *row;	  /* borrowed from the configuration; NULL: all, for root */
	uint64_t sessions;	  /* alive at once, of this user */
	struct limit_values most; /* of each limit; 0: as the user likes */
	bool net_host, root, workspace, seccomp, record;
	gid_t *groups; /* owned; the user's, as the kernel has them */
	size_t group_count;
};

/*
 * What the user at the other end of @socket is granted. 0, -EPERM with a fault ("forbidden") that
 * says why nothing is, or -errno.
 */
int grant_find(const json_t *users, int socket, const struct ucred *who, struct grant *ret_grant,
	       struct fault *ret_fault);
void grant_free(struct grant *g);

/* Put the limits of the row under those that @given, a policy, sets itself, and its tenant. 0,
 * -EPERM with a fault (the policy asks for more than is granted) or -ENOMEM. */
int grant_apply(const struct grant *g, json_t *given, struct fault *ret_fault);

/* Whether @who may have what the request asks for. 0, or -EPERM with a fault that names it. */
int grant_check(const struct grant *g, const struct ucred *who, const struct session_request *r,
		struct fault *ret_fault);

/* What a row's "allow" may name. */
struct grant_option {
	const char *name;
	size_t offset; /* of its bool in struct grant */
	const char *doc;
	bool otherwise; /* granted by a row that says nothing of it */
};
#define GRANT_OPTIONS 5
extern const struct grant_option grant_options[GRANT_OPTIONS];

/* For the table of types of settings (grant_settings.c). */
bool grant_settings_check(const struct setting *s, struct setting_place *p);
json_t *grant_settings_schema(const struct setting *s);
extern const char grant_settings_allowed[];
