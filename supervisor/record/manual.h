/*
 * What a program says about itself, derived from its tables of commands and options.
 */
#pragma once

#include "command.h"

/* "usage: vitrine ps [--state DIR] ..." on one line, for after an error. */
void manual_write_usage(FILE *out, const char *called, const struct command *c);

/* The help of one command, and of a program. */
void manual_write_command(FILE *out, const char *called, const struct command *c);
void manual_write_program(FILE *out, const struct program *p);

/* Manual pages in roff. @program may be NULL where the command is the whole program. */
void manual_write_command_page(FILE *out, const struct program *p, const struct command *c,
			       int section);
void manual_write_program_page(FILE *out, const struct program *p, int section);

/* A completion script for bash. */
void manual_write_completion(FILE *out, const struct program *p);
