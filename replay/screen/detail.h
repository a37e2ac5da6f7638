/*
 * One record, value by value, each with the term of the filter language that finds its like.
 */
#pragma once

#include "../message.h"
#include "../notes.h"

struct detail_row {
	const char *label; /* static text; "": goes on from the row above */
	char *text;	   /* owned; fit for a terminal */
	char *term;	   /* owned; NULL: nothing to look for */
};

struct detail {
	uint64_t seq; /* 0: nothing is shown */
	int width;
	struct detail_row *rows;
	size_t count, room;
	size_t selected, top;
};

/* Fill @d with @e, as lines of @width columns. 0 or -ENOMEM. */
int detail_fill(struct detail *d, struct message *m, const struct notes *notes,
		const struct event *e, int width);
/* The same for a record that cannot be read. */
int detail_fill_unreadable(struct detail *d, uint64_t seq, const char *why);
void detail_clear(struct detail *d);

/* "path:\"/etc/passwd\"": the term that is true for records that have this value. NULL: none, or
 * out of memory. */
char *term_for(const char *field, struct bytes value);
