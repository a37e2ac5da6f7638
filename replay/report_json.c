/*
 * A report as one JSON object.
 */
#include "changes_text.h"
#include "contacts_text.h"
#include "report.h"
#include "tally_json.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/json.h"

#include <errno.h>

static void write_event(struct document *d, const char *key, const struct report *r,
			const struct event *e)
{
	struct json_buffer line = {0};
	int error;

	if (!e->kind) {
		document_null(d, key);
		return;
	}
	error = json_write_event(&line, r->session, e);
	if (error == 0)
		document_raw(d, key, (struct bytes){line.text, line.length});
	else
		d->error = error;
	json_buffer_free(&line);
}

static void write_kept(struct document *d, const char *key, const struct report *r,
		       const struct kept_list *list)
{
	document_open(d, key, '[');
	for (size_t i = 0; i < list->count; i++)
		write_event(d, NULL, r, &list->items[i].event);
	document_close(d, '[');
}

static int write_files(struct document *d, const struct report *r, FILE *out)
{
	cleanup(free) struct change *list = NULL;
	size_t count;
	int error = changes_list(r->changes, &list, &count);

	if (error < 0)
		return error;
	changes_write_left_out_json(r->changes, d);
	document_open(d, "changes", '[');
	for (size_t i = 0; i < count; i++) {
		change_write_json(&list[i], r->actors, d);
		document_flush(d, out);
	}
	document_close(d, '[');
	return 0;
}

static void write_hosts(struct document *d, const struct report *r, FILE *out)
{
	document_u64(d, "contacts_without_room", contacts_left_out(r->contacts));
	document_open(d, "contacts", '[');
	for (size_t i = 0; i < contacts_count(r->contacts); i++) {
		struct contact contact = contacts_get(r->contacts, i);

		contact_write_json(r->contacts, &contact, r->actors, d);
		document_flush(d, out);
	}
	document_close(d, '[');
	document_open(d, "contact_names", '[');
	for (size_t i = 0; i < contacts_name_count(r->contacts); i++) {
		struct contact_name name = contacts_name(r->contacts, i);

		contact_name_write_json(&name, r->actors, d);
		document_flush(d, out);
	}
	document_close(d, '[');
}

static void write_redactions(struct document *d, const struct redactions *all)
{
	document_open(d, "redactions", '[');
	for (size_t i = 0; i < keymap_count(all->rules); i++) {
		document_open(d, NULL, '{');
		document_text(d, "rule", keymap_key(all->rules, i));
		document_u64(d, "times", all->times[i]);
		document_close(d, '{');
	}
	document_close(d, '[');
}

static void write_verification(struct document *d, const struct verify_result *verified)
{
	document_open(d, "verification", '{');
	document_string(d, "verdict", verdict_names[verified ? verified->verdict : VERIFY_UNKNOWN]);
	if (verified && verified->why[0])
		document_string(d, "why", verified->why);
	if (verified && verified->first_bad)
		document_u64(d, "first_bad", verified->first_bad);
	document_u64(d, "signed", verified ? verified->signed_records : 0);
	document_close(d, '{');
}

/* The first commands: what was given, and how each ended. */
static void write_given(struct document *d, const struct report *r)
{
	const struct given_list *g = &r->tally->given;

	document_u64(d, "commands_given", g->times);
	document_open(d, "commands", '[');
	for (size_t i = 0; i < g->count; i++) {
		document_open(d, NULL, '{');
		write_event(d, "start", r, &g->starts[i].event);
		write_event(d, "end", r, &g->ends[i].event);
		document_close(d, '{');
	}
	document_close(d, '[');
}

int report_write_json(const struct report *r, FILE *out)
{
	static const char *const verdicts[] = {
		[VERDICT_PLAIN] = "plain", [VERDICT_LOOK] = "look", [VERDICT_DOUBT] = "doubt"};
	struct document d = {0};
	int error;

	document_open(&d, NULL, '{');
	document_string(&d, "session", r->session);
	document_string(&d, "verdict", verdicts[report_verdict(r)]);
	document_bool(&d, "ended", r->how == VIEW_ENDED);
	write_verification(&d, r->request->verified);
	write_event(&d, "start", r, &r->tally->start.event);
	write_event(&d, "end", r, &r->tally->end.event);
	write_given(&d, r);
	tally_write_json(r->tally, &d);
	write_redactions(&d, r->redactions);
	error = write_files(&d, r, out);
	write_hosts(&d, r, out);
	write_kept(&d, "denied", r, &r->denied);
	document_u64(&d, "denied_left_out", r->denied.left_out);
	write_kept(&d, "holes", r, &r->holes);
	document_u64(&d, "holes_left_out", r->holes.left_out);
	document_close(&d, '{');
	if (error < 0 && !d.error)
		d.error = error;
	return document_finish(&d, out);
}
