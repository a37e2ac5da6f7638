/*
 * JSON objects whose keys are declared in a table: policies and the daemon's configuration. What is
 * accepted, what an error says is allowed, the defaults and the published schema all come from the
 * rows.
 */
#pragma once

#include "fault.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum setting_type {
	SETTING_TEXT,		/* a string of 1 to .max bytes without control characters */
	SETTING_NAME,		/* a string of 1 to .max letters, digits, '.', '_' and '-' */
	SETTING_PATH,		/* an absolute path */
	SETTING_CHOICE,		/* one of .choices */
	SETTING_NUMBER,		/* an integer from .min to .max */
	SETTING_GLOBS,		/* an array of at most .max patterns */
	SETTING_ROOTFS,		/* "host", a name of at most .max bytes, or an absolute path */
	SETTING_CALLS,		/* an array of at most .max names of system calls */
	SETTING_ALLOWED_CALLS,	/* the same, of those that may be allowed */
	SETTING_ENV,		/* an object of at most .max variables */
	SETTING_LABELS,		/* an object of at most .max labels */
	SETTING_LIMITS,		/* an object of limits, see limit_settings.h */
	SETTING_COMMAND_LIMITS, /* of those that a command can have of its own */
	SETTING_LISTEN,		/* where metrics are served, see metrics/listen.h */
	SETTING_USERS,		/* an object of grants, see grant.h */
	SETTING_RULES,		/* an array of at most .max objects, see redact/rules.h */
	SETTING_SECRETS,	/* an array of at most .max secrets, see secret_setting.h */
};

struct setting {
	const char *name; /* NULL closes a table */
	enum setting_type type;
	const char *const *choices;
	int64_t min, max;
	const char *otherwise; /* default, as JSON text; NULL: absent */
	const char *doc;       /* a sentence */
};

/*
 * Read the @size bytes of @text as an object of settings. @file is its name in errors, which read
 * "FILE:LINE: KEY: VALUE: what is allowed". Keys that are not given stay absent. 0, -EINVAL (see
 * @ret_fault) or -ENOMEM.
 */
int settings_parse(const struct setting *table, const char *file, const char *text, size_t size,
		   json_t **ret_values, struct fault *ret_fault);

/* Read FILE, at most 1 MiB, and parse it. 0 or -errno, always with a fault. */
int settings_read(const struct setting *table, const char *file, json_t **ret_values,
		  struct fault *ret_fault);

/* Check an object that came in a message. 0 or -EINVAL with a fault that names key, value and what
 * is allowed. */
int settings_check(const struct setting *table, const json_t *values, struct fault *ret_fault);

/* Put the default of each key that @values has not. 0 or -ENOMEM. */
int settings_complete(const struct setting *table, json_t *values);

/* The JSON Schema (2020-12) of a table; NULL when out of memory. */
json_t *settings_schema(const struct setting *table, const char *id, const char *title);
