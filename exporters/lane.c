/*
 * Fill, send, judge, settle.
 */
#include "lane.h"
#include "dead.h"
#include "feed.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <string.h>
#include <time.h>

#define FILL_MS 20	   /* one lane reads at a stretch, then the others have their turn */
#define SAVE_MS 250	   /* the cursor is written so often at most */
#define TELL_MS 60000	   /* the operator is told so often that it goes on */
#define PAUSE_MS 60000	   /* a receiver that is set up wrongly is asked so often */
#define WAIT_MAX_MS 300000 /* what a receiver may ask for at most */

enum lane_state { LANE_IDLE, LANE_SENDING, LANE_WAITING, LANE_PAUSED };

struct lane {
	struct lane_setup setup;
	void *sink;
	struct cursor cursor;
	struct feed *feed;
	struct batch batch;
	struct json_buffer line, scratch;
	enum lane_state state;
	size_t limit;  /* records of a request: fewer after a SPLIT */
	bool was_sent; /* the batch was: nothing is added to it any more */
	bool is_draining, is_broken;
	unsigned failures; /* in a row */
	uint64_t not_before_ms, begun_ms, saved_ms;
	bool is_dirty; /* the cursor moved since it was saved */
	sd_event_source *timer;
	char why[512];
	enum lane_state told_state; /* what the operator was told last, and when */
	uint64_t told_ms;
	uint64_t retries, bytes, batches, delivered_ns, cursor_errors;
};

static uint64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void say(const struct lane *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct lane *l, const char *format, ...)
{
	va_list arguments;
	char text[700];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	l->setup.say(l->setup.context, l->setup.sink->name, text);
}

/* ---- life ---- */

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source, (void)usec;
	lane_turn(context);
	return 0;
}

