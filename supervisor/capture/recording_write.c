/*
 * The way of an event into the file: redact, append, flush; and what is done while the journal
 * cannot be written. Then records that are already made wait in the spill, drains and streams stop,
 * and the session is frozen; every second the journal is tried again.
 */
#include "../redact/redact.h"
#include "clock.h"
#include "exec_relays.h"
#include "in_hand.h"
#include "recording_internal.h"

#include <errno.h>

static bool is_disk_full(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

static void start_waiting(struct recording *r, int error)
{
	if (r->waiting_since)
		return;
	r->waiting_since = clock_ns(CLOCK_BOOTTIME);
	r->waiting_error = error;
	r->retry_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
	metric_add(r->host->metrics->journal_errors, 1);
	if (r->freeze && r->options.on_loss != ON_LOSS_COUNT) {
		metric_add(&r->host->metrics->freezes[METRIC_FREEZE_DISK], 1);
		freezer_hold(r->host->freezer, r->freeze, FREEZE_DISK);
	}
	r->host->notice(r->host->notice_context, r->session, RECORDING_TROUBLE, error, 0);
}

void recording_keep_verdict(struct recording *r, const struct event *end)
{
	r->verdict.length = 0;
	(void)json_write_fields(&r->verdict, r->session, end); /* without memory nothing is told */
}

static int append_counted(struct recording *r, const struct redacted *record)
{
	int e = journal_append(r->journal, record, NULL);

	if (e == 0)
		metric_add(&r->host->metrics->records[kind_table[record->event.kind].class], 1);
	return e;
}

static int append(void *context, const struct redacted *record)
{
	struct recording *r = context;

	if (record->event.kind == EVENT_session_end || record->event.kind == EVENT_exec_end)
		recording_keep_verdict(r, &record->event);
	if (!r->waiting_since && spill_is_empty(&r->spill)) {
		int e = append_counted(r, record);
		if (e == 0) {
			r->is_dirty = true;
			return 0;
		}
		if (e == -E2BIG)
			return e;
		start_waiting(r, -e);
	}
	return spill_add(&r->spill, record);
}

struct event *recording_begin(struct recording *r, enum event_kind kind)
{
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);

	event_init(&r->own, kind, boot_ns + r->host->wall_minus_boot_ns, boot_ns);
	return &r->own;
}

int recording_emit(struct recording *r, struct event *e)
{
	return redact_event(r->redactor, e, append, r);
}

int recording_flush_redaction(struct recording *r)
{
	return redact_flush(r->redactor, UINT64_MAX, append, r);
}

void recording_release_held(struct recording *r)
{
	if (r->waiting_since)
		return;
	/* An error is one of the journal: it waits, and is tried again. */
	(void)redact_flush(r->redactor, clock_ns(CLOCK_BOOTTIME), append, r);
}

/* ---- what a death of ours would lose ---- */

static void add_waiting(const struct recording *r, struct in_hand *to)
{
	for (size_t i = 0; i < RECORDING_EXECS; i++) {
		uint64_t output, input;

		if (!r->execs[i].relays)
			continue;
		exec_relays_waiting(r->execs[i].relays, &output, &input);
		to->output_bytes += output;
		to->input_bytes += input;
	}
}

static struct in_hand in_hand_now(const struct recording *r)
{
	struct redact_held held = redact_held(r->redactor);
	struct in_hand now = {.output_bytes = held.output_bytes,
			      .input_bytes = held.input_bytes,
			      .names = held.names};

	add_waiting(r, &now);
	return now;
}

static void raise_to(uint64_t *count, uint64_t value)
{
	if (__atomic_load_n(count, __ATOMIC_RELAXED) < value)
		__atomic_store_n(count, value, __ATOMIC_RELEASE);
}

