/*
 * The canonical lines, one a record that was asked for.
 */
#include "view.h"

#include "../supervisor/record/json.h"

#include <errno.h>
#include <stdlib.h>

struct json_view {
	FILE *out;
	const char *session;
	struct json_buffer buffer;
};

static void json_view_free(void *state)
{
	struct json_view *v = state;

	if (!v)
		return;
	json_buffer_free(&v->buffer);
	free(v);
}

static int json_view_begin(const struct view_options *options, void **ret_state)
{
	struct json_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->out = options->out;
	v->session = options->session;
	*ret_state = v;
	return 0;
}

static int json_view_event(void *state, const struct event *e, const struct origin *origin,
			   bool wanted)
{
	struct json_view *v = state;
	int r;

	(void)origin;
	if (!wanted)
		return 0;
	v->buffer.length = 0;
	r = json_write_event(&v->buffer, v->session, e);
	if (r < 0)
		return r;

	if (fwrite_unlocked(v->buffer.text, 1, v->buffer.length, v->out) != v->buffer.length)
		return errno ? -errno : -EIO;
	return 0;
}

static int json_view_end(void *state, enum view_end how)
{
	(void)state;
	(void)how;
	return 0;
}

const struct view view_json = {
	.begin = json_view_begin,
	.event = json_view_event,
	.end = json_view_end,
	.free = json_view_free,
};
