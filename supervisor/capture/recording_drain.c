/*
 * From the ring to events: what comes is decoded, counted, joined and translated; what does not
 * come is told in gap records. The loss of room for a moment is the freezer's business, the loss of
 * a record the account's.
 */
#include "../../bpf/wire.h"

#include "../../bpf/file_wire.h"
#include "clock.h"
#include "in_hand.h"
#include "kept_rings.h"
#include "recording_internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#define COMMIT_BYTES (1024 * 1024) /* of the ring, after which room is given back */
#define IDLE_DRAINS 64		   /* an idle ring's account is settled this seldom */
#define BUSY_TRIES 100		   /* at the end, for a record that is being written */
#define BUSY_PAUSE_USEC 1000
#define EXEC_WAIT_NS 1000000000ull /* for an exec to end in a frozen session */
#define RING_PRIORITY (-10)	   /* before requests */

/* ---- the account ---- */

/* All @count values that an array keeps for each slot, with one call. */
static int read_slot(const struct recording *r, int map_fd, uint32_t count, uint64_t *ret_values)
{
	uint32_t keys[WIRE_CLASS_COUNT * LOSS_REASON_COUNT];
	uint32_t before = r->ground.slot * count - 1, last, read = count; /* before 0: none */
	int e = bpf_map_lookup_batch(map_fd, &before, &last, keys, ret_values, &read, NULL);

	/* -ENOENT: nothing is behind the last one. */
	return read == count && (e == 0 || e == -ENOENT) ? 0 : e < 0 ? e : -EIO;
}

static int read_numbers(void *context, uint64_t *ret_values)
{
	const struct recording *r = context;

	return read_slot(r, r->host->numbers_fd, WIRE_CLASS_COUNT, ret_values);
}

static int read_losses(void *context, uint64_t *ret_values)
{
	const struct recording *r = context;

	return read_slot(r, r->host->losses_fd, WIRE_CLASS_COUNT * LOSS_REASON_COUNT, ret_values);
}

static void tell_lost(struct recording *r)
{
	if (r->options.on_loss != ON_LOSS_KILL || r->told_lost)
		return;
	r->told_lost = true;
	r->host->notice(r->host->notice_context, r->session, RECORDING_LOST, 0, 0);
}

/* A hole shows only when what is behind it is read; to kill, the kernel's count is enough. */
static void look_for_losses(struct recording *r)
{
	if (r->options.on_loss == ON_LOSS_KILL && !r->told_lost &&
	    ring_fill(&r->ring) >= r->ground.high_water && account_has_losses(r->account) == 1)
		tell_lost(r);
}

/* The gap has the time of the record behind it, so that it can be put in its place. */
static int on_gap(void *context, const struct account_gap *gap)
{
	struct recording *r = context;
	struct event *e = recording_begin(r, EVENT_gap);

	if (gap->boot_ns) {
		e->time_ns -= e->boot_ns - gap->boot_ns;
		e->boot_ns = gap->boot_ns;
	}
	event_put_text(e, FIELD_class, event_class_names[gap->class]);
	event_put_u64(e, FIELD_cpu, gap->cpu);
	event_put_u64(e, FIELD_count, gap->count);
	if (gap->numbered) {
		event_put_u64(e, FIELD_first, gap->first);
		event_put_u64(e, FIELD_last, gap->last);
	}
	event_put_text(e, FIELD_reason, gap->reason);

	metric_add(&r->host->metrics->lost[metric_loss((enum event_class)gap->class, gap->reason)],
		   gap->count);
	tell_lost(r);
	return recording_emit(r, e);
}

/* ---- records ---- */

static void add_usage(struct recording_usage *usage, const struct event *e)
{
	if (e->kind == EVENT_process_fork)
		usage->processes++;
	else if (e->kind == EVENT_file_modify)
		usage->write_bytes += event_u64(e, FIELD_bytes_written, 0);
}

