/*
 * Fill, send, judge, settle.
 */
#include "flight.h"
#include "dead.h"
#include "feed.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#define FILL_MS 20    /* one flight reads at a stretch, then the others have their turn */
#define TELL_MS 60000 /* the operator is told so often that it goes on */

struct flight {
	struct outlet *outlet;
	void *sink;
	struct feed *feed;
	struct batch batch;
	struct json_buffer line, scratch;
	size_t limit;  /* records of a request: fewer after a SPLIT */
	bool was_sent; /* the batch was: nothing is added to it any more */
	bool is_sending;
	size_t told_refused; /* sessions that we may not read */
	uint64_t told_resets;
	uint64_t turn; /* of the pace, while it is sending */
	uint64_t begun_ms;
	sd_event_source *timer;
};

static uint64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void say(const struct flight *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct flight *f, const char *format, ...)
{
	const struct lane_setup *setup = &f->outlet->setup;
	va_list arguments;
	char text[700];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	setup->say(setup->context, setup->sink->name, text);
}

/* ---- life ---- */

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source, (void)usec;
	flight_turn(context);
	return 0;
}

static void arm(struct flight *f, uint64_t in_ms)
{
	sd_event_source_set_time_relative(f->timer, in_ms * 1000);
	sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT);
}

static void on_answer(void *context, const struct sink_answer *a);

int flight_new(struct outlet *outlet, unsigned part, unsigned parts, struct flight **ret_flight,
	       struct knob_fault *fault)
{
	const struct sink_config *c = &outlet->sink;
	const struct feed_setup feed = {.sessions_fd = outlet->setup.sessions_fd,
					.cursor = &outlet->cursor,
					.part = part,
					.parts = parts,
					.has_acts = c->has_acts,
					.has_checkpoints = c->has_checkpoints};
	struct flight *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->outlet = outlet;
	f->limit = SIZE_MAX;
	const struct sink_setup setup = {
		.name = c->name,
		.values = c->values,
		.event = outlet->setup.event,
		.http = outlet->setup.http,
		.key = &outlet->key,
		.answer = on_answer,
		.lane = f,
	};
	r = feed_new(&feed, &f->feed);
	if (r == 0)
		r = sd_event_add_time_relative(setup.event, &f->timer, CLOCK_MONOTONIC, 0, 1000,
					       on_timer, f);
	if (r >= 0)
		r = c->type->open(&setup, &f->sink, fault);
	if (r < 0) {
		flight_free(f);
		return r;
	}
	*ret_flight = f;
	return 0;
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	sd_event_source_disable_unref(f->timer);
	if (f->sink)
		f->outlet->sink.type->free(f->sink);
	feed_free(f->feed);
	batch_free(&f->batch);
	json_buffer_free(&f->line);
	json_buffer_free(&f->scratch);
	free(f);
}

void flight_measure(struct flight *f)
{
	feed_measure(f->feed);
}

void flight_reopen(struct flight *f)
{
	const struct sink_type *type = f->outlet->sink.type;

	if (type->reopen && !f->is_sending)
		type->reopen(f->sink);
	if (f->was_sent && !f->is_sending)
		arm(f, 0);
}

/* ---- filling ---- */

static bool is_named(const json_t *names, const struct fed *fed)
{
	const struct manifest *m = fed->manifest;
	const json_t *item;
	size_t i;

	if (!names)
		return true;
	json_array_foreach (names, i, item) {
		const char *name = json_string_value(item);

		if (!strcmp(name, fed->session) || (m && m->name && !strcmp(name, m->name)) ||
		    (m && m->tenant && !strcmp(name, m->tenant)))
			return true;
	}
	return false;
}

/* Losses are told to everybody, whatever is filtered, and so is what was signed. */
static bool is_wanted(const struct sink_config *c, const struct fed *fed)
{
	const struct event *e = fed->event;

	if (!is_named(c->sessions, fed))
		return false;
	return e->kind == EVENT_gap || e->kind == EVENT_checkpoint ||
	       (c->kinds >> e->kind & 1 && trait_severity(e) >= c->severity);
}

/* The event without the fields that stay. */
static const struct event *drop_fields(const uint64_t drop[EVENT_FIELD_WORDS],
				       const struct event *e, struct event *less)
{
	bool any = false;

	for (size_t i = 0; i < EVENT_FIELD_WORDS; i++)
		any |= (drop[i] & e->present[i]) != 0;
	if (!any)
		return e;
	event_init(less, e->kind, e->time_ns, e->boot_ns);
	less->seq = e->seq;
	for (size_t i = 0; i < e->count; i++)
		if (!(drop[e->values[i].field / 64] >> e->values[i].field % 64 & 1))
			event_put_value(less, &e->values[i]);
	return less;
}

