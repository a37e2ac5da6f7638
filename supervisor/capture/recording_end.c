/*
 * The end of a recording: what the ring still holds, what is still open, what the tree is like, and
 * then session.end, which counts all of it.
 */
#include "../record/cleanup.h"
#include "../record/jansson_cleanup.h"
#include "clock.h"
#include "recording_internal.h"

#include <errno.h>

/* A recording that waits for its commands, and then for what its tree is like. */
struct recording_ending {
	json_t *fields;	       /* owned; of session.end */
	sd_event_source *turn; /* while commands are being closed; then it goes on */
	struct recording_end end;
	bool has_account;
	bool has_lost_files;
	recording_closed *closed;
	void *context;
};

static json_t *counts_of(const struct recording *r, uint64_t *ret_lost)
{
	json_t *counts = json_object();

	*ret_lost = 0;
	for (size_t class = 0; r->account && class < WIRE_CLASS_COUNT; class ++) {
		struct account_counts c = account_counts(r->account, class);

		json_object_set_new(counts, event_class_names[class],
				    json_pack("{s:I, s:I, s:I}", "produced", (json_int_t)c.produced,
					      "journaled", (json_int_t)c.journaled, "lost",
					      (json_int_t)c.lost));
		*ret_lost += c.lost;
	}
	return counts;
}

/* Commands whose end was not told before the session's: nothing more of them is relayed. */
static void drop_execs(struct recording *r)
{
	for (size_t i = 0; i < RECORDING_EXECS; i++) {
		struct recording_exec *exec = &r->execs[i];

		if (!exec->relays || exec->is_closed)
			continue;
		struct exec_totals totals = exec_relays_totals(exec->relays);
		exec_totals_add(&r->totals, &totals);
		recording_free_exec(exec);
	}
}

static int finish_capture(struct recording *r)
{
	int error = r->account ? recording_finish_ring(r) : 0;

	return error ? error : recording_flush_redaction(r);
}

static int emit_summary(struct recording *r)
{
	struct event *e = &r->own;

	if (!redact_summary(r->redactor, e))
		return 0;
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);
	e->boot_ns = boot_ns;
	e->time_ns = boot_ns + r->host->wall_minus_boot_ns;
	return recording_emit(r, e);
}

/* What a record that had its end already says of losses. */
static uint64_t lost_in(const struct recording *r)
{
	cleanup(json) json_t *verdict = recording_verdict_object(r);
	json_t *counts = json_object_get(verdict, "counts"), *class;
	const char *name;
	uint64_t lost = 0;

	json_object_foreach (counts, name, class)
		lost += json_integer_value(json_object_get(class, "lost"));
	return lost;
}

static int emit_end(struct recording *r, const struct recording_ending *ending)
{
	const char *why;
	cleanup(free) char *counts = json_dumps(ending->end.counts, JSON_COMPACT);
	cleanup(free) char *summary = r->final ? final_summary(r->final) : NULL;
	cleanup(free) char *unexplained =
		r->final ? final_unexplained(r->final, ending->has_lost_files) : NULL;
	if (!counts)
		return -ENOMEM;

	struct event *e = recording_begin(r, EVENT_session_end);
	int error = recording_read_fields(r, ending->fields, e, &why);
	if (error < 0)
		return error;
	if (ending->has_account) {
		event_put_text(e, FIELD_counts, counts);
		recording_put_usage(e, &r->usage);
	}
	event_put_text(e, FIELD_final, summary);
	event_put_text(e, FIELD_unexplained, unexplained);
	exec_totals_put(&r->totals, e);
	return recording_emit(r, e);
}

static void free_ending(struct recording_ending *ending)
{
	sd_event_source_disable_unref(ending->turn);
	json_decref(ending->fields);
	json_decref(ending->end.counts);
	free(ending);
}

void recording_drop_end(struct recording *r)
{
	final_free(take(r->final));
	explained_free(take(r->explained));
	if (r->ending)
		free_ending(take(r->ending));
}

