/*
 * A capture of one session for tests: the last event that came out of it, as a line of JSON whose
 * time stands at 0, and how many came since they were last looked at.
 */
#pragma once

#include "../../supervisor/capture/capture.h"
#include "../../supervisor/record/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct capture_world {
	struct capture *capture;
	struct json_buffer line;
	unsigned int events;
};

static inline int capture_world_event(void *context, struct event *e)
{
	struct capture_world *w = context;

	e->time_ns = 0;
	w->line.length = 0;
	w->events++;
	assert_int_equal(json_write_event(&w->line, "0123456789ab", e), 0);
	assert_int_equal(json_write_raw(&w->line, "", 1), 0);
	return 0;
}

/* @options says what is not as usual. */
static inline struct capture_world *capture_world_new(struct capture_options options)
{
	static const char *const nothing[] = {NULL};
	struct capture_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	options.session = "0123456789ab";
	options.names_fd = options.fanotify_fd = options.root_mount_fd = -1;
	options.watch_reads = nothing;
	options.emit = capture_world_event;
	options.emit_context = w;
	assert_int_equal(capture_new(&options, &w->capture), 0);
	return w;
}

static inline int capture_world_set_up(void **state)
{
	*state = capture_world_new((struct capture_options){0});
	return 0;
}

static inline int capture_world_tear_down(void **state)
{
	struct capture_world *w = *state;

	capture_free(w->capture);
	json_buffer_free(&w->line);
	free(w);
	return 0;
}

/* The one event since begins with @start, and is @rest from the end of that on. @start NULL: there
 * was none. */
static inline void expect_one(struct capture_world *w, const char *start, const char *rest)
{
	if (w->events != (start != NULL))
		fail_msg("%u events, the last: %s", w->events, w->line.text);
	w->events = 0;
	if (!start)
		return;
	char *found = strstr(w->line.text, start);
	if (!found)
		fail_msg("no %s in %s", start, w->line.text);
	assert_string_equal(found + strlen(start), rest);
}
