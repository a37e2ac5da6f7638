/*
 * The first part of a report: what a reader with ten seconds wants to know, a row each.
 */
#include "attack_text.h"
#include "contacts_text.h"
#include "report.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"

#include <inttypes.h>
#include <string.h>

#define NAMED_MAX 6 /* things that a row tells by name */

static void write_part(const struct report *r, const struct pen *pen, const struct event *e,
		       struct part part)
{
	(void)r;
	line_write_part(pen, e, &part);
}

static bool row_command(const struct report *r, const struct pen *pen)
{
	const struct event *start = &r->tally->start.event;

	if (!start->kind || !event_get(start, FIELD_command))
		return false;
	write_part(r, pen, start, (struct part){"", FIELD_command});
	return true;
}

static bool row_commands(const struct report *r, const struct pen *pen)
{
	const struct given_list *g = &r->tally->given;

	if (!tally_has_commands(r->tally))
		return false;
	fprintf(pen->out, "%" PRIu64 " given", g->times);
	for (size_t i = 0; i < g->count && i < GIVEN_SHOWN_MAX; i++) {
		fputs("; ", pen->out);
		given_write(g, i, pen);
	}
	if (g->times > GIVEN_SHOWN_MAX)
		fputs("; and more", pen->out);
	return true;
}

static bool row_verdict(const struct report *r, const struct pen *pen)
{
	const struct event *end = &r->tally->end.event;
	const char *how = view_end_text(r->how);

	if (end->kind)
		write_part(r, pen, end, (struct part){"", FIELD_NONE, SHOW_VERDICT});
	else
		fputs(how ? how : "the record does not say how it ended", pen->out);
	fputs(", ", pen->out);
	write_duration(pen->out, r->tally->last_boot_ns - r->tally->first_boot_ns);
	return true;
}

static bool row_when(const struct report *r, const struct pen *pen)
{
	if (!r->tally->records)
		return false;
	write_wall_clock(pen->out, r->origin.time_ns, 3);
	fputs(" to ", pen->out);
	write_wall_clock(pen->out, r->tally->last_time_ns, 3);
	return true;
}

static bool row_who(const struct report *r, const struct pen *pen)
{
	const struct event *start = &r->tally->start.event;

	if (!event_get(start, FIELD_user_name) && !event_get(start, FIELD_user_uid))
		return false;
	write_part(r, pen, start, (struct part){"", FIELD_user_name});
	write_part(r, pen, start, (struct part){" uid ", FIELD_user_uid});
	write_part(r, pen, start, (struct part){" of ", FIELD_tenant});
	write_part(r, pen, start, (struct part){" on ", FIELD_host});
	write_part(r, pen, start, (struct part){", labels ", FIELD_labels});
	return true;
}

static bool row_sandbox(const struct report *r, const struct pen *pen)
{
	const struct event *start = &r->tally->start.event;

	if (!event_get(start, FIELD_network) && !event_get(start, FIELD_template_name))
		return false;
	write_part(r, pen, start, (struct part){"root file system ", FIELD_template_name});
	write_part(r, pen, start, (struct part){", network ", FIELD_network});
	write_part(r, pen, start, (struct part){", workspace ", FIELD_workspace});
	write_part(r, pen, start, (struct part){", on loss ", FIELD_on_loss});
	write_part(r, pen, start, (struct part){", policy ", FIELD_policy_sha256});
	return true;
}

static bool row_ran(const struct report *r, const struct pen *pen)
{
	tally_write_processes(r->tally, pen);
	return true;
}

/* The programs of the session, each once, in the order in which they first ran. */
static bool row_programs(const struct report *r, const struct pen *pen)
{
	struct keymap *seen = keymap_new(64);
	size_t count = 0, more = 0;

	for (size_t i = 0; seen && i < actors_count(r->actors); i++) {
		const struct actor *actor = actors_get(r->actors, i);
		size_t before = keymap_count(seen), number;
		struct bytes program = {actor->program, actor->program_size};

		if (!program.size)
			continue;
		if (keymap_add(seen, program, &number) < 0)
			more++;
		else if (keymap_count(seen) > before && ++count <= 3 * NAMED_MAX) {
			fputs(count > 1 ? ", " : "", pen->out);
			printable_word(pen->out, &pen->printable, program);
		}
	}
	if (count > 3 * NAMED_MAX || more)
		fputs(" and others", pen->out);
	keymap_free(seen);
	return count > 0;
}

