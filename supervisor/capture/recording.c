/*
 * The life of a recording: open, vitrined's events, commands, the end.
 */
#include "recording.h"

#include "../record/cleanup.h"
#include "../redact/rules.h"
#include "../redact/shapes.h"
#include "clock.h"
#include "recording_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char **ret_why, int error, const char *why)
{
	*ret_why = why;
	return error;
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(take_fd(*fd));
}

/* ---- open ---- */

static int copy_reads(struct recording *r)
{
	size_t count = json_array_size(r->options.watch_reads);

	r->reads = calloc(count + 1, sizeof(*r->reads));
	if (!r->reads)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *glob = json_string_value(json_array_get(r->options.watch_reads, i));

		r->reads[i] = strdup(glob ? glob : "");
		if (!r->reads[i])
			return -ENOMEM;
	}
	return 0;
}

static int switch_off(struct recording *r, struct redactor *redactor)
{
	json_t *rule;
	size_t i;

	json_array_foreach ((json_t *)r->options.redact_off, i, rule) {
		const char *name = json_string_value(rule);
		int e = name ? redactor_switch_off(redactor, name) : -EINVAL;

		if (e < 0)
			return e;
	}
	return 0;
}

static void on_cut(void *context, size_t rule, bool is_over_budget)
{
	struct recording *r = context;

	metric_add(&r->host->metrics->redactions[rule ? metric_rule(rule - 1) : 0], 1);
	if (is_over_budget)
		metric_add(r->host->metrics->redaction_budget, 1);
}

static int new_redactor(struct recording *r, const struct shapes *shapes,
			struct redactor **ret_redactor)
{
	const struct recording_options *o = &r->options;
	int e = redactor_new(r->host->key, shapes, o->secrets, o->secret_count, ret_redactor);

	return e < 0 ? e : switch_off(r, *ret_redactor);
}

/* The one that was made ahead is for who asks for nothing. The policy's rules were checked when it
 * was made: what fails here is memory. */
static int make_redactor(struct recording *r, const char **ret_why)
{
	const struct recording_options *o = &r->options;
	const struct shapes *shapes = r->host->shapes;
	char why[RULES_WHY];
	int e = 0;

	if (shapes && json_array_size(o->redact_rules)) {
		e = shapes_change(shapes, o->redact_rules, &r->shapes, why);
		shapes = r->shapes;
	}
	if (e < 0)
		return fail(ret_why, e, "cannot set up the policy's rules of redaction");
	if (r->shapes || o->secret_count || json_array_size(o->redact_off)) {
		redactor_free(take(r->redactor));
		e = new_redactor(r, shapes, &r->redactor);
	}
	if (e == -EINVAL)
		return fail(ret_why, e, "a secret is too short to be redacted");
	if (e == 0 && o->redact_output)
		e = new_redactor(r, shapes, &r->delivery);
	if (e < 0)
		return fail(ret_why, e, "cannot set up redaction");
	redactor_watch(r->redactor, on_cut, r);
	return 0;
}

/* ---- what is there before it is known what for ---- */

static int open_journal(struct recording *r, const char **ret_why)
{
	const struct journal_options options = {.session = r->session,
						.compress = true,
						.system = &r->host->system,
						.key = r->ground.key};
	int e = journal_open(r->ground.journal_fd, &options, &r->journal);

	if (e < 0)
		return fail(ret_why, e, "cannot open the journal");
	recording_look_back(r);
	return 0;
}

/* The descriptors belong to the recording once everything else is there. */
static void leave_descriptors(struct recording *r)
{
	r->ground.ring_fd = r->ground.freeze_fd = -1;
	r->ground.fanotify_fd = r->ground.root_mount_fd = -1;
}

int recording_prepare(struct recording_host *host, const struct recording_ground *ground,
		      struct recording **ret_recording, const char **ret_why)
{
	struct recording *r = calloc(1, sizeof(*r));
	if (!r)
		return fail(ret_why, -ENOMEM, "out of memory");

