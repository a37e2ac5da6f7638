/*
 * Keys of a configuration, as tables: what is accepted, what an error says is allowed and the
 * defaults all come from the rows. A sink declares its own keys beside those that all sinks have.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum knob_type {
	KNOB_NAME,   /* 1 to 64 letters, digits, '.', '_' and '-', not beginning with a dot */
	KNOB_TEXT,   /* 1 to 1024 bytes without control characters */
	KNOB_PATH,   /* an absolute path */
	KNOB_URL,    /* http:// or https:// and a host */
	KNOB_CHOICE, /* one of .choices */
	KNOB_NUMBER, /* an integer from .min to .max */
	KNOB_BOOL,
	KNOB_TEXTS,  /* an array of texts; where .choices is set, each has to be one of them */
	KNOB_LISTEN, /* where metrics are served, see supervisor/metrics/listen.h */
	KNOB_SECRET, /* {"file": PATH} or {"env": NAME} */
	KNOB_SINKS,  /* an array of objects, checked elsewhere */
};

struct knob {
	const char *name; /* NULL closes a table */
	enum knob_type type;
	const char *otherwise; /* default, as JSON text; NULL: absent */
	const char *const *choices;
	int64_t min, max;
	bool is_required;
	const char *doc; /* half a sentence */
};

#define KNOB_FAULT_TEXT 1024

struct knob_fault {
	char key[128];		    /* what is wrong is at this key; "" where it is the whole */
	char text[KNOB_FAULT_TEXT]; /* "KEY: VALUE: what is allowed" */
};

/*
 * Check that each key of @object is in one of the @tables (closed by NULL) and has a value that it
 * allows, and that none that is required is missing. 0 or -EINVAL with a fault.
 */
int knobs_check(const struct knob *const *tables, const json_t *object,
		struct knob_fault *ret_fault);

/* Put the default of each key that is not there. 0 or -ENOMEM. */
int knobs_complete(const struct knob *const *tables, json_t *object);

/* Values of a checked and completed object. Texts are NULL where there is none. */
const char *knob_text(const json_t *object, const char *name);
int64_t knob_number(const json_t *object, const char *name);
bool knob_bool(const json_t *object, const char *name);

/*
 * Read the secret that @name points to, without its last end of line. *ret_secret is NULL where the
 * key is absent; else it is owned by the caller, who wipes it. 0, -EINVAL with a fault (unset,
 * unreadable, empty, larger than 64 KiB, or with a control character in it) or -ENOMEM.
 */
int knob_secret(const json_t *object, const char *name, char **ret_secret,
		struct knob_fault *ret_fault);

/* Fill @f. Returns -EINVAL. */
int knob_fault_set(struct knob_fault *f, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
