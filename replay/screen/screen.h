/*
 * The full-screen replay: `vitrine replay` for a person at a terminal.
 */
#pragma once

#include "../session.h"

struct screen_options {
	const char *called; /* for messages on standard error */
	const char *query;  /* filter to begin with; NULL: none */
	const char *notes;  /* path of the file of notes */
};

/* Show @s until the person has enough. The exit status. */
int screen_run(struct session *s, const struct screen_options *options);