static void arm(struct lane *l, uint64_t in_ms)
{
	sd_event_source_set_time_relative(l->timer, in_ms * 1000);
	sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static int read_cursor(struct lane *l)
{
	int r = cursor_read(l->setup.directory_fd, l->setup.sink->name, &l->cursor);

	if (r == -EBADMSG)
		say(l,
		    "the cursor is torn or bent: all records are sent again, under the same ids");
	return r == -EBADMSG || r == -ENOENT ? 0 : r;
}

static void on_answer(void *context, const struct sink_answer *a);

static int open_lane(struct lane *l, struct knob_fault *f)
{
	const struct sink_setup setup = {
		.name = l->setup.sink->name,
		.values = l->setup.sink->values,
		.event = l->setup.event,
		.http = l->setup.http,
		.key = &l->setup.config->key,
		.answer = on_answer,
		.lane = l,
	};
	int r = read_cursor(l);

	if (r == 0)
		r = feed_new(l->setup.sessions_fd, &l->cursor, &l->feed);
	if (r == 0)
		r = sd_event_add_time_relative(l->setup.event, &l->timer, CLOCK_MONOTONIC, 0, 1000,
					       on_timer, l);
	if (r < 0)
		return knob_fault_set(f, "", "%s: %s", l->setup.sink->name, strerror(-r));
	return l->setup.sink->type->open(&setup, &l->sink, f);
}

int lane_new(const struct lane_setup *setup, struct lane **ret_lane, struct knob_fault *f)
{
	struct lane *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->setup = *setup;
	l->limit = SIZE_MAX;
	r = open_lane(l, f);
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
	sd_event_source_disable_unref(l->timer);
	if (l->sink)
		l->setup.sink->type->free(l->sink);
	feed_free(l->feed);
	cursor_free(&l->cursor);
	batch_free(&l->batch);
	json_buffer_free(&l->line);
	json_buffer_free(&l->scratch);
	free(l);
}

void lane_reopen(struct lane *l)
{
	if (l->setup.sink->type->reopen && l->state != LANE_SENDING)
		l->setup.sink->type->reopen(l->sink);
	l->not_before_ms = 0; /* what was set right meanwhile is tried at once */
	if (l->state == LANE_WAITING || l->state == LANE_PAUSED)
		arm(l, 0);
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

/* Losses are told to everybody, whatever is filtered. */
static bool is_wanted(const struct lane *l, const struct fed *fed)
{
	const struct sink_config *c = l->setup.sink;
	const struct event *e = fed->event;

	if (!is_named(c->sessions, fed))
		return false;
	return e->kind == EVENT_gap ||
	       (c->kinds >> e->kind & 1 && trait_severity(e) >= c->severity);
}

/* The event without the fields that stay. */
static const struct event *drop_fields(const struct lane *l, const struct event *e,
				       struct event *less)
{
	const uint64_t *drop = l->setup.sink->drop;
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

static int add_record(struct lane *l, const struct fed *fed)
{
	const struct sink_config *c = l->setup.sink;
	size_t offset = l->batch.body.length;
	struct event less;
	struct projected p = {fed->session, fed->facts, fed->event, &l->scratch};
	int r;

	if (!c->include_output)
		hide_data(fed->event, &l->setup.config->key);
	p.event = drop_fields(l, fed->event, &less);
	l->line.length = 0;
	r = c->projection->write(&l->line, &p);
	if (r == 0)
		r = c->type->frame(l->sink, &p, (struct bytes){l->line.text, l->line.length - 1},
				   &l->batch.body);
	if (r == 0)
		r = batch_add(&l->batch, offset, fed->session, fed->event->seq,
			      fed->event->time_ns);
	if (r < 0)
		l->batch.body.length = offset;
	return r;
}

static bool is_full(const struct lane *l)
{
	return l->batch.body.length >= l->setup.sink->batch_bytes ||
	       l->batch.count >= l->setup.sink->batch_count;
}

/* A record that was read and has no room: the cursor stays before it, and a new process goes on. */
static void break_off(struct lane *l)
{
	say(l, "out of memory");
	l->is_broken = true;
	sd_event_exit(l->setup.event, -ENOMEM);
}

/* Read until the batch is full, nothing is left, or others have waited long enough: then true. */
static bool fill(struct lane *l)
{
	uint64_t begin = clock_ms(CLOCK_MONOTONIC);
	unsigned read = 0;
	struct fed fed;

	while (!is_full(l)) {
		if (++read % 64 == 0 && clock_ms(CLOCK_MONOTONIC) - begin >= FILL_MS)
			return true;
		if (!feed_next(l->feed, &fed))
			return false;
		if (!is_wanted(l, &fed)) {
			l->cursor.totals.filtered++;
			continue;
		}
		if (!l->batch.count)
			l->begun_ms = clock_ms(CLOCK_MONOTONIC);
		if (add_record(l, &fed) < 0) {
			break_off(l);
			return false;
		}
	}
	return false;
}

/* ---- sending ---- */

static void settle(struct lane *l)
{
	if (l->batch.count || l->is_broken)
		return;
	batch_clear(&l->batch);
	l->was_sent = false;
	l->is_dirty |= feed_settle(l->feed);
}

int lane_save(struct lane *l)
{
	int r;

	if (!l->is_dirty)
		return 0;
	r = cursor_write(l->setup.directory_fd, l->setup.sink->name, &l->cursor);
	l->saved_ms = clock_ms(CLOCK_MONOTONIC);
	l->is_dirty = r < 0;
	return r;
}

static void save_if_due(struct lane *l)
{
	int r;

	if (!l->is_dirty || clock_ms(CLOCK_MONOTONIC) - l->saved_ms < SAVE_MS)
		return;
	r = lane_save(l);
	if (r == 0)
		return;
	l->cursor_errors++;
	say(l, "cannot write the cursor: %s", strerror(-r));
}

static bool is_due(const struct lane *l)
{
	return l->batch.count &&
	       (l->was_sent || l->is_draining || is_full(l) ||
		clock_ms(CLOCK_MONOTONIC) - l->begun_ms >= l->setup.sink->batch_age_ms);
}

static void send_now(struct lane *l)
{
	size_t count = l->batch.count < l->limit ? l->batch.count : l->limit;

	l->state = LANE_SENDING;
	l->was_sent = true;
	l->batches++;
	l->setup.sink->type->send(l->sink, &l->batch, count);
}

void lane_measure(struct lane *l)
{
	feed_measure(l->feed);
}

void lane_scan(struct lane *l)
{
	int r = feed_scan(l->feed);

	if (r < 0)
		say(l, "cannot list the sessions: %s", strerror(-r));
}

void lane_turn(struct lane *l)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC);
	bool has_more = false;

	save_if_due(l);
	/* At the end nothing is tried again: the cursor stays before it. */
	if (l->state == LANE_SENDING || (l->is_draining && l->failures))
		return;
	if (now < l->not_before_ms) {
		arm(l, l->not_before_ms - now);
		return;
	}
	if (!l->was_sent && !l->is_draining) {
		has_more = fill(l);
		settle(l); /* where all was filtered */
	}
	if (is_due(l)) {
		send_now(l);
		return;
	}
	l->state = LANE_IDLE;
	if (has_more)
		arm(l, 0);
}

/* ---- answers ---- */

/* Twice as long each time, and never the same for two lanes: half of it is chance. */
static uint64_t backoff_ms(const struct lane *l)
{
	uint64_t wait = l->setup.sink->backoff_ms, max = l->setup.sink->backoff_max_ms;
	uint64_t chance = 0;

	for (unsigned i = 1; i < l->failures && wait < max; i++)
		wait *= 2;
	wait = wait < max ? wait : max;
	RAND_bytes((unsigned char *)&chance, sizeof(chance));
	return wait / 2 + chance % (wait / 2 + 1);
}

static void wait_for(struct lane *l, enum lane_state state, uint64_t wait_ms, const char *why)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC);
	bool is_news = !l->why[0] || state != l->told_state;

	snprintf(l->why, sizeof(l->why), "%s", why[0] ? why : "no reason given");
	if (is_news || now - l->told_ms >= TELL_MS) {
		say(l, "%s: %s", state == LANE_PAUSED ? "paused" : "to be tried again", l->why);
		l->told_state = state;
		l->told_ms = now;
	}
	l->retries++;
	l->state = state;
	l->not_before_ms = now + wait_ms;
	arm(l, wait_ms);
}

