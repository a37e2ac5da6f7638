/*
 * What was done with the records of a host (record/acts.h), as a stream that goes on from a place:
 * each act in the order of the ledger, with the text that the ledger commits to, as it stands in
 * the file of acts. One whose text is gone is told in its place, as a `gap` of the class acts.
 */
#pragma once

#include "cursor.h"

#include "project/projection.h"

#include "../supervisor/record/ledger.h"

struct deeds;

/* Of the state directory above @sessions_fd (borrowed), from @place on. 0 or -ENOMEM. */
int deeds_new(int sessions_fd, const struct cursor_acts *place, struct deeds **ret_deeds);
void deeds_free(struct deeds *d);

struct deed {
	const char *session; /* that it is about; "-": all */
	const struct session_facts *facts;
	struct event *event; /* its number is 0 */
};

/* The next one, valid until the next call; false: there is none now. */
bool deeds_next(struct deeds *d, struct deed *ret_deed);

/* Where it goes on: all before was given. */
const struct cursor_acts *deeds_place(const struct deeds *d);
