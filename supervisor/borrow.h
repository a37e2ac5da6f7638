/*
 * Who may not read the state directory reads the records of his own sessions where a vitrined
 * serves it: they are borrowed (mirror.h) into a directory below $TMPDIR, and the command reads
 * there. A process of its own goes on copying what still runs, and removes all of it in the end,
 * however the command ends.
 */
#pragma once

#include "record/command.h"

struct borrowed;

/*
 * Borrow what @c is about to read, if it has to be, and let its --state be the copy. *ret_borrowed
 * stays NULL where nothing was. 0 to go on, or the exit status; standard error says why.
 */
int borrow(const struct command *c, void *values, int argument_count, char **arguments,
	   struct borrowed **ret_borrowed);
/* Remove the copy. NULL is allowed. */
void borrow_end(struct borrowed *b);
