/*
 * All that a report says of a session, gathered in one pass over its journal; the pages that list
 * every event read it again. A report holds nothing that is not in the session's files and the keys
 * that it is verified with: no time of writing, no manifest. The same files give the same bytes.
 */
#pragma once

#include "changes.h"
#include "contacts.h"
#include "lanes.h"
#include "redactions.h"
#include "tally.h"
#include "tree.h"
#include "verify.h"
#include "view.h"

#define REPORT_KEPT_MAX 200	 /* refusals, gaps and damages that are told one by one */
#define REPORT_ROWS_MAX 20000	 /* of a table, and processes of the tree */
#define REPORT_EVENTS_MAX 200000 /* by default */

enum verdict_class {
	VERDICT_PLAIN, /* it ended, and nothing is missing or was refused */
	VERDICT_LOOK,  /* something was refused, or it failed */
	VERDICT_DOUBT, /* the record is not whole, has no end, or is not what was signed */
};

struct kept_list {
	struct kept items[REPORT_KEPT_MAX];
	size_t count;
	uint64_t left_out;
};

struct report;

/* What the view of a report finds in view_options.asked. */
struct report_request {
	int dir_fd; /* of the session; borrowed */
	uint64_t events_max;
	const struct verify_result *verified; /* NULL: it could not be tried; borrowed */
	int (*write)(const struct report *r, FILE *out);
};

struct report {
	const char *session;
	const struct report_request *request;
	FILE *out;
	struct origin origin;
	uint64_t last_seq;
	enum view_end how;
	struct actors *actors;
	struct tally *tally;
	struct tree *tree;
	struct changes *changes;
	struct contacts *contacts;
	struct redactions *redactions;
	struct lanes lanes;
	struct kept_list denied, holes; /* holes: gaps, and sensors lost */
	struct reader_damage damages[REPORT_KEPT_MAX];
	size_t damage_count;
};

enum verdict_class report_verdict(const struct report *r);
/* The verdict in words. */
void report_write_verdict(const struct report *r, FILE *out);

/* Tell @take of every event again, up to the last of the first pass, the request's events_max at
 * most. 0 or -errno. */
int report_each_event(const struct report *r,
		      int (*take)(void *state, const struct report *r, const struct event *e),
		      void *state);

/* Write it all. 0 or -errno. */
int report_write_html(const struct report *r, FILE *out);
int report_write_markdown(const struct report *r, FILE *out);
int report_write_json(const struct report *r, FILE *out);

extern const struct view view_report;

/* What the rows of the first part say, for every form: each writes to the pen and returns true, or
 * has nothing to say. */
struct report_row {
	const char *title;
	bool (*write)(const struct report *r, const struct pen *pen);
};

extern const struct report_row report_rows[]; /* closed by one without a title */