static int add_record(struct flight *f, const struct fed *fed)
{
	const struct sink_config *c = &f->outlet->sink;
	size_t offset = f->batch.body.length;
	struct event less;
	struct projected p = {fed->session, fed->facts, fed->event, &f->scratch};
	int r;

	if (!c->include_output)
		hide_data(fed->event, &f->outlet->key);
	p.event = drop_fields(c->drop, fed->event, &less);
	f->line.length = 0;
	r = c->projection->write(&f->line, &p);
	if (r == 0)
		r = c->type->frame(f->sink, &p, (struct bytes){f->line.text, f->line.length - 1},
				   &f->batch.body);
	if (r == 0)
		r = batch_add(&f->batch, offset, fed->session, fed->event->seq,
			      fed->event->time_ns);
	if (r < 0)
		f->batch.body.length = offset;
	return r;
}

static bool is_full(const struct flight *f)
{
	const struct sink_config *c = &f->outlet->sink;

	return f->batch.body.length >= c->batch_bytes || f->batch.count >= c->batch_count;
}

/* A record that was read and has no room: the cursor stays before it, and a new process goes on. */
static void break_off(struct flight *f)
{
	say(f, "out of memory");
	f->outlet->is_broken = true;
	sd_event_exit(f->outlet->setup.event, -ENOMEM);
}

/* Read until the batch is full, nothing is left, or others have waited long enough: then true. */
static bool fill(struct flight *f)
{
	uint64_t begin = clock_ms(CLOCK_MONOTONIC);
	unsigned read = 0;
	struct fed fed;

	while (!is_full(f)) {
		if (++read % 64 == 0 && clock_ms(CLOCK_MONOTONIC) - begin >= FILL_MS)
			return true;
		if (!feed_next(f->feed, &fed))
			return false;
		if (!is_wanted(&f->outlet->sink, &fed)) {
			f->outlet->cursor.totals.filtered += fed.event->seq != 0;
			continue;
		}
		if (!f->batch.count)
			f->begun_ms = clock_ms(CLOCK_MONOTONIC);
		if (add_record(f, &fed) < 0) {
			break_off(f);
			return false;
		}
	}
	return false;
}

/* A batch that goes out for the first time carries what was signed of its sessions since. */
static void add_checkpoints(struct flight *f)
{
	size_t count = f->batch.count;
	struct fed fed;

	if (!f->outlet->sink.has_checkpoints)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct batch_item *item = &f->batch.items[i];

		/* Records of a session stand side by side; of others nothing newer is found. */
		if (i && !strcmp(item->session, item[-1].session))
			continue;
		if (feed_checkpoint(f->feed, item->session, &fed) && add_record(f, &fed) < 0) {
			break_off(f);
			return;
		}
	}
}

/* ---- sending ---- */

static void settle(struct flight *f)
{
	if (f->batch.count || f->outlet->is_broken)
		return;
	batch_clear(&f->batch);
	f->was_sent = false;
	f->outlet->is_dirty |= feed_settle(f->feed);
}

static bool is_due(const struct flight *f)
{
	return f->batch.count &&
	       (f->was_sent || f->outlet->is_draining || is_full(f) ||
		clock_ms(CLOCK_MONOTONIC) - f->begun_ms >= f->outlet->sink.batch_age_ms);
}

static size_t request_count(const struct flight *f)
{
	return f->batch.count < f->limit ? f->batch.count : f->limit;
}

static void send_now(struct flight *f)
{
	if (!f->was_sent)
		add_checkpoints(f);
	if (f->outlet->is_broken)
		return;
	f->is_sending = f->was_sent = true;
	f->outlet->batches++;
	f->turn = pace_begin(&f->outlet->pace);
	f->outlet->sink.type->send(f->sink, &f->batch, request_count(f));
}

int flight_scan(struct flight *f)
{
	size_t refused = feed_refused(f->feed);

	if (refused > f->told_refused)
		say(f,
		    "%zu sessions cannot be read by this user: permission denied; their "
		    "directories have to be of a group that it is in (readers_group of vitrined)",
		    refused);
	f->told_refused = refused;
	if (feed_resets(f->feed) > f->told_resets)
		say(f,
		    "of %" PRIu64
		    " sessions the cursor was ahead of the journal: they are sent again "
		    "from the first record, under the same ids",
		    feed_resets(f->feed) - f->told_resets);
	f->told_resets = feed_resets(f->feed);
	return feed_scan(f->feed);
}

void flight_turn(struct flight *f)
{
	const struct pace *pace = &f->outlet->pace;
	bool has_more = false;
	uint64_t wait_ms;

	/* At the end nothing is tried again: the cursor stays before it. */
	if (f->is_sending || (f->outlet->is_draining && pace->failures))
		return;
	if (!pace_allows(pace, clock_ms(CLOCK_MONOTONIC), &wait_ms)) {
		if (wait_ms)
			arm(f, wait_ms);
		return;
	}
	if (!f->was_sent && !f->outlet->is_draining) {
		has_more = fill(f);
		settle(f); /* where all was filtered */
	}
	if (is_due(f))
		send_now(f);
	else if (has_more)
		arm(f, 0);
}

