/*
 * Reading a record is itself recorded where a vitrined serves its state directory: the command says
 * what it is about to read, and reads only when that is written down.
 */
#pragma once

#include "record/command.h"

#include <stdbool.h>

/* Where a serving vitrined is found from its state directory: a symbolic link to its socket. */
#define SERVED_LINK "served"

/* The text of --state, or NULL: the command has none. */
const char *announce_state(const struct command *c, const void *values);
/* How many of the first arguments name records, and whether one is rather the path of a bundle or
 * a directory. */
int announce_named(const struct command *c);
bool announce_is_path(const char *what);
/* Connect to the vitrined that serves the state directory. -ENOENT: none does. */
int announce_connect(int state_fd, int *ret_socket);
/* The command as it was given, cut where there is no room. */
void announce_query(const struct command *c, int count, char **arguments, char *text, size_t room);

/* Say it. 0 to go on, or the exit status. */
int announce_reading(const struct command *c, const void *values, int argument_count,
		     char **arguments);
