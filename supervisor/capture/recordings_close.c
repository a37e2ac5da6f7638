/*
 * The end of a session in the recorder. When all is in its file vitrined is told at once. What the
 * session holds (mappings, descriptors, its journal, for which the disk has to be waited for) is
 * let go of a moment later, or before the next message: on a small host vitrined, and who waits for
 * its word, have the processor meanwhile.
 */
#include "../record/cleanup.h"
#include "../record/stack_wipe.h"
#include "call.h"

#include <errno.h>
#include <string.h>

#define MOMENT_USEC 1000
#define EXACTLY_USEC 1

/* A session that is being closed. */
struct closing {
	struct recordings *all;
	struct closing *next; /* of those that were told */
	struct recording *recording;
	struct recording_end end;
	json_t *reply; /* owned */
};

static void on_journal_closed(void *context, int error, const uint8_t note[HASH_SIZE])
{
	static const uint8_t unsigned_note[HASH_SIZE];
	struct closing *closing = context;

	if (closing->end.error == 0)
		closing->end.error = -error;
	if (closing->end.error)
		call_put_error(closing->reply, closing->end.error, "the journal is not whole");
	else if (memcmp(note, unsigned_note, HASH_SIZE) != 0)
		json_object_set_new(closing->reply, "note", control_base64(note, HASH_SIZE));
	recordings_send(closing->all, closing->reply);
	free(closing);
}

static void let_go(struct closing *closing)
{
	const struct recording_end *end = &closing->end;
	json_t *reply = closing->reply;

	json_object_set_new(reply, "records", json_integer((json_int_t)end->records));
	json_object_set_new(reply, "lost", json_integer((json_int_t)end->lost));
	if (end->counts)
		json_object_set_new(reply, "counts", end->counts);
	json_object_set_new(reply, "verdict", recording_verdict_object(closing->recording));
	recording_free(take(closing->recording));
	closer_add(closing->all->closer, end->journal, on_journal_closed, closing);
}

void recordings_let_go(struct recordings *all)
{
	while (all->told) {
		struct closing *closing = all->told;

		all->told = take(closing->next);
		let_go(closing);
		stack_wipe();
	}
}

static int on_moment(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source;
	(void)usec;
	recordings_let_go(context);
	return 0;
}

static void wait_a_moment(struct recordings *all)
{
	int e = all->let_go ? sd_event_source_set_time_relative(all->let_go, MOMENT_USEC)
			    : sd_event_add_time_relative(all->loop, &all->let_go, CLOCK_MONOTONIC,
							 MOMENT_USEC, EXACTLY_USEC, on_moment, all);

	if (e >= 0)
		e = sd_event_source_set_enabled(all->let_go, SD_EVENT_ONESHOT);
	if (e < 0)
		recordings_let_go(all);
}

/* All is in the file: only the disk is still to be waited for. */
static void tell_closing(const struct closing *closing)
{
	const struct recording *r = closing->recording;
	struct bytes there = recording_verdict(r);
	struct bytes verdict = there.size ? there : (struct bytes){"null", strlen("null")};
	cleanup(free) char *text = NULL;
	int length = asprintf(&text,
			      "{\"reply\":\"closing\",\"session\":\"%s\",\"records\":%llu,"
			      "\"lost\":%llu,\"verdict\":%.*s}",
			      recording_session(r), (unsigned long long)closing->end.records,
			      (unsigned long long)closing->end.lost, (int)verdict.size,
			      (const char *)verdict.data);

	if (length < 0)
		text = NULL;
	else
		recordings_send_text(closing->all, text, (size_t)length);
}

static void on_recording_closed(void *context, struct recording *r, struct recording_end *end)
{
	struct closing *closing = context;
	struct recordings *all = closing->all;

	closing->recording = r;
	closing->end = *end;
	if (end->error == 0)
		tell_closing(closing);
	recordings_remove(all, r);
	closing->next = all->told;
	all->told = closing;
	wait_a_moment(all);
}

int call_serve_close(struct call *c)
{
	json_t *fields = NULL;
	struct closing *closing = calloc(1, sizeof(*closing));
	int e = closing ? call_fields(c, &fields) : -ENOMEM;

	if (e < 0) {
		free(closing);
		return e;
	}
	*closing = (struct closing){.all = c->all, .reply = json_incref(c->reply)};
	/* Without memory for it nothing is said of the tree. */
	if (json_is_true(json_object_get(c->body, "untouched")))
		(void)recording_look(c->recording, -1, 0, &c->why);
	e = recording_close(c->recording, fields, on_recording_closed, closing, &c->why);
	if (e < 0) {
		json_decref(closing->reply);
		free(closing);
	}
	return e;
}
