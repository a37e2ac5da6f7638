/*
 * The session's output, byte for byte as it is in the record: its standard error goes to standard
 * error, all else to standard output. The only view that does not escape.
 */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct raw_view {
	FILE *out, *errors;
	uint64_t records, without_data, redacted;
	bool truncated;
};

static int raw_view_begin(const struct view_options *options, void **ret_state)
{
	struct raw_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->out = options->out;
	v->errors = options->errors;
	*ret_state = v;
	return 0;
}

static int raw_view_event(void *state, const struct event *e, const struct origin *origin,
			  bool wanted)
{
	struct raw_view *v = state;
	struct bytes data = event_bytes(e, FIELD_data), stream = event_bytes(e, FIELD_stream);
	bool is_error = stream.size == 6 && !memcmp(stream.data, "stderr", 6);
	FILE *to = is_error ? v->errors : v->out;

	(void)origin;
	v->truncated |= event_u64(e, FIELD_output_truncated, 0) != 0;
	if (!wanted || e->kind != EVENT_output)
		return 0;
	v->records++;
	v->without_data += !data.data;
	v->redacted += event_get(e, FIELD_redacted) != NULL;
	/* The two streams may end in one place: keep their order. */
	fflush(is_error ? v->out : v->errors);
	if (data.size && fwrite(data.data, 1, data.size, to) != data.size)
		return errno ? -errno : -EIO;
	return 0;
}

static int raw_view_end(void *state, enum view_end how)
{
	struct raw_view *v = state;

	(void)how;
	if (fflush(v->out))
		return -errno;
	if (v->without_data)
		fprintf(v->errors, "vitrine replay: %" PRIu64 " records of output hold no data\n",
			v->without_data);
	if (v->redacted)
		fprintf(v->errors, "vitrine replay: %" PRIu64 " records of output were redacted\n",
			v->redacted);
	if (v->truncated)
		fputs("vitrine replay: not all output is in the record\n", v->errors);
	return 0;
}

const struct view view_raw = {
	.begin = raw_view_begin,
	.event = raw_view_event,
	.end = raw_view_end,
	.free = free,
};