/* Without memory for it nothing is said of what records do not explain. */
static void explain(struct recording *r, const struct event *e)
{
	enum event_class class = kind_table[e->kind].class;

	if (!r->options.is_explained || (class != EVENT_CLASS_file && e->kind != EVENT_net_unix))
		return;
	if (r->explained || explained_new(&r->explained) == 0)
		explained_take(r->explained, e);
	else
		r->options.is_explained = false;
}

static int on_event(void *context, struct event *e)
{
	struct recording *r = context;

	explain(r, e);
	if (e->kind == EVENT_process_fork || e->kind == EVENT_file_modify) {
		struct recording_exec *exec =
			recording_find_exec(r, event_u64(e, FIELD_exec, UINT32_MAX));

		add_usage(&r->usage, e);
		if (exec)
			add_usage(&exec->usage, e);
	}
	return recording_emit(r, e);
}

static int on_whole(void *context, const struct wire_record *record)
{
	struct recording *r = context;
	enum wire_class class = record->head->class;
	uint64_t filtered = r->capture->filtered[class];

	r->capture->wall_minus_boot_ns = r->host->wall_minus_boot_ns;
	int e = capture_record(r->capture, record);
	if (e < 0)
		return account_spoiled(r->account, record->head,
				       e == -ENOMEM ? "memory" : "malformed");
	account_filtered(r->account, class, r->capture->filtered[class] > filtered);
	return 0;
}

/* What cannot be read keeps its number: that shows as a hole, and the hole becomes a gap. */
static int take_record(struct recording *r, struct bytes bytes, uint64_t position)
{
	struct wire_record record;
	const char *why;

	if (wire_decode(bytes.data, bytes.size, &record, &why) < 0)
		return 0;
	int e = account_record(r->account, record.head);
	if (e == -EBADMSG)
		return 0;
	return e < 0 ? e : join_record(r->join, &record, position);
}

/* ---- drains ---- */

/* All that was read is in the file, or with the redactor, and that was told before. */
static void tell_settled(struct recording *r)
{
	struct in_hand *told = &r->host->in_hand[r->ground.slot];

	for (int class = 0; class < WIRE_CLASS_COUNT; class ++)
		__atomic_store_n(&told->settled[class], account_settled(r->account, class),
				 __ATOMIC_RELEASE);
}

/* What lies below the oldest held record is in the file: its room goes back to the kernel. */
static int commit(struct recording *r)
{
	int e = recording_commit(r);
	if (e < 0)
		return e;
	uint64_t oldest = join_oldest(r->join, r->ring.position);

	if (r->freeze)
		freezer_look(r->host->freezer, r->freeze);
	ring_release(&r->ring, oldest);
	if (oldest == r->ring.position)
		tell_settled(r);
	recording_look_after_freeze(r);
	return 0;
}

static int drain_up_to(struct recording *r, uint64_t limit, enum ring_state *ret_state)
{
	uint64_t committed = r->ring.position, position;
	struct bytes bytes;
	int e = 0;

	while ((*ret_state = ring_next(&r->ring, limit, &bytes, &position)) == RING_RECORD) {
		e = take_record(r, bytes, position);
		if (e == 0 && r->ring.position - committed >= COMMIT_BYTES) {
			e = commit(r);
			committed = r->ring.position;
		}
		if (e < 0 || r->waiting_since)
			break;
	}
	return e;
}

/* The memory is not that of a ring: whatever follows shows as a hole at the end. */
static void give_up_ring(struct recording *r)
{
	r->has_ring = false;
	r->host->notice(r->host->notice_context, r->session, RECORDING_TROUBLE, EBADMSG, 0);
}

static bool drain(struct recording *r)
{
	enum ring_state state = RING_END;

	if (!r->has_ring || r->waiting_since)
		return false;
	uint64_t limit = ring_produced(&r->ring);
	uint64_t fill = ring_fill(&r->ring);
	bool is_idle = fill == 0;
	if (is_idle && !account_is_open(r->account) && ++r->idle_drains % IDLE_DRAINS != 0)
		return false;

	if (!is_idle)
		metric_observe(r->host->metrics->ring_fill, METRIC_RATIO,
			       recording_fullness(r, fill));
	look_for_losses(r);
	capture_take_names(r->capture);
	int e = drain_up_to(r, limit, &state);
	if (e == 0 && !r->waiting_since)
		e = join_settle(r->join, clock_ns(CLOCK_BOOTTIME));
	if (e == 0 && !r->waiting_since)
		account_settle(r->account);
	commit(r);
	if (state == RING_BAD)
		give_up_ring(r);
	return !is_idle;
}

