/*
 * The canonical JSON of an event: one object on one line, as `vitrine replay --json` prints it.
 */
#pragma once

#include "event.h"

#include <jansson.h>
#include <stddef.h>

/* A growing buffer that is kept from record to record, so that the steady state allocates nothing.
 */
struct json_buffer {
	char *text; /* owned; not NUL-terminated; json_buffer_free gives it back */
	size_t length;
	size_t room;
	bool failed; /* of no concern to callers: set and cleared within one call */
};

void json_buffer_free(struct json_buffer *buffer);

/*
 * Append the line of @e, "\n" included, to @buffer. Order: seq, session, time (RFC 3339, UTC, 9
 * decimals), boot_ns, kind, then the fields in the order of the kind's row. A TEXT that is not
 * valid UTF-8 is shown with U+FFFD for each bad byte and carried in a sibling <field>_b64; TEXTS
 * likewise, the sibling being an array with null for good items; the sibling of a MAP is the whole
 * packed map. A cut value is followed by <field>_truncated: true, <field>_length and, if known,
 * <field>_digest (lower-case hex). A number past 2^63 - 1, which most readers cannot hold, is a
 * string of digits. All characters that are not printable_code() are escaped, so that a line is
 * safe in any terminal and log. A JSON field that is not JSON (a bent journal) is shown as a
 * string. Returns 0 or -ENOMEM.
 */
int json_write_event(struct json_buffer *buffer, const char *session, const struct event *e);

/* Append an object of the session and the fields alone, as they stand in that line. 0 or -ENOMEM.
 */
int json_write_fields(struct json_buffer *buffer, const char *session, const struct event *e);

/* Append a quoted JSON string of @text, escaped as above (U+FFFD for bad bytes). 0 or -ENOMEM. */
int json_write_string(struct json_buffer *buffer, struct bytes text);
int json_write_raw(struct json_buffer *buffer, const char *text, size_t length);

/* Append a JSON value on one line, without blanks, strings escaped as above. 0 or -ENOMEM. */
int json_write_value(struct json_buffer *buffer, const json_t *value);

/* The same for a value that is there as text. -EINVAL, and nothing appended, if it is not JSON. */
int json_write_text(struct json_buffer *buffer, struct bytes json);

/*
 * Read one line of canonical JSON back. Values point into @arena, which json_arena_free releases
 * and json_read_event reuses. @ret_session gets a NUL-terminated copy in the arena. Returns 0,
 * -EINVAL (*ret_error says what is wrong, until the next use) or -ENOMEM. What json_write_event
 * wrote is read back equal.
 */
struct json_arena;
struct json_arena *json_arena_new(void);
void json_arena_free(struct json_arena *arena);
int json_read_event(struct json_arena *arena, const char *line, size_t length,
		    struct event *ret_event, const char **ret_session, const char **ret_error);

/*
 * Put the members of the object @fields into @e, which event_init has begun: the fields of its
 * kind, as in the canonical line (nested objects; "exe.path" as one name is taken too). Where the
 * line has a string that may not be UTF-8, {"b64": "..."} stands for it as well as the sibling
 * <field>_b64; null means absent. Values point into @arena, until its next use. Returns 0, -EINVAL
 * (an unknown field, a wrong type; json_arena_error says which) or -ENOMEM; @e is undefined then.
 */
int event_from_json(struct json_arena *arena, json_t *fields, struct event *e);

/* Why the last read failed, in words; valid until the arena's next use. */
const char *json_arena_error(const struct json_arena *arena);
