/*
 * Writes JSON that is not an event, safe for any terminal as the canonical lines are.
 */
#pragma once

#include "../supervisor/record/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The first error sticks; document_finish returns it. */
struct document {
	struct json_buffer buffer;
	bool wants_comma;
	int error;
};

/* In an array @key is NULL. @kind: '{' or '['. */
void document_open(struct document *d, const char *key, char kind);
void document_close(struct document *d, char kind);
void document_u64(struct document *d, const char *key, uint64_t number);
void document_bool(struct document *d, const char *key, bool value);
void document_null(struct document *d, const char *key);
/* null for NULL. */
void document_string(struct document *d, const char *key, const char *text);
/* A text that is no UTF-8 is shown with U+FFFD and, where it has a key, carried exactly in a
 * sibling <key>_b64. */
void document_text(struct document *d, const char *key, struct bytes text);
/* JSON text that is known to be whole, e.g. a line of json_write_event; an end of line is left out.
 */
void document_raw(struct document *d, const char *key, struct bytes json);
/* A wall clock, as events have it. null for 0. */
void document_time(struct document *d, const char *key, uint64_t wall_ns);

/* Write what is there so far to @out, so that a long document takes no memory. */
void document_flush(struct document *d, FILE *out);

/* Write it and an end of line to @out, and free it. 0 or -errno. */
int document_finish(struct document *d, FILE *out);