/* All that has to be told is told. */
static void write_end(void *context)
{
	struct recording *r = context;
	struct recording_ending *ending = r->ending;
	struct recording_end *end = &ending->end;

	if (!r->is_ended) {
		int error = emit_summary(r);
		int end_error = emit_end(r, ending);

		if (end->error == 0)
			end->error = -(error ? error : end_error);
	}
	if (end->error == 0)
		end->error = -recording_commit(r);
	end->records = journal_next_seq(r->journal) - 1; /* they are numbered from 1 */
	end->journal = take(r->journal);
	recording_leave_files(r);

	struct recording_end handed = *end;
	recording_closed *closed = ending->closed;
	void *closed_context = ending->context;
	end->counts = NULL;
	closed(closed_context, r, &handed);
}

static bool has_lost_files(const struct recording *r)
{
	return r->account && account_counts(r->account, WIRE_CLASS_file).lost > 0;
}

/* No command waits for its end any more. */
static void end(struct recording *r)
{
	struct recording_ending *ending = r->ending;
	int error;

	recording_retry(r);
	drop_execs(r);
	if (!r->is_ended) {
		error = finish_capture(r);
		ending->end.counts = counts_of(r, &ending->end.lost);
		int left_error = recording_end_left(r);
		ending->end.error = -(error ? error : left_error);
		ending->has_account = r->account != NULL;
		ending->has_lost_files = has_lost_files(r);
	} else {
		ending->end.lost = lost_in(r);
	}
	r->has_ring = false; /* nothing more comes; the end does not wait until it is let go of */
	if (r->is_looked_at)
		recording_leave_ring(r);
	if (r->final && !r->is_ended)
		final_read(r->final, write_end, r);
	else
		write_end(r);
}

static bool is_closing_commands(const struct recording *r)
{
	for (size_t i = 0; i < RECORDING_EXECS; i++)
		if (r->execs[i].relays && exec_relays_is_finishing(r->execs[i].relays))
			return true;
	return false;
}

void recording_go_on(struct recording *r)
{
	if (r->ending && r->ending->turn && !is_closing_commands(r))
		sd_event_source_set_enabled(r->ending->turn, SD_EVENT_ONESHOT);
}

static int on_turn(sd_event_source *source, void *context)
{
	(void)source;
	end(context);
	return 0;
}

/* It goes on from the loop, and not from within the relay that was the last. */
static int wait_for_commands(struct recording *r)
{
	int e = sd_event_add_defer(r->host->loop, &r->ending->turn, on_turn, r);

	if (e >= 0)
		e = sd_event_source_set_enabled(r->ending->turn, SD_EVENT_OFF);
	if (e < 0)
		free_ending(take(r->ending));
	return e < 0 ? e : 0;
}

int recording_close(struct recording *r, json_t *fields, recording_closed *closed, void *context,
		    const char **ret_why)
{
	int error =
		recording_read_fields(r, fields, recording_begin(r, EVENT_session_end), ret_why);
	if (error < 0)
		return error;
	if (r->ending) {
		*ret_why = "the session is being closed already";
		return -EALREADY;
	}
	*ret_why = "out of memory";
	r->ending = calloc(1, sizeof(*r->ending));
	if (!r->ending)
		return -ENOMEM;
	*r->ending = (struct recording_ending){
		.fields = json_incref(fields), .closed = closed, .context = context};
	if (is_closing_commands(r))
		return wait_for_commands(r);
	end(r);
	return 0;
}

int recording_look(struct recording *r, int socket, uint64_t seconds, const char **ret_why)
{
	int error = r->final ? -EALREADY : 0;

	if (error == 0 && !r->explained)
		error = explained_new(&r->explained);
	if (error == 0)
		error = final_new(&(struct final_options){.loop = r->host->loop,
							  .recording = r,
							  .explained = r->explained,
							  .uid_base = r->ground.uid_base,
							  .uid_count = r->ground.uid_count,
							  .seconds = seconds,
							  .socket = socket},
				  &r->final);
	if (error < 0)
		*ret_why = "cannot look at the tree";
	else
		r->is_looked_at = socket >= 0;
	return error;
}

void recording_seal(struct recording *r)
{
	recording_retry(r);
	drop_execs(r);
	if (r->account)
		recording_finish_ring(r);
	recording_flush_redaction(r);
	recording_commit(r);
}