/* A record begins with what its session is: what comes before that is told waits in the ring. */
bool recording_drain_ring(struct recording *r)
{
	return r->has_ring && journal_next_seq(r->journal) > 1 && drain(r);
}

void recording_drain(struct recording *r)
{
	recording_drain_ring(r);
}

/* Wait for what is still being written, then take it. */
static void drain_to_end(struct recording *r)
{
	for (int tries = 0; r->has_ring && !r->waiting_since && tries < BUSY_TRIES; tries++) {
		drain(r);
		if (r->ring.position == ring_produced(&r->ring))
			break;
		usleep(BUSY_PAUSE_USEC);
	}
}

/*
 * The journal could not be written to the end: records above the consumer position were counted as
 * journaled and are not in the file.
 */
static void count_unwritten(struct recording *r)
{
	uint64_t read_up_to = r->ring.position, position;
	struct bytes bytes;
	struct wire_record record;
	const char *why;

	if (!r->has_ring)
		return;
	ring_rewind(&r->ring);
	while (ring_next(&r->ring, read_up_to, &bytes, &position) == RING_RECORD)
		if (wire_decode(bytes.data, bytes.size, &record, &why) == 0)
			account_unwritten(r->account, record.head);
}

/* True where that is not known. */
static bool has_written_files(const struct recording *r)
{
	struct file_counts counts;
	int e = bpf_map_lookup_elem(r->host->file_counts_fd, &r->ground.slot, &counts);

	return e < 0 || counts.live != 0;
}

int recording_finish_ring(struct recording *r)
{
	if (r->is_finished && r->ring.position == ring_produced(&r->ring))
		return 0;
	drain_to_end(r);
	if (r->waiting_since) {
		count_unwritten(r);
		account_finish(r->account);
		return -r->waiting_error;
	}

	capture_take_names(r->capture);
	int e = join_flush(r->join);
	if (e == 0 && !r->is_finished)
		e = capture_finish(r->capture,
				   has_written_files(r) ? r->host->written_files_fd : -1);
	if (e == 0)
		e = account_finish(r->account);
	r->is_finished = e == 0;
	return e;
}

void recording_finish_ahead(struct recording *r)
{
	drain_to_end(r);
	if (!r->waiting_since)
		(void)recording_finish_ring(r);
}

/* ---- freezing ---- */

static void tell_paused(struct recording *r, uint64_t since)
{
	struct event *e = recording_begin(r, EVENT_session_pause);

	e->time_ns -= e->boot_ns - since;
	e->boot_ns = since;
	event_put_text(e, FIELD_reason, "journal_behind");
	event_put_text(e, FIELD_by, "recorder");
	recording_emit(r, e);
	r->paused_since = since;
	metric_add(&r->host->metrics->freezes[METRIC_FREEZE_BEHIND], 1);
}

static void tell_resumed(struct recording *r)
{
	struct event *e = recording_begin(r, EVENT_session_resume);

	event_put_text(e, FIELD_reason, "journal_behind");
	event_put_text(e, FIELD_by, "recorder");
	event_put_u64(e, FIELD_usage_wall_ns, e->boot_ns - r->paused_since);
	metric_add(&r->host->metrics->frozen[METRIC_FREEZE_BEHIND], e->boot_ns - r->paused_since);
	recording_emit(r, e);
	r->paused_since = 0;
}

/*
 * Room for the execs that have begun, too: they end in a frozen session as well. One that does not
 * waits for a process that is frozen.
 */
static bool has_room(const struct recording *r)
{
	uint64_t mark = r->ground.high_water;

	return ring_fill(&r->ring) < mark / 4 &&
	       (freeze_load(r->freeze) < mark / 2 ||
		clock_ns(CLOCK_BOOTTIME) - r->paused_since > EXEC_WAIT_NS);
}

