/*
 * A way to show a session. The replay command reads the journal once and tells its view of every
 * record in order; a view keeps no more than it needs.
 */
#pragma once

#include "../supervisor/record/event.h"
#include "../supervisor/record/reader.h"
#include "filter.h"
#include "line.h"

struct view_options {
	const char *session; /* id */
	enum color_choice color;
	FILE *out, *errors;
	const void *asked; /* what else a view wants to know; its own type */
};

/* How the record stopped. */
enum view_end {
	VIEW_ENDED,   /* session.end was read */
	VIEW_RUNNING, /* the session goes on */
	VIEW_LOST,    /* its supervisor died */
	VIEW_TORN,    /* it ended, but the record of that is missing */
};

struct view {
	/* Make the view's state. 0 or -errno. */
	int (*begin)(const struct view_options *options, void **ret_state);
	/* One record; @wanted: the filter lets it pass. The event is valid during the call. 0 or
	 * -errno. */
	int (*event)(void *state, const struct event *e, const struct origin *origin, bool wanted);
	/* Records are damaged here. NULL: the view has no place for that. */
	void (*damage)(void *state, const struct reader_damage *damage);
	/* No more records. 0 or -errno. */
	int (*end)(void *state, enum view_end how);
	void (*free)(void *state);
};

extern const struct view view_timeline;
extern const struct view view_tree;
extern const struct view view_tree_json;
extern const struct view view_json;
extern const struct view view_raw;

/* What @how means for the person who reads; NULL for VIEW_ENDED. */
const char *view_end_text(enum view_end how);
