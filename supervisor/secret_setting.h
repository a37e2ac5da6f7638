/*
 * What a policy says of a secret, and the option --secret: its name, where the client reads it, and
 * how the session's commands get it.
 */
#pragma once

#include "setting_types.h"

#include <sys/types.h>

#define SECRET_DIRECTORY "/run/secrets"

/* How commands get a secret. Texts are the setting's. */
struct secret_delivery {
	bool as_file;
	const char *path; /* below SECRET_DIRECTORY; NULL: the secret's name in it */
	mode_t mode;
	bool for_root;	  /* the file is the session's root's; else the agent's */
	const char *only; /* the one program that may open the file; NULL: all */
	uint64_t ttl_ms;  /* the file is there for so long; 0: as long as the session */
};

/* For the table of types of settings. */
bool secret_setting_check(const struct setting *s, struct setting_place *p);
json_t *secret_setting_schema(const struct setting *s);
extern const char secret_setting_allowed[];

/* Read a checked setting. */
void secret_setting_read(const json_t *secret, struct secret_delivery *ret_delivery);

/*
 * The setting that an option says: NAME=SOURCE[,KEY=VALUE...]. A source may hold commas. 0, or
 * -EINVAL with a fault.
 */
int secret_setting_option(const char *text, json_t **ret_secret, struct fault *ret_fault);
