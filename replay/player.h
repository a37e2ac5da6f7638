/*
 * Reads a session's journal once and tells a view of every record, in order; shows damage in its
 * place and goes on behind it; says at the end how the record stopped.
 */
#pragma once

#include "session.h"
#include "view.h"

struct player {
	const char *called; /* "vitrine replay", for messages on standard error */
	const struct view *view;
	const struct filter *filter;
	struct view_options options; /* session is filled in */
	bool follow;		     /* go on until the session has ended */
	bool checkpoints;	     /* tell of them too, in their place */
};

/* Play the open session @s, which may get a newer manifest. The exit status: 0, or 1 if something
 * went wrong or the record is not whole; standard error says so. */
int player_play(const struct player *player, struct session *s);

/* Open session @what below @state, and play it. */
int player_run(const struct player *player, const char *state, const char *what);