	r->host = host;
	r->ground = *ground;
	for (size_t i = 0; i < RECORDING_EXECS; i++)
		r->execs[i].gate_fd = -1;
	r->session = strdup(ground->session);
	r->arena = json_arena_new();
	int e = r->session && r->arena ? 0 : -ENOMEM;
	*ret_why = "out of memory";
	if (e == 0) {
		*ret_why = "cannot set up redaction";
		e = redactor_new(host->key, host->shapes, NULL, 0, &r->redactor);
	}
	if (e == 0) {
		redactor_share(r->redactor, host->clean);
		e = open_journal(r, ret_why);
	}
	if (e == 0 && ground->ring_fd >= 0) {
		*ret_why = "cannot watch the ring";
		e = recording_find_ring(r);
	}
	if (e < 0) {
		recording_leave_ring(r);
		leave_descriptors(r);
		recording_free(r);
		return e;
	}
	r->ground.session = r->session;
	r->ground.journal_fd = -1; /* borrowed for this alone, as is the key */
	r->ground.key = NULL;
	*ret_recording = r;
	return 0;
}

/* ---- what the session asks for ---- */

static int watch(struct recording *r, const char **ret_why)
{
	const struct recording_options *o = &r->options;

	if (o->is_bare) {
		recording_leave_ring(r);
		recording_free_capture(r);
	}
	if (!r->capture)
		return 0;
	capture_ask(r->capture, r->reads, &o->syscalls);
	if (o->exec)
		capture_add_exec(r->capture, o->exec_cgroup, o->exec);
	int e = recording_watch_ring(r);
	return e < 0 ? fail(ret_why, e, "cannot watch the ring") : 0;
}

int recording_open(struct recording *r, const struct recording_options *options,
		   const char **ret_why)
{
	r->options = *options;
	r->has_secrets = options->secret_count > 0;
	r->output.limit = options->output_limit;
	*ret_why = "out of memory";
	int e = copy_reads(r);
	if (e == 0)
		e = make_redactor(r, ret_why);
	if (e == 0)
		e = watch(r, ret_why);
	if (e < 0)
		return e;

	/* What was borrowed for the opening alone. */
	r->options.secrets = NULL;
	r->options.watch_reads = r->options.redact_off = r->options.redact_rules = NULL;
	r->is_open = true;
	return 0;
}

bool recording_is_open(const struct recording *r)
{
	return r->is_open;
}

void recording_free_exec(struct recording_exec *exec)
{
	exec_relays_free(exec->relays);
	json_decref(exec->fields);
	close_descriptor(&exec->gate_fd);
	*exec = (struct recording_exec){.gate_fd = -1};
}

void recording_leave_files(struct recording *r)
{
	close_descriptor(&r->ground.fanotify_fd);
	close_descriptor(&r->ground.root_mount_fd);
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < RECORDING_EXECS; i++)
		recording_free_exec(&r->execs[i]);
	recording_leave_ring(r);
	recording_free_capture(r);
	recording_drop_end(r);
	close_descriptor(&r->ground.ring_fd);
	close_descriptor(&r->ground.freeze_fd);
	recording_leave_files(r);
	journal_close(r->journal);
	redactor_free(r->redactor);
	redactor_free(r->delivery);
	shapes_free(r->shapes);
	spill_clear(&r->spill);
	json_arena_free(r->arena);
	json_buffer_free(&r->verdict);
	for (size_t i = 0; r->reads && r->reads[i]; i++)
		free((char *)r->reads[i]);
	free(r->reads);
	free(r->session);
	free(r);
}

const char *recording_session(const struct recording *r)
{
	return r->session;
}

bool recording_is_ended(const struct recording *r)
{
	return r->is_ended;
}

/* ---- in between ---- */

static int deliver(void *context, const struct redacted *record)
{
	struct recording *r = context;
	uint64_t exec = event_u64(&record->event, FIELD_exec, 0);

	for (size_t i = 0; i < RECORDING_EXECS; i++) {
		struct exec_relays *relays = r->execs[i].relays;

		if (relays && exec_relays_exec(relays) == exec)
			return exec_relays_deliver(relays,
						   event_bytes(&record->event, FIELD_stream),
						   event_bytes(&record->event, FIELD_data));
	}
	return 0;
}

/* What waits for its end is not lost where memory is short: it goes on waiting. */
static void release_delivery(struct recording *r)
{
	if (r->delivery)
		(void)redact_flush(r->delivery, clock_ns(CLOCK_BOOTTIME), deliver, r);
}