/* More is told at once; less only when it is in the file, which is what a commit is for. */
void recording_tell_taken(struct recording *r)
{
	struct in_hand *told = &r->host->in_hand[r->ground.slot];
	struct in_hand now;

	if (r->ground.ring_fd < 0)
		return;
	now = in_hand_now(r);
	raise_to(&told->output_bytes, now.output_bytes);
	raise_to(&told->input_bytes, now.input_bytes);
	raise_to(&told->names, now.names);
}

void recording_tell_written(struct recording *r)
{
	struct in_hand *told = &r->host->in_hand[r->ground.slot];
	struct in_hand now;

	if (r->ground.ring_fd < 0 || r->is_dirty)
		return;
	now = in_hand_now(r);
	__atomic_store_n(&told->output_bytes, now.output_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&told->input_bytes, now.input_bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&told->names, now.names, __ATOMIC_RELEASE);
}

int recording_commit(struct recording *r)
{
	if (r->waiting_since)
		return -r->waiting_error;
	recording_tell_taken(r);
	recording_tell_written(r);
	if (!r->is_dirty)
		return 0;

	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int e = journal_flush(r->journal, now);
	if (e < 0) {
		start_waiting(r, -e);
		return e;
	}
	r->is_dirty = false;
	r->flushed_ns = now;
	recording_tell_written(r);
	return 0;
}

/* ---- while the journal fails ---- */

static int empty_spill(struct recording *r)
{
	while (!spill_is_empty(&r->spill)) {
		int e = append_counted(r, spill_first(&r->spill));
		if (e < 0)
			return e;
		spill_drop_first(&r->spill);
	}
	return journal_flush(r->journal, clock_ns(CLOCK_MONOTONIC));
}

/* Both are written now, with their own times: there was no place for them before. */
static void tell_pause(struct recording *r, uint64_t since, int error)
{
	const char *reason = is_disk_full(error) ? "disk_full" : "journal_failed";
	struct event *e = recording_begin(r, EVENT_session_pause);

	e->time_ns -= e->boot_ns - since;
	e->boot_ns = since;
	event_put_text(e, FIELD_reason, reason);
	event_put_text(e, FIELD_by, "recorder");
	recording_emit(r, e);

	e = recording_begin(r, EVENT_session_resume);
	event_put_text(e, FIELD_reason, reason);
	event_put_text(e, FIELD_by, "recorder");
	event_put_u64(e, FIELD_usage_wall_ns, e->boot_ns - since);
	metric_add(&r->host->metrics->frozen[METRIC_FREEZE_DISK], e->boot_ns - since);
	recording_emit(r, e);
}

int recording_retry(struct recording *r)
{
	if (!r->waiting_since)
		return 0;
	int e = journal_retry(r->journal);
	if (e == 0)
		e = empty_spill(r);
	if (e < 0)
		return e;

	uint64_t since = r->waiting_since;
	r->waiting_since = 0;
	r->gave_up = false;
	r->is_dirty = true;
	if (r->freeze && r->options.on_loss != ON_LOSS_COUNT) {
		freezer_release(r->host->freezer, r->freeze, FREEZE_DISK);
		tell_pause(r, since, r->waiting_error);
	}
	r->host->notice(r->host->notice_context, r->session, RECORDING_TROUBLE, 0, 0);
	return 0;
}

void recording_look_after_journal(struct recording *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!r->waiting_since) {
		if (now - r->flushed_ns >= SECOND_NS)
			r->is_dirty = true; /* an open block grows old, even with nothing new */
		recording_commit(r);
		return;
	}
	if (now >= r->retry_ns) {
		r->retry_ns = now + SECOND_NS;
		if (recording_retry(r) == 0)
			return;
	}
	if (clock_ns(CLOCK_BOOTTIME) - r->waiting_since >= r->options.disk_wait_ns)
		r->gave_up = true;
}

bool recording_is_waiting(const struct recording *r)
{
	return r->waiting_since != 0;
}

bool recording_gave_up(const struct recording *r)
{
	return r->gave_up;
}
