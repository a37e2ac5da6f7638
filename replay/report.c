/*
 * Gathers a report.
 */
#include "report.h"

#include "counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(struct bytes bytes, const char *text)
{
	return bytes.data && bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

static int keep(struct kept_list *list, const struct event *e)
{
	int r;

	if (list->count == REPORT_KEPT_MAX) {
		list->left_out++;
		return 0;
	}
	r = kept_set(&list->items[list->count], e);
	if (r == 0)
		list->count++;
	return r;
}

static int keep_what_stands_out(struct report *r, const struct event *e)
{
	switch (e->kind) {
	case EVENT_attempt:
	case EVENT_limit:
		return keep(&r->denied, e);
	case EVENT_egress_verdict:
		return is_text(event_bytes(e, FIELD_verdict), "deny") ? keep(&r->denied, e) : 0;
	case EVENT_gap:
	case EVENT_coverage:
	case EVENT_record_retention:
		return keep(&r->holes, e);
	default:
		return 0;
	}
}

static void report_free(void *state)
{
	struct report *r = state;

	actors_free(r->actors);
	tally_free(r->tally);
	tree_free(r->tree);
	changes_free(r->changes);
	contacts_free(r->contacts);
	redactions_free(r->redactions);
	for (size_t i = 0; i < r->denied.count; i++)
		kept_free(&r->denied.items[i]);
	for (size_t i = 0; i < r->holes.count; i++)
		kept_free(&r->holes.items[i]);
	free(r);
}

static int report_begin(const struct view_options *options, void **ret_state)
{
	const struct report_request *request = options->asked;
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->session = options->session;
	r->request = request;
	r->out = options->out;
	r->actors = actors_new();
	r->tree = tree_new();
	r->changes = changes_new();
	r->contacts = contacts_new();
	if (!r->actors || !r->tree || !r->changes || !r->contacts || tally_new(&r->tally) < 0 ||
	    redactions_new(&r->redactions) < 0) {
		report_free(r);
		return -ENOMEM;
	}
	*ret_state = r;
	return 0;
}

static int report_event(void *state, const struct event *e, const struct origin *origin,
			bool wanted)
{
	struct report *r = state;
	int error = actors_add(r->actors, e);

	(void)wanted;
	r->origin = *origin;
	r->last_seq = e->seq;
	lanes_add(&r->lanes, origin_elapsed(origin, e), e);
	if (error == 0)
		error = tally_add(r->tally, e);
	if (error == 0)
		error = tree_add(r->tree, e, true);
	if (error == 0)
		error = changes_add(r->changes, r->actors, e);
	if (error == 0)
		error = contacts_add(r->contacts, r->actors, e);
	if (error == 0)
		error = redactions_add(r->redactions, e);
	return error ? error : keep_what_stands_out(r, e);
}

static void report_damage(void *state, const struct reader_damage *damage)
{
	struct report *r = state;

	tally_add_damage(r->tally);
	if (r->damage_count < REPORT_KEPT_MAX)
		r->damages[r->damage_count++] = *damage;
}

static int report_end(void *state, enum view_end how)
{
	struct report *r = state;

	r->how = how;
	return r->request->write(r, r->out);
}

const struct view view_report = {
	.begin = report_begin,
	.event = report_event,
	.damage = report_damage,
	.end = report_end,
	.free = report_free,
};

enum verdict_class report_verdict(const struct report *r)
{
	const struct event *end = &r->tally->end.event;
	struct counts counts;

	if (r->request->verified && r->request->verified->verdict == VERIFY_TAMPERED)
		return VERDICT_DOUBT;
	if (!end->kind || r->damage_count || r->tally->kinds[EVENT_gap] || r->tally->unknown_kinds)
		return VERDICT_DOUBT;
	if (!event_get(end, FIELD_counts) ||
	    counts_parse(event_bytes(end, FIELD_counts), &counts) < 0 || counts.lost)
		return VERDICT_DOUBT;
	if (r->denied.count || event_u64(end, FIELD_exit_code, 1))
		return VERDICT_LOOK;
	return VERDICT_PLAIN;
}

void report_write_verdict(const struct report *r, FILE *out)
{
	static const char *const words[] = {
		[VERDICT_PLAIN] = "ended well; nothing is missing from the record",
		[VERDICT_LOOK] = "look: it failed, or was refused something",
		[VERDICT_DOUBT] = "the record is not whole"};
	const struct verify_result *verified = r->request->verified;

	if (verified && verified->verdict == VERIFY_TAMPERED) {
		fputs("the record was TAMPERED WITH", out);
		return;
	}
	fputs(words[report_verdict(r)], out);
	if (!verified || verified->verdict == VERIFY_UNKNOWN)
		fputs("; not verified", out);
	else
		fputs("; verified", out);
}

int report_each_event(const struct report *r,
		      int (*take)(void *state, const struct report *r, const struct event *e),
		      void *state)
{
	struct reader *reader;
	uint64_t count = 0;
	struct event e;
	int error = reader_open(r->request->dir_fd, &reader);

	if (error < 0)
		return error;
	while (error == 0 && count < r->request->events_max) {
		enum reader_state at = reader_next(reader, &e);

		if (at == READER_END || (at == READER_STOPPED && !reader_skip_damage(reader)))
			break;
		if (at != READER_RECORD)
			continue;
		if (e.seq > r->last_seq)
			break;
		error = take(state, r, &e);
		count++;
	}
	reader_free(reader);
	return error;
}
