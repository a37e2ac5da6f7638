/*
 * Projections: what a record looks like to somebody else's system.
 *
 * A projection is a pure function of one record and of what its session said about itself at the
 * start. Each carries the whole record: what its schema has no place for goes out beside it, in
 * canonical form. To add one, write its file and list it in projection.c.
 */
#pragma once

#include "../../supervisor/record/json.h"

#define FACT_ROOM 256

/* What session.start said; empty where it did not, or was never read. */
struct session_facts {
	char host[FACT_ROOM], boot_id[FACT_ROOM], version[FACT_ROOM], name[FACT_ROOM],
		tenant[FACT_ROOM];
};

/* Take what @e, a session.start, says. Other kinds change nothing. */
void session_facts_take(struct session_facts *facts, const struct event *e);

struct projected {
	const char *session;
	const struct session_facts *facts;
	const struct event *event;
	struct json_buffer *scratch; /* room that is kept from record to record */
};

#define PROJECTED_UID_ROOM 64

/*
 * The id of the record: "<session>-<seq>", the same for the same record, always. A checkpoint that
 * an exporter adds is no record of the journal: it has the number 0 and is "<session>-0-<size of
 * its tree>"; nor is an act, which has the number 0 and is "<session>-0-<its time>-<since boot>",
 * both in ns. Returns the length.
 */
size_t projected_uid(const struct projected *p, char ret_uid[PROJECTED_UID_ROOM]);

struct projection {
	const char *name;
	const char *doc;
	/* Append one line, "\n" included. 0 or -ENOMEM; nothing is appended then. */
	int (*write)(struct json_buffer *out, const struct projected *p);
};

extern const struct projection projection_jsonl, projection_ocsf, projection_ecs, projection_otlp,
	projection_cef;

/* All of them, closed by NULL, and their names likewise. */
extern const struct projection *const projections[];
extern const char *const projection_names[];

/* The projection called @name, or NULL. */
const struct projection *projection_find(const char *name);