static void fail(struct lane *l, const struct sink_answer *a)
{
	uint64_t wait = backoff_ms(l);

	l->failures++;
	if (a->answer == ANSWER_PAUSE && wait < PAUSE_MS)
		wait = l->setup.sink->backoff_max_ms < PAUSE_MS ? wait : PAUSE_MS;
	if (a->wait_ms)
		wait = a->wait_ms < WAIT_MAX_MS ? a->wait_ms : WAIT_MAX_MS;
	wait_for(l, a->answer == ANSWER_PAUSE ? LANE_PAUSED : LANE_WAITING, wait, a->why);
}

/* Count what has a verdict, keep what was refused, and take both out. 0 or -errno. */
static int take_verdicts(struct lane *l)
{
	uint64_t delivered = 0, refused = 0, bytes = 0, now = clock_ms(CLOCK_REALTIME);
	int r;

	for (size_t i = 0; i < l->batch.count; i++) {
		delivered += l->batch.items[i].verdict == VERDICT_DELIVERED;
		refused += l->batch.items[i].verdict == VERDICT_REFUSED;
		bytes += l->batch.items[i].verdict == VERDICT_DELIVERED ? l->batch.items[i].length
									: 0;
	}
	r = refused ? dead_write(l->setup.directory_fd, l->setup.sink->name, &l->batch,
				 now * 1000000)
		    : 0;
	if (r < 0)
		return r;
	if (refused)
		say(l, "%" PRIu64 " records refused, kept as dead letters", refused);
	if (delivered)
		l->delivered_ns = now * 1000000;
	l->cursor.totals.delivered += delivered;
	l->cursor.totals.quarantined += refused;
	l->bytes += bytes;
	batch_remove_settled(&l->batch);
	return 0;
}

/* Half as many at a time; one that is refused alone is refused for good. */
static void split(struct lane *l, const struct sink_answer *a)
{
	size_t count = l->batch.count < l->limit ? l->batch.count : l->limit;

	if (count > 1) {
		l->limit = count / 2;
		return;
	}
	batch_judge(&l->batch, 1, VERDICT_REFUSED, a->why);
}

static void succeed(struct lane *l, const char *why)
{
	l->failures = 0;
	l->not_before_ms = 0;
	if (strcmp(l->why, why))
		say(l, "%s", why[0] ? why : "goes on");
	snprintf(l->why, sizeof(l->why), "%s", why);
	/* What was too much once is tried again with the next batch, not within this one. */
	if (!l->batch.count)
		l->limit = l->limit < SIZE_MAX / 2 ? l->limit * 2 : SIZE_MAX;
	l->state = LANE_IDLE;
	arm(l, 0);
}

static void on_answer(void *context, const struct sink_answer *a)
{
	struct lane *l = context;
	struct sink_answer retry;
	int r;

	if (a->answer == ANSWER_SPLIT)
		split(l, a);
	r = take_verdicts(l);
	settle(l);
	if (r < 0) {
		sink_answer_set(&retry, ANSWER_RETRY, "cannot write dead letters: %s",
				strerror(-r));
		fail(l, &retry);
	} else if (a->answer == ANSWER_RETRY || a->answer == ANSWER_PAUSE ||
		   (a->answer == ANSWER_DONE && l->batch.count && a->why[0])) {
		fail(l, a);
	} else {
		succeed(l, a->answer == ANSWER_DONE ? a->why : "");
	}
	save_if_due(l);
}

bool lane_drain(struct lane *l)
{
	if (!l->is_draining) {
		l->is_draining = true;
		l->not_before_ms = 0;
		l->failures = 0;
		lane_turn(l);
	}
	return l->state != LANE_SENDING && !(l->batch.count && l->state == LANE_IDLE);
}

struct lane_status lane_status(const struct lane *l)
{
	static const char *const states[] = {"idle", "sending", "waiting", "paused"};

	return (struct lane_status){
		.name = l->setup.sink->name,
		.type = l->setup.sink->type->name,
		.state = states[l->state],
		.why = l->why,
		.totals = l->cursor.totals,
		.retries = l->retries,
		.bytes = l->bytes,
		.batches = l->batches,
		.resets = feed_resets(l->feed),
		.in_batch = l->batch.count,
		.pending = feed_pending(l->feed) + l->batch.count,
		.cursor_errors = l->cursor_errors,
		.delivered_ns = l->delivered_ns,
		.oldest_ns = l->batch.count ? l->batch.items[0].time_ns : 0,
	};
}