/* Whose start cannot be written does not start. */
static void open_gate(const struct recording *r, struct recording_exec *exec)
{
	if (exec->gate_fd < 0 || r->waiting_since)
		return;
	(void)!write(exec->gate_fd, "", 1);
	close_descriptor(&exec->gate_fd);
}

bool recording_tick(struct recording *r)
{
	bool was_waiting = r->waiting_since != 0;

	recording_release_held(r);
	release_delivery(r);
	recording_look_after_journal(r);
	bool had_some = recording_drain_ring(r);
	recording_look_after_freeze(r);
	for (size_t i = 0; i < RECORDING_EXECS; i++) {
		if (r->execs[i].is_closed)
			recording_free_exec(&r->execs[i]);
		else if (r->execs[i].relays && (!r->waiting_since || r->gave_up))
			exec_relays_resume(r->execs[i].relays);
		open_gate(r, &r->execs[i]);
	}
	return had_some || was_waiting;
}

int recording_sign(struct recording *r, const struct checkpoints_key *key, const char **ret_why)
{
	int e = journal_sign(r->journal, key);

	return e < 0 ? fail(ret_why, e, "cannot sign the record") : 0;
}

int recording_read_fields(struct recording *r, json_t *fields, struct event *e,
			  const char **ret_why)
{
	if (event_from_json(r->arena, fields, e) < 0)
		return fail(ret_why, -EINVAL, json_arena_error(r->arena));
	return 0;
}

static void put_about(const struct recording_host *host, struct event *e)
{
	for (size_t i = 0; host->about && i < host->about->count; i++)
		if (!event_get(e, host->about->values[i].field))
			event_put_value(e, &host->about->values[i]);
}

int recording_event(struct recording *r, enum event_kind kind, json_t *fields, const char **ret_why)
{
	recording_drain_ring(r);

	struct event *e = recording_begin(r, kind);
	int error = recording_read_fields(r, fields, e, ret_why);
	if (error < 0)
		return error;

	if (kind == EVENT_session_start)
		put_about(r->host, e);
	*ret_why = "cannot write the event";
	error = recording_emit(r, e);
	if (error == 0 && !r->host->is_held)
		recording_commit(r);
	r->has_start |= error == 0 && kind == EVENT_session_start;
	return error;
}

int recording_missed(struct recording *r, uint64_t count)
{
	struct event *e = recording_begin(r, EVENT_gap);

	event_put_u64(e, FIELD_count, count);
	event_put_text(e, FIELD_reason, "missed");
	return recording_emit(r, e);
}

int recording_clock_step(struct recording *r, int64_t step_ns)
{
	struct event *e = recording_begin(r, EVENT_clock);

	event_put_i64(e, FIELD_step_ns, step_ns);
	return recording_emit(r, e);
}

/* ---- commands ---- */

struct recording_exec *recording_find_exec(struct recording *r, uint32_t exec)
{
	for (size_t i = 0; i < RECORDING_EXECS; i++)
		if (r->execs[i].relays && !r->execs[i].is_closed &&
		    exec_relays_exec(r->execs[i].relays) == exec)
			return &r->execs[i];
	return NULL;
}

struct exec_relays *recording_exec(struct recording *r, uint32_t exec)
{
	struct recording_exec *found = recording_find_exec(r, exec);

	return found ? found->relays : NULL;
}

static void over_limit(void *context, bool of_session)
{
	struct recording_exec *exec = context;
	struct recording *r = exec->owner;

	r->host->notice(r->host->notice_context, r->session, RECORDING_OUTPUT, 0,
			of_session ? 0 : exec_relays_exec(exec->relays));
}

/* A place that is free, or whose command has ended. */
static struct recording_exec *find_place(struct recording *r)
{
	for (size_t i = 0; i < RECORDING_EXECS; i++)
		if (!r->execs[i].relays || r->execs[i].is_closed)
			return &r->execs[i];
	return NULL;
}

int recording_add_exec(struct recording *r, const struct recording_command *command,
		       struct exec_relays **ret_relays)
{
	struct recording_exec *place = find_place(r);