static bool row_changed(const struct report *r, const struct pen *pen)
{
	cleanup(free) struct change *list = NULL;
	uint64_t counts[OUTCOME_COUNT] = {0}, unproven = 0;
	size_t count;
	bool any = false;

	if (changes_list(r->changes, &list, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		counts[list[i].outcome]++;
		unproven += list[i].unproven;
	}
	for (size_t i = 1; i < OUTCOME_COUNT; i++) {
		if (!counts[i])
			continue;
		fprintf(pen->out, "%s%s %" PRIu64, any ? ", " : "", outcome_names[i], counts[i]);
		any = true;
	}
	fputs(any ? "" : "no file", pen->out);
	if (unproven)
		fprintf(pen->out, "; %" PRIu64 " names not proven", unproven);
	write_part(r, pen, &r->tally->end.event, (struct part){"", FIELD_NONE, SHOW_UNEXPLAINED});
	return true;
}

/* The first few that the session asked for, by name where they have one. */
static void write_first_ends(const struct report *r, const struct pen *pen)
{
	size_t named = 0;

	for (size_t i = 0; i < contacts_count(r->contacts) && named < NAMED_MAX; i++) {
		struct contact contact = contacts_get(r->contacts, i);

		if (contact.way != WAY_OUT)
			continue;
		if (contact.name_count)
			contact.address = contacts_name(r->contacts, contact.names[0]).name;
		fputs(named++ ? ", " : "; ", pen->out);
		contact_write_end(&contact, pen);
	}
	for (size_t i = 0; !named && i < contacts_name_count(r->contacts) && i < NAMED_MAX; i++) {
		fputs(i ? ", " : "; ", pen->out);
		printable_word(pen->out, &pen->printable, contacts_name(r->contacts, i).name);
	}
}

static bool row_contacted(const struct report *r, const struct pen *pen)
{
	uint64_t out = 0, in = 0, failed = 0;

	for (size_t i = 0; i < contacts_count(r->contacts); i++) {
		struct contact contact = contacts_get(r->contacts, i);

		out += contact.way == WAY_OUT;
		in += contact.way == WAY_IN;
		failed +=
			contact.way == WAY_OUT && contact.tries && contact.failed == contact.tries;
	}
	if (!out && !in && !contacts_name_count(r->contacts)) {
		fputs("nobody", pen->out);
		return true;
	}
	fprintf(pen->out, "%" PRIu64 " ends", out);
	if (failed)
		fprintf(pen->out, " (%" PRIu64 " never reached)", failed);
	fprintf(pen->out, ", %zu names", contacts_name_count(r->contacts));
	if (in)
		fprintf(pen->out, ", %" PRIu64 " came in", in);
	fputs("; sent ", pen->out);
	write_size(pen->out, r->tally->bytes_sent);
	fputs(", received ", pen->out);
	write_size(pen->out, r->tally->bytes_received);
	write_first_ends(r, pen);
	return true;
}

static bool row_denied(const struct report *r, const struct pen *pen)
{
	uint64_t count = r->denied.count + r->denied.left_out;

	if (!count)
		fputs("nothing in the record", pen->out);
	else
		fprintf(pen->out, "%" PRIu64 " acts", count);
	return true;
}

/* Techniques, each once, however many rules lead to it. */
static bool row_attack(const struct report *r, const struct pen *pen)
{
	const struct tally *t = r->tally;
	bool any = false;

	for (size_t i = 0; attack_rule(i); i++) {
		uint64_t times = 0;
		bool is_first = true;

		for (size_t k = 0; attack_rule(k); k++) {
			if (strcmp(attack_rule(i)->technique, attack_rule(k)->technique) != 0)
				continue;
			times += t->attacks[k];
			is_first &= k >= i;
		}
		if (!times || !is_first)
			continue;
		fprintf(pen->out, "%s%s %s %" PRIu64, any ? ", " : "", attack_rule(i)->technique,
			attack_rule(i)->name, times);
		any = true;
	}
	return any;
}

static bool row_lost(const struct report *r, const struct pen *pen)
{
	tally_write_lost(r->tally, pen);
	return true;
}

static bool row_redacted(const struct report *r, const struct pen *pen)
{
	const struct redactions *all = r->redactions;

	if (!all->records) {
		fputs("nothing", pen->out);
		return true;
	}
	fprintf(pen->out, "%" PRIu64 " records: ", all->records);
	for (size_t i = 0; i < keymap_count(all->rules) && i < 12; i++) {
		fputs(i ? ", " : "", pen->out);
		printable_word(pen->out, &pen->printable, keymap_key(all->rules, i));
		fprintf(pen->out, " %" PRIu64, all->times[i]);
	}
	fputs(keymap_count(all->rules) > 12 ? " and others" : "", pen->out);
	return true;
}

static bool row_cut(const struct report *r, const struct pen *pen)
{
	if (!r->tally->cut)
		return false;
	fprintf(pen->out, "%" PRIu64 " records have values that were too long and were cut",
		r->tally->cut);
	return true;
}

static bool row_integrity(const struct report *r, const struct pen *pen)
{
	static const char *const words[] = {
		[VERIFY_INTACT] = "verified: every record is as it was signed",
		[VERIFY_TAMPERED] = "TAMPERED WITH",
		[VERIFY_INCOMPLETE] = "verified: intact, and incomplete as it says itself",
		[VERIFY_UNKNOWN] = "not verified"};
	const struct verify_result *verified = r->request->verified;

	fputs(words[verified ? verified->verdict : VERIFY_UNKNOWN], pen->out);
	if (verified && verified->why[0]) {
		fputs(": ", pen->out);
		printable_text(pen->out, &pen->printable, bytes_of(verified->why));
	}
	if (verified && verified->first_bad)
		fprintf(pen->out, ", from record %" PRIu64 " on", verified->first_bad);
	if (verified)
		fprintf(pen->out, " (%" PRIu64 " of %" PRIu64 " records signed)",
			verified->signed_records, verified->records);
	fputs(r->damage_count ? "; DAMAGED: some records cannot be read"
			      : "; the checksums of all records hold",
	      pen->out);
	return true;
}

const struct report_row report_rows[] = {
	{"Command", row_command},
	{"Commands", row_commands},
	{"Verdict", row_verdict},
	{"When", row_when},
	{"Asked by", row_who},
	{"Sandbox", row_sandbox},
	{"Ran", row_ran},
	{"Programs", row_programs},
	{"Changed", row_changed},
	{"Contacted", row_contacted},
	{"Denied", row_denied},
	{"Techniques", row_attack},
	{"Lost", row_lost},
	{"Redacted", row_redacted},
	{"Cut", row_cut},
	{"Integrity", row_integrity},
	{0},
};
