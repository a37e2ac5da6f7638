/*
 * A cursor, a pace, and the flights between which the sessions are shared out.
 */
#include "flight.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define SAVE_MS 250 /* the cursor is written so often at most */

struct lane {
	struct outlet outlet;
	struct flight **flights; /* owned */
	unsigned count;
	uint64_t saved_ms, save_errors;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void say(const struct lane *l, const char *what, int r)
{
	const struct lane_setup *setup = &l->outlet.setup;
	char text[256];

	snprintf(text, sizeof(text), "%s%s%s", what, r ? ": " : "", r ? strerror(-r) : "");
	setup->say(setup->context, l->outlet.sink.name, text);
}

/* ---- life ---- */

static int read_cursor(struct lane *l)
{
	const struct outlet *o = &l->outlet;
	int r = cursor_read(o->setup.directory_fd, o->sink.name, &l->outlet.cursor);

	if (r == -EBADMSG)
		say(l, "the cursor is torn or bent: all records are sent again, under the same ids",
		    0);
	if (r == -ENOENT)
		say(l, "there is no cursor: it begins with the first record of each session", 0);
	return r == -EBADMSG || r == -ENOENT ? 0 : r;
}

static int add_flights(struct lane *l, struct knob_fault *f)
{
	unsigned parts = l->outlet.sink.concurrency;

	l->flights = calloc(parts, sizeof(struct flight *));
	if (!l->flights)
		return -ENOMEM;
	for (; l->count < parts; l->count++) {
		int r = flight_new(&l->outlet, l->count, parts, &l->flights[l->count], f);

		if (r < 0)
			return r;
	}
	return 0;
}

int lane_new(const struct lane_setup *setup, struct lane **ret_lane, struct knob_fault *f)
{
	struct lane *l = calloc(1, sizeof(*l));
	struct outlet *o = &l->outlet;
	int r;

	if (!l)
		return -ENOMEM;
	o->setup = *setup;
	o->sink = *setup->sink;
	json_incref((json_t *)o->sink.values);
	o->key = setup->config->key;
	o->setup.sink = &o->sink;
	o->setup.config = NULL;
	o->pace = (struct pace){.backoff_ms = o->sink.backoff_ms,
				.backoff_max_ms = o->sink.backoff_max_ms};
	r = read_cursor(l);
	if (r < 0)
		knob_fault_set(f, "", "%s: the cursor: %s", o->sink.name, strerror(-r));
	if (r == 0)
		r = add_flights(l, f);
	if (r < 0) {
		lane_free(l);
		return r;
	}
	*ret_lane = l;
	return 0;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->count; i++)
		flight_free(l->flights[i]);
	free(l->flights);
	cursor_free(&l->outlet.cursor);
	json_decref((json_t *)l->outlet.sink.values);
	explicit_bzero(&l->outlet.key, sizeof(l->outlet.key));
	free(l);
}

const struct sink_config *lane_sink(const struct lane *l)
{
	return &l->outlet.sink;
}

/* ---- turns ---- */

void lane_reopen(struct lane *l)
{
	pace_hurry(&l->outlet.pace);
	for (unsigned i = 0; i < l->count; i++)
		flight_reopen(l->flights[i]);
}

void lane_scan(struct lane *l)
{
	int r = 0;

	for (unsigned i = 0; i < l->count && r == 0; i++)
		r = flight_scan(l->flights[i]);
	if (r < 0)
		say(l, "cannot list the sessions", r);
}

int lane_save(struct lane *l)
{
	struct outlet *o = &l->outlet;
	int r;

	if (!o->is_dirty)
		return 0;
	r = cursor_write(o->setup.directory_fd, o->sink.name, &o->cursor);
	l->saved_ms = now_ms();
	o->is_dirty = r < 0;
	l->save_errors += r < 0;
	return r;
}

void lane_measure(struct lane *l)
{
	for (unsigned i = 0; i < l->count; i++)
		flight_measure(l->flights[i]);
}

void lane_turn(struct lane *l)
{
	int r = now_ms() - l->saved_ms >= SAVE_MS ? lane_save(l) : 0;

	if (r < 0)
		say(l, "cannot write the cursor", r);
	for (unsigned i = 0; i < l->count; i++)
		flight_turn(l->flights[i]);
}

bool lane_drain(struct lane *l)
{
	bool all = true;

	if (!l->outlet.is_draining) {
		l->outlet.is_draining = true;
		/* What waits is tried once more. */
		l->outlet.pace.failures = 0;
		pace_hurry(&l->outlet.pace);
		lane_turn(l);
	}
	for (unsigned i = 0; i < l->count; i++)
		all &= flight_is_drained(l->flights[i]);
	return all;
}

/* ---- telling ---- */

static const char *state_of(const struct lane *l)
{
	const struct pace *p = &l->outlet.pace;

	if (p->failures)
		return p->is_paused ? "paused" : p->sending ? "sending" : "waiting";
	return p->sending ? "sending" : "idle";
}

struct lane_status lane_status(const struct lane *l)
{
	const struct outlet *o = &l->outlet;
	struct lane_status s = {
		.name = o->sink.name,
		.type = o->sink.type->name,
		.state = state_of(l),
		.why = o->pace.why[0] ? o->pace.why : o->note,
		.totals = o->cursor.totals,
		.retries = o->pace.retries,
		.bytes = o->bytes,
		.batches = o->batches,
		.delivered_ns = o->delivered_ns,
		.cursor_errors = l->save_errors,
	};

	for (unsigned i = 0; i < l->count; i++) {
		struct flight_status f = flight_status(l->flights[i]);

		s.in_batch += f.in_batch;
		s.pending += f.pending + f.in_batch;
		s.resets += f.resets;
		if (f.oldest_ns && (!s.oldest_ns || f.oldest_ns < s.oldest_ns))
			s.oldest_ns = f.oldest_ns;
	}
	return s;
}