/* ---- answers ---- */

static void fail(struct flight *f, const struct sink_answer *a)
{
	struct outlet *o = f->outlet;
	uint64_t now = clock_ms(CLOCK_MONOTONIC), wait_ms;

	pace_fail(&o->pace, f->turn, now, a);
	o->note[0] = 0;
	if (!o->told_ms || o->told_paused != o->pace.is_paused || now - o->told_ms >= TELL_MS) {
		say(f, "%s: %s", o->pace.is_paused ? "paused" : "to be tried again", o->pace.why);
		o->told_paused = o->pace.is_paused;
		o->told_ms = now;
	}
	if (!pace_allows(&o->pace, now, &wait_ms) && wait_ms)
		arm(f, wait_ms);
}

static void count_verdicts(const struct batch *b, struct cursor_totals *totals, uint64_t *bytes)
{
	uint64_t doubted = 0, refused;

	for (size_t i = 0; i < b->count; i++) {
		const struct batch_item *item = &b->items[i];

		if (item->verdict == VERDICT_DELIVERED || item->verdict == VERDICT_DOUBTED)
			*bytes += item->length;
		if (!item->seq)
			continue; /* no record of the journal */
		totals->delivered += item->verdict == VERDICT_DELIVERED;
		totals->quarantined += item->verdict == VERDICT_REFUSED;
		doubted += item->verdict == VERDICT_DOUBTED;
	}
	/* The receiver told how many, if not which. */
	refused = b->refused < doubted ? b->refused : doubted;
	totals->quarantined += refused;
	totals->delivered += doubted - refused;
}

/* Count what has a verdict, keep what was refused, and take both out. 0 or -errno. */
static int take_verdicts(struct flight *f)
{
	struct outlet *o = f->outlet;
	struct cursor_totals totals = {0};
	uint64_t bytes = 0, now = clock_ms(CLOCK_REALTIME);
	size_t kept;
	int r = dead_write(o->setup.directory_fd, o->sink.name, &f->batch, now * 1000000, &kept);

	if (r < 0)
		return r;
	if (kept)
		say(f, "%zu records refused or in doubt, kept as dead letters", kept);
	count_verdicts(&f->batch, &totals, &bytes);
	if (bytes)
		o->delivered_ns = now * 1000000;
	o->cursor.totals.delivered += totals.delivered;
	o->cursor.totals.quarantined += totals.quarantined;
	o->bytes += bytes;
	batch_remove_settled(&f->batch);
	return 0;
}

/* Half as many at a time; one that is refused alone is refused for good. */
static void split(struct flight *f, const struct sink_answer *a)
{
	size_t count = request_count(f);

	if (count > 1) {
		f->limit = count / 2;
		return;
	}
	batch_judge(&f->batch, 1, VERDICT_REFUSED, a->why);
}

static void succeed(struct flight *f, const char *note)
{
	struct outlet *o = f->outlet;

	pace_succeed(&o->pace, f->turn);
	if (!o->pace.failures && o->told_ms) {
		say(f, "goes on");
		o->told_ms = 0;
	}
	if (note[0] && strcmp(o->note, note))
		say(f, "%s", note);
	snprintf(o->note, sizeof(o->note), "%s", note);
	/* What was too much once is tried again with the next batch, not within this one. */
	if (!f->batch.count)
		f->limit = f->limit < SIZE_MAX / 2 ? f->limit * 2 : SIZE_MAX;
	arm(f, 0);
}

static void on_answer(void *context, const struct sink_answer *a)
{
	struct flight *f = context;
	struct sink_answer retry;
	int r;

	f->is_sending = false;
	if (a->answer == ANSWER_SPLIT)
		split(f, a);
	r = take_verdicts(f);
	settle(f);
	if (r < 0) {
		sink_answer_set(&retry, ANSWER_RETRY, "cannot write dead letters: %s",
				strerror(-r));
		fail(f, &retry);
	} else if (a->answer == ANSWER_RETRY || a->answer == ANSWER_PAUSE ||
		   (a->answer == ANSWER_DONE && f->batch.count && a->why[0])) {
		fail(f, a);
	} else {
		succeed(f, a->answer == ANSWER_DONE ? a->why : "");
	}
}

bool flight_is_sending(const struct flight *f)
{
	return f->is_sending;
}

bool flight_is_drained(const struct flight *f)
{
	return !f->is_sending && (!f->batch.count || f->outlet->pace.failures);
}

struct flight_status flight_status(const struct flight *f)
{
	return (struct flight_status){
		.in_batch = f->batch.count,
		.oldest_ns = f->batch.count ? f->batch.items[0].time_ns : 0,
		.resets = feed_resets(f->feed),
		.pending = feed_pending(f->feed),
	};
}
