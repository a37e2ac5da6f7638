/*
 * Reading a record is itself recorded where a vitrined serves its state directory: the command says
 * what it is about to read, and reads only when that is written down.
 */
#pragma once

#include "record/command.h"

/* Where a serving vitrined is found from its state directory: a symbolic link to its socket. */
#define SERVED_LINK "served"

/* What program.before wants: 0 to go on, or the exit status. */
int announce_reading(const struct command *c, const void *values, int argument_count,
		     char **arguments);