void recording_look_after_freeze(struct recording *r)
{
	uint64_t since;

	if (!r->freeze || r->waiting_since || !freeze_is_behind(r->freeze, &since))
		return;
	if (!r->paused_since)
		tell_paused(r, since);
	if (has_room(r)) {
		tell_resumed(r);
		freezer_release(r->host->freezer, r->freeze, FREEZE_BEHIND);
	}
}

/* ---- life ---- */

/* Wire records may be there already: their numbers belong to this session. */
static void expect_waiting(struct recording *r)
{
	uint64_t limit = ring_produced(&r->ring), position;
	struct bytes bytes;
	struct wire_record record;
	const char *why;

	while (ring_next(&r->ring, limit, &bytes, &position) == RING_RECORD)
		if (wire_decode(bytes.data, bytes.size, &record, &why) == 0)
			account_expect(r->account, record.head);
	ring_rewind(&r->ring);
}

static int on_ring(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source;
	(void)fd;
	(void)events;
	recording_drain_ring(context);
	return 0;
}

static int watch_ring(struct recording *r)
{
	/* Edges: the kernel wakes at the high-water mark, the tick comes in any case. */
	int e = sd_event_add_io(r->host->loop, &r->ring_source, r->ground.ring_fd,
				EPOLLIN | EPOLLET, on_ring, r);
	return e < 0 ? e : sd_event_source_set_priority(r->ring_source, RING_PRIORITY);
}

static int start_freezer(struct recording *r)
{
	const struct recording_ground *o = &r->ground;

	if (o->freeze_fd < 0)
		return 0;
	return freezer_add(
		r->host->freezer,
		&(struct freeze_options){
			.ring_fd = o->ring_fd,
			.ring = &r->ring,
			.coming = r->host->exec_bytes ? &r->host->exec_bytes[o->slot] : NULL,
			.high_water = r->options.on_loss == ON_LOSS_FREEZE ? o->high_water : 0,
			.freeze_fd = o->freeze_fd,
		},
		&r->freeze);
}

static int start_capture(struct recording *r)
{
	const struct recording_ground *o = &r->ground;

	return capture_new(
		&(struct capture_options){
			.session = r->session,
			.slot = o->slot,
			.uid_base = o->uid_base,
			.uid_count = o->uid_count,
			.names_fd = r->host->names_fd,
			.fanotify_fd = o->fanotify_fd,
			.root_mount_fd = o->root_mount_fd,
			.emit = on_event,
			.emit_context = r,
		},
		&r->capture);
}

int recording_find_ring(struct recording *r)
{
	int e = kept_rings_take(r->host->rings, r->ground.ring_id, r->ground.ring_fd,
				r->ground.ring_bytes, &r->ring);
	if (e < 0)
		return e;
	r->has_ring = true;

	e = account_new(
		&(struct account_options){
			.cpus = r->host->cpus,
			.numbers = read_numbers,
			.losses = read_losses,
			.gap = on_gap,
			.context = r,
		},
		&r->account);
	if (e == 0)
		e = join_new(&(struct join_options){.emit = on_whole, .context = r}, &r->join);
	if (e == 0)
		e = start_capture(r);
	return e;
}

int recording_watch_ring(struct recording *r)
{
	expect_waiting(r);
	int e = watch_ring(r);
	return e < 0 ? e : start_freezer(r);
}

void recording_leave_ring(struct recording *r)
{
	r->ring_source = sd_event_source_disable_unref(r->ring_source);
	if (r->freeze)
		freezer_remove(r->host->freezer, r->freeze);
	r->freeze = NULL;
	/* What still stands in the ring of a session with secrets is not kept mapped. */
	kept_rings_give(r->host->rings, r->has_secrets ? 0 : r->ground.ring_id, &r->ring);
	r->has_ring = false;
}

void recording_free_capture(struct recording *r)
{
	capture_free(r->capture);
	join_free(r->join);
	account_free(r->account);
	r->capture = NULL;
	r->join = NULL;
	r->account = NULL;
}
