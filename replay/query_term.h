/*
 * One term of a query: what it looks at, and the forms that its value can be read as.
 */
#pragma once

#include "query.h"

#define TERM_FIELDS_MAX 16

enum subject {
	SUBJECT_TEXTS, /* every text of the event */
	SUBJECT_FIELDS,
	SUBJECT_KIND,
	SUBJECT_SEQ,
	SUBJECT_TIME,
	SUBJECT_ATTACK, /* the tags of the event */
};

#define WILD_ANY 256 /* any number of bytes */
#define WILD_ONE 257

/* A text with wildcards: bytes, WILD_ANY and WILD_ONE. */
struct pattern {
	const uint16_t *codes; /* in the query's pool */
	size_t count;
	bool ignore_case;
};

bool pattern_match(const struct pattern *p, struct bytes text);

struct range {
	bool given;
	__int128 low, high; /* both included */
};

struct network {
	int family; /* 0: none */
	uint8_t address[16];
	unsigned int bits;
};

struct term {
	enum subject subject;
	uint16_t fields[TERM_FIELDS_MAX];
	size_t field_count;
	bool any; /* the field has to be there, that is all */
	bool is_part;
	struct pattern pattern;
	struct range range;
	bool has_truth, truth;
	struct network network;
	bool kinds[EVENT_KIND_COUNT];
	struct moment since, until;
	bool after, before; /* the moment itself does not count */
};

/* A value as the lexer found it. */
struct term_value {
	const char *text;      /* without quotes and backslashes; NUL-terminated */
	const uint16_t *codes; /* room for two more around them, before and behind */
	size_t count;
	size_t position;
};

/* Look up @name and set what the term looks at. False: there is no such field. */
bool term_set_subject(struct term *t, const char *name);

/* Read @value in every form that the subject's fields can have. NULL, or why none fits. */
const char *term_set_value(struct term *t, const struct term_value *value);

bool term_match(const struct term *t, const struct origin *origin, const struct event *e);

/* As query_can_match. */
bool term_can_match(const struct term *t, const struct grams *g);