	if (!r->capture)
		return -EINVAL;
	if (recording_find_exec(r, command->exec))
		return -EEXIST;
	if (!place)
		return -ENOSPC;
	recording_free_exec(place);
	int e = exec_relays_new(
		&(struct exec_relays_options){
			.loop = r->host->loop,
			.recording = r,
			.exec = command->exec,
			.output = r->options.output,
			.output_cap = r->options.output_cap,
			.output_limit = command->output_limit,
			.session = &r->output,
			.delivery = r->delivery,
			.over_limit = over_limit,
			.context = place,
		},
		&place->relays);
	if (e < 0)
		return e;
	place->owner = r;
	capture_add_exec(r->capture, command->cgroup, command->exec);
	*ret_relays = place->relays;
	return 0;
}

int recording_start_exec(struct recording *r, uint32_t exec, json_t *fields, int gate_fd,
			 const char **ret_why)
{
	struct recording_exec *found = recording_find_exec(r, exec);
	int e = found ? 0 : fail(ret_why, -ENOENT, "no such command");

	if (e == 0 && !r->has_start)
		e = fail(ret_why, -ENODATA, "the session's start is not in its record");
	if (e == 0)
		e = recording_event(r, EVENT_exec_start, fields, ret_why);
	if (e < 0)
		return e;
	recording_commit(r);
	close_descriptor(&found->gate_fd);
	found->gate_fd = gate_fd;
	open_gate(r, found);
	return 0;
}

void recording_put_usage(struct event *e, const struct recording_usage *usage)
{
	if (!event_get(e, FIELD_usage_processes))
		event_put_u64(e, FIELD_usage_processes, usage->processes);
	if (!event_get(e, FIELD_usage_write_bytes))
		event_put_u64(e, FIELD_usage_write_bytes, usage->write_bytes);
}

/* All streams of a command are carried on: its end can be told. */
static void on_exec_finished(void *context)
{
	struct recording_exec *exec = context;
	struct recording *r = exec->owner;
	uint32_t number = exec_relays_exec(exec->relays);
	struct exec_totals totals = exec_relays_totals(exec->relays);
	const char *why;

	recording_drain_ring(r);
	int error = recording_flush_redaction(r);
	struct event *e = recording_begin(r, EVENT_exec_end);
	if (error == 0)
		error = recording_read_fields(r, exec->fields, e, &why);
	if (error == 0) {
		event_put_u64(e, FIELD_exec, number);
		recording_put_usage(e, &exec->usage);
		exec_totals_put(&totals, e);
		error = recording_emit(r, e);
	}
	recording_commit(r);

	exec_totals_add(&r->totals, &totals);
	capture_end_exec(r->capture, number);
	exec->is_closed = true;
	if (exec->is_last)
		recording_finish_ahead(r);
	if (exec->closed)
		exec->closed(exec->context, r, number, &totals, error);
	recording_go_on(r);
}

int recording_close_exec(struct recording *r, uint32_t exec, json_t *fields,
			 recording_exec_closed *closed, void *context, const char **ret_why)
{
	struct recording_exec *found = recording_find_exec(r, exec);

	if (!found || exec_relays_is_finishing(found->relays))
		return fail(ret_why, -ENOENT, "no such command");
	int e = recording_read_fields(r, fields, recording_begin(r, EVENT_exec_end), ret_why);
	if (e < 0)
		return e;

	found->fields = json_incref(fields);
	found->is_last = !closed;
	found->closed = closed;
	found->context = context;
	exec_relays_finish(found->relays, on_exec_finished, found);
	return 0;
}

struct bytes recording_verdict(const struct recording *r)
{
	return (struct bytes){r->verdict.text, r->verdict.length};
}

json_t *recording_verdict_object(const struct recording *r)
{
	return json_loadb(r->verdict.text, r->verdict.length, 0, NULL);
}

/* ---- what it is like ---- */

void recording_gauge(const struct recording *r, struct recording_gauges *sums)
{
	sums->waiting += r->waiting_since != 0;
	sums->frozen += r->paused_since ||
			(r->waiting_since && r->freeze && r->options.on_loss != ON_LOSS_COUNT);
	if (!r->has_ring)
		return;
	uint64_t used = ring_fill(&r->ring), full = recording_fullness(r, used);

	sums->ring_size += r->ring.size_bytes;
	sums->ring_used += used;
	sums->ring_fullest = full > sums->ring_fullest ? full : sums->ring_fullest;
}

bool recording_tidy(struct recording *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (r->waiting_since || now < r->tidy_ns)
		return false;
	if (journal_tidy(r->journal))
		return true;
	r->tidy_ns = now + SECOND_NS;
	return false;
}
