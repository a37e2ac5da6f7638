/*
 * Keys of a configuration, as tables: what is accepted, what an error says is allowed and the
 * defaults all come from the rows. A sink declares its own keys beside those that all sinks have.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum setting_type {
	SETTING_NAME,	/* 1 to 64 letters, digits, '.', '_' and '-', not beginning with a dot */
	SETTING_TEXT,	/* 1 to 1024 bytes without control characters */
	SETTING_PATH,	/* an absolute path */
	SETTING_URL,	/* http:// or https:// and a host */
	SETTING_CHOICE, /* one of .choices */
	SETTING_NUMBER, /* an integer from .min to .max */
	SETTING_BOOL,
	SETTING_TEXTS,	/* an array of texts; where .choices is set, each has to be one of them */
	SETTING_SECRET, /* {"file": PATH} or {"env": NAME} */
	SETTING_SINKS,	/* an array of objects, checked elsewhere */
};

struct setting {
	const char *name; /* NULL closes a table */
	enum setting_type type;
	const char *otherwise; /* default, as JSON text; NULL: absent */
	const char *const *choices;
	int64_t min, max;
	bool is_required;
	const char *doc; /* half a sentence */
};

#define SETTING_FAULT_TEXT 1024

struct setting_fault {
	char key[128];		       /* what is wrong is at this key; "" where it is the whole */
	char text[SETTING_FAULT_TEXT]; /* "KEY: VALUE: what is allowed" */
};

/*
 * Check that each key of @object is in one of the @tables (closed by NULL) and has a value that it
 * allows, and that none that is required is missing. 0 or -EINVAL with a fault.
 */
int settings_check(const struct setting *const *tables, const json_t *object,
		   struct setting_fault *ret_fault);

/* Put the default of each key that is not there. 0 or -ENOMEM. */
int settings_complete(const struct setting *const *tables, json_t *object);

/* Values of a checked and completed object. Texts are NULL where there is none. */
const char *setting_text(const json_t *object, const char *name);
int64_t setting_number(const json_t *object, const char *name);
bool setting_bool(const json_t *object, const char *name);

/*
 * Read the secret that @name points to, without its last end of line. *ret_secret is NULL where the
 * key is absent; else it is owned by the caller, who wipes it. 0, -EINVAL with a fault (unset,
 * unreadable, empty, larger than 64 KiB, or with a control character in it) or -ENOMEM.
 */
int setting_secret(const json_t *object, const char *name, char **ret_secret,
		   struct setting_fault *ret_fault);

/* Fill @f. Returns -EINVAL. */
int setting_fault_set(struct setting_fault *f, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
