/*
 * The secrets of one session, for as long as it lives: in locked memory that is left out of core
 * dumps, wiped when they are freed.
 */
#pragma once

#include "fault.h"
#include "redact/redact.h"
#include "secret_setting.h"

#define SESSION_SECRETS_MAX 256
#define SESSION_SECRET_MIN REDACT_SECRET_MIN
#define SESSION_SECRET_MAX (64 * 1024)

#define SECRET_NAME_MOST 256
#define SECRET_PATH_ROOM 288

struct session_secret {
	char name[SECRET_NAME_MOST + 1];
	const char *entry;    /* "NAME=value", in the vault; of a file "NAME_FILE=path" */
	const uint8_t *value; /* in the vault, with a NUL behind it */
	size_t size;
	struct secret_delivery delivery;
	char path[SECRET_PATH_ROOM]; /* of a file: its path in the session */
};

struct session_secrets {
	struct session_secret *items;
	size_t count;
	uint8_t *vault;
	size_t vault_size;
	json_t *settings; /* owned: what deliveries point into */
};

/*
 * Copy what a request brings: @values [{name, value}], delivered as @settings (of the policy) say
 * of that name, else as environment variables. 0, -EINVAL with a fault, or -errno.
 */
int session_secrets_read(const json_t *values, const json_t *settings,
			 struct session_secrets *ret_secrets, struct fault *ret_fault);
void session_secrets_free(struct session_secrets *s);

/* For the recorder: [{name, value}]. The caller's, who has it wiped by freeing it. NULL: no memory.
 */
json_t *session_secrets_values(const struct session_secrets *s);
/* For a redactor: an array of .count, values not copied; NULL: no memory. */
struct redact_secret *session_secrets_list(const struct session_secrets *s);
/*
 * The environment @env with what the secrets add to it, in place of variables of these names; the
 * strings are borrowed of both. NULL: no memory.
 */
const char **session_secrets_env(const struct session_secrets *s, char *const *env);
