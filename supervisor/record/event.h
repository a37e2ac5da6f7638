/*
 * An event: one fact about a session, as a kind and a list of typed values.
 *
 * event.def is the only place where kinds and fields are declared; the enums here, the codec, JSON
 * both ways, the schema and the redaction class of each field are all derived from it. An event
 * owns nothing: values point into the wire record, a scratch buffer or a journal block, and live as
 * long as those do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A span of memory that somebody else owns. Session-made bytes may hold anything, NUL included. */
struct bytes {
	const void *data;
	size_t size;
};

enum field_type {
	FIELD_TYPE_U64,	  /* unsigned integer */
	FIELD_TYPE_I64,	  /* signed integer */
	FIELD_TYPE_BOOL,  /* true or false */
	FIELD_TYPE_TEXT,  /* bytes shown as text; what is not UTF-8 gets a sibling <field>_b64 */
	FIELD_TYPE_TEXTS, /* array of texts: the items back to back, each closed by a NUL */
	FIELD_TYPE_MAP,	  /* object of texts: key NUL value NUL ... */
	FIELD_TYPE_JSON,  /* a JSON value that the supervisor itself wrote */
};

/* What the redaction stage has to look for in a field. A number needs nothing; every text says what
 * it is. */
enum redact_class {
	REDACT_NEVER, /* our own words and numbers: enum names, keys, digests. Only the secrets that
		       * the session was given are looked for in its texts */
	REDACT_TEXT,  /* free text of a session */
	REDACT_PATH,  /* a path or file name */
	REDACT_ARGV,  /* an argument vector: flags, positions and user:password forms matter */
	REDACT_ENV,   /* names and values of an environment */
	REDACT_OUTPUT, /* stream data: a secret may go on in the next record */
	REDACT_HOST,   /* host names, DNS labels, SNI */
	REDACT_LABEL,  /* names, tenants and labels that a caller gave */
	REDACT_JSON,   /* a policy or manifest text */
};

/* Classes that are counted apart in session.end. The first four are numbered in the kernel. */
#define EVENT_CLASSES(CLASS)                                                                       \
	CLASS(process)                                                                             \
	CLASS(file)                                                                                \
	CLASS(net)                                                                                 \
	CLASS(dns)                                                                                 \
	CLASS(policy)                                                                              \
	CLASS(output)                                                                              \
	CLASS(session)

enum event_class {
#define CLASS(name) EVENT_CLASS_##name,
	EVENT_CLASSES(CLASS)
#undef CLASS
		EVENT_CLASS_COUNT
};

enum event_kind {
	EVENT_KIND_NONE,
#define EVENT_KIND(id, ...) EVENT_##id,
#define EVENT_FIELD(...)
#include "event.def"
#undef EVENT_KIND
#undef EVENT_FIELD
	EVENT_KIND_COUNT
};

enum event_field {
	FIELD_NONE,
#define EVENT_KIND(...)
#define EVENT_FIELD(id, ...) FIELD_##id,
#include "event.def"
#undef EVENT_KIND
#undef EVENT_FIELD
	FIELD_COUNT
};

struct field_info {
	const char *name; /* JSON name; a dot means one level of object */
	enum field_type type;
	enum redact_class redact;
	const char *doc;
};

struct kind_info {
	const char *name; /* JSON name, e.g. "process.exec" */
	enum event_class class;
	const char *doc;
	const uint16_t *fields; /* enum event_field, in the order of the JSON line */
	size_t field_count;
};

/* Both tables are indexed by the enums above. Entry 0 is empty. */
extern const struct field_info field_table[FIELD_COUNT];
extern const struct kind_info kind_table[EVENT_KIND_COUNT];
extern const char *const event_class_names[EVENT_CLASS_COUNT];

/* The kind whose JSON name is @name, EVENT_KIND_NONE if there is none. Likewise for fields. */
enum event_kind kind_by_name(const char *name);
enum event_field field_by_name(const char *name);

#define EVENT_DIGEST_SIZE 32

/* A value that was cut says how long it was and, as an HMAC under the deployment key, what it was.
 */
struct event_cut {
	uint64_t full_length; /* in the unit of the value: bytes */
	bool has_digest;
	uint8_t digest[EVENT_DIGEST_SIZE];
};

struct event_value {
	uint16_t field; /* enum event_field */
	bool is_cut;
	union {
		uint64_t u64; /* U64, BOOL */
		int64_t i64;
		struct bytes bytes; /* TEXT, TEXTS, MAP, JSON */
	};
	struct event_cut cut;
};

#define EVENT_VALUES_MAX 64
#define EVENT_FIELD_WORDS ((FIELD_COUNT + 63) / 64)

struct event {
	uint16_t kind;	  /* enum event_kind */
	uint64_t seq;	  /* given by journal_append; gapless within the session */
	uint64_t time_ns; /* wall clock, ns since 1970 */
	uint64_t boot_ns; /* CLOCK_BOOTTIME */
	size_t count;
	uint64_t present[EVENT_FIELD_WORDS]; /* a bit for each field that has a value */
	struct event_value values[EVENT_VALUES_MAX];
};

/* True if the row of @kind lists @field: only such a field can be put. */
bool kind_has_field(enum event_kind kind, enum event_field field);

/* Start an event of @kind with no values. */
void event_init(struct event *e, enum event_kind kind, uint64_t time_ns, uint64_t boot_ns);

/*
 * Put a value; setting a field twice replaces it. A field that the kind does not list, a wrong
 * type, or a 65th value is a programming error (assert). event_put_text with a NULL string and
 * event_put_bytes with NULL data do nothing: unknown is absent. event_put_bytes serves TEXT, TEXTS,
 * MAP and JSON; it borrows the memory.
 */
void event_put_u64(struct event *e, enum event_field field, uint64_t value);
void event_put_i64(struct event *e, enum event_field field, int64_t value);
void event_put_bool(struct event *e, enum event_field field, bool value);
void event_put_text(struct event *e, enum event_field field, const char *text);
void event_put_bytes(struct event *e, enum event_field field, const void *data, size_t size);
/* Put a value of another event, cut or not. */
void event_put_value(struct event *e, const struct event_value *value);
/* Mark the value of @field as cut; it must have been put. @digest may be NULL. */
void event_mark_cut(struct event *e, enum event_field field, uint64_t full_length,
		    const uint8_t *digest);

/* The value of @field, or NULL where the event has none. */
const struct event_value *event_get(const struct event *e, enum event_field field);
uint64_t event_u64(const struct event *e, enum event_field field, uint64_t otherwise);
/* The bytes of a text-like field; {NULL, 0} where the event has none. */
struct bytes event_bytes(const struct event *e, enum event_field field);

/* Walk TEXTS and MAP items: start with *cursor = 0; false at the end. */
bool bytes_next_item(struct bytes packed, size_t *cursor, struct bytes *ret_item);
