/*
 * The policy of a session: what may be, what is watched and what is kept. A JSON file whose keys
 * are rows of policy_settings; the schema that we publish (docs/policy.schema.json) is made from
 * them.
 */
#pragma once

#include "limit_settings.h"
#include "sandbox/syscall_policy.h"
#include "settings.h"

#include <stdbool.h>

extern const struct setting policy_settings[];

/* The policy in force: complete, checked, and what of it the record holds. */
struct policy {
	json_t *values;	    /* owned; the texts below are borrowed from it */
	const char *net;    /* none, host */
	const char *rootfs; /* "host", name of a template, or directory */
	const char *user;
	const char *output; /* full, meta, none */
	const char *on_loss;
	const char *final;     /* full, meta, off */
	const char *workspace; /* NULL: none */
	const char *tenant;    /* NULL: none */
	const json_t *watch_reads, *env, *labels, *secrets, *seccomp_deny, *seccomp_allow,
		*redact_off, *redact_rules;
	bool redact_output;
	struct syscall_changes syscalls; /* seccomp_deny, seccomp_allow */
	uint64_t output_cap, disk_wait_s, ring_bytes;
	uint64_t final_bytes, final_files, final_s;
	struct limit_values limits, command_limits;
	const json_t *command_limits_given; /* as the record has them */
	char *recorded; /* owned: canonical JSON; of env only the names, sorted */
	char sha256[65];
};

/*
 * Make the policy in force from the keys that were given (borrowed) and the defaults. @env (may be
 * NULL) is the environment that the request adds to the policy's own. 0, -EINVAL with a fault, or
 * -ENOMEM.
 */
int policy_make(const json_t *given, const json_t *env, struct policy *ret_policy,
		struct fault *ret_fault);
void policy_free(struct policy *p);

/* The published schema; NULL when out of memory. */
json_t *policy_schema(void);
