/*
 * A session's record in the forms of other tools that tell it in time: views as those of
 * `vitrine replay`, each a function of the record alone.
 */
#pragma once

#include "../view.h"

struct format {
	const char *name;
	const char *doc;
	const struct view *view;
};

/* All of them, closed by one without a name; and their names, closed by NULL. */
extern const struct format formats[];
extern const char *const format_names[];

extern const struct view view_perfetto, view_timesketch, view_timesketch_csv, view_asciicast,
	view_asciicast_v2;
