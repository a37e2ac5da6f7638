/*
 * Nested JSON out of a table of rows, each a dotted path and where its value comes from.
 *
 * Rows of one object stand side by side. A row whose record has no such value writes nothing, and
 * an object of which no row has a value is not written. Each value that a row carried whole is
 * noted, so that what no row carried can follow in canonical form.
 */
#pragma once

#include "projection.h"

#include "../../supervisor/record/json_put.h"

enum shape_source {
	SHAPE_FIELD,  /* the value of .field, by its type */
	SHAPE_TEXT,   /* the same as a string: a number as its digits */
	SHAPE_WORD,   /* the literal .text, quoted */
	SHAPE_JSON,   /* the literal .text as it is */
	SHAPE_CALL,   /* what .call writes; false: nothing, and what it wrote is taken back */
	SHAPE_ARRAY1, /* the value of .field as the one member of an array */
};

struct shape_row {
	const char *path; /* NULL closes a list */
	enum shape_source source;
	uint16_t field; /* for SHAPE_CALL: without it the row says nothing; 0: it always does */
	const char *text;
	bool (*call)(struct json_buffer *out, const struct projected *p, uint16_t field);
};

struct shape {
	struct json_buffer *out;
	const struct projected *p;
	const char *open; /* path whose objects are open: its first .open_length bytes */
	size_t open_length;
	bool has_member;
	uint64_t carried[EVENT_FIELD_WORDS];
};

/* Begin an object in @out. */
void shape_begin(struct shape *s, struct json_buffer *out, const struct projected *p);

/* Write the members that @rows (may be NULL) say. */
void shape_rows(struct shape *s, const struct shape_row *rows);

/* Single members. */
void shape_word(struct shape *s, const char *path, const char *text);
void shape_u64(struct shape *s, const char *path, uint64_t number);

/*
 * Write, as the member @path, the canonical record without the values that were carried whole: an
 * object that begins with seq, session, time, boot_ns and kind. Values that were cut or are not
 * UTF-8 are in it again, with all that the canonical form says about them.
 */
void shape_rest(struct shape *s, const char *path);

/* End the object and the line; @start is the length of the buffer before it. 0 or -ENOMEM. */
int shape_end(struct shape *s, size_t start);

/* ---- values that several projections make ---- */

/* The id of the record: projected_uid. */
bool shape_put_uid(struct json_buffer *out, const struct projected *p, uint16_t field);

/* The argument vector as one line that a shell would take apart again. */
bool shape_put_command_line(struct json_buffer *out, const struct projected *p, uint16_t field);

/* What follows the last slash of a path; all of it where that is nothing. */
bool shape_put_base_name(struct json_buffer *out, const struct projected *p, uint16_t field);

/* RFC 3339 time of the record. */
bool shape_put_time(struct json_buffer *out, const struct projected *p, uint16_t field);
