/*
 * The counts of a session in words.
 */
#include "tally.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"

#include <inttypes.h>

/* "created 3", and a comma between two of them. Nothing for 0. */
static void write_count(const struct pen *pen, bool *any, const char *what, uint64_t count)
{
	if (!count)
		return;
	fprintf(pen->out, "%s%s %" PRIu64, *any ? ", " : "", what, count);
	*any = true;
}

static void write_amount(const struct pen *pen, bool *any, const char *what, uint64_t bytes)
{
	if (!bytes)
		return;
	fprintf(pen->out, "%s%s ", *any ? ", " : "", what);
	write_size(pen->out, bytes);
	*any = true;
}

static void write_none(const struct pen *pen, bool any)
{
	fputs(any ? "\n" : "none\n", pen->out);
}

void tally_write_processes(const struct tally *t, const struct pen *pen)
{
	bool any = false;

	write_count(pen, &any, "forked", t->kinds[EVENT_process_fork]);
	write_count(pen, &any, "programs run", t->kinds[EVENT_process_exec]);
	write_count(pen, &any, "failed to run", t->kinds[EVENT_process_exec_failed]);
	write_count(pen, &any, "ended", t->kinds[EVENT_process_exit]);
	write_count(pen, &any, "ended in failure", t->failed_exits);
	write_count(pen, &any, "credentials changed", t->kinds[EVENT_process_cred]);
	write_none(pen, any);
}

void tally_write_files(const struct tally *t, const struct pen *pen)
{
	static const struct {
		enum event_kind kind;
		const char *what;
	} acts[] = {
		{EVENT_file_read, "read"},
		{EVENT_file_create, "created"},
		{EVENT_file_modify, "modified"},
		{EVENT_file_delete, "deleted"},
		{EVENT_file_rename, "renamed"},
		{EVENT_file_link, "linked"},
		{EVENT_file_symlink, "symlinked"},
		{EVENT_file_mkdir, "directories made"},
		{EVENT_file_rmdir, "directories removed"},
		{EVENT_file_truncate, "truncated"},
		{EVENT_file_attr, "attributes set"},
		{EVENT_file_mmap, "mapped"},
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
		write_count(pen, &any, acts[i].what, t->kinds[acts[i].kind]);
	write_amount(pen, &any, "written", t->bytes_written);
	write_count(pen, &any, "unproven names", t->unproven_paths);
	write_none(pen, any);
}

void tally_write_connections(const struct tally *t, const struct pen *pen)
{
	bool any = false;

	write_count(pen, &any, "asked for", t->kinds[EVENT_net_connect]);
	write_count(pen, &any, "failed", t->failed_connects);
	write_count(pen, &any, "accepted", t->kinds[EVENT_net_accept]);
	write_count(pen, &any, "listened", t->kinds[EVENT_net_listen]);
	write_count(pen, &any, "lone datagrams", t->kinds[EVENT_net_send]);
	write_count(pen, &any, "unix sockets", t->kinds[EVENT_net_unix]);
	write_amount(pen, &any, "sent", t->bytes_sent);
	write_amount(pen, &any, "received", t->bytes_received);
	write_none(pen, any);
}

void tally_write_peers(const struct peers *p, const struct pen *pen, size_t limit,
		       peers_write_key *write_key)
{
	cleanup(free) size_t *order = NULL;
	size_t count = keymap_count(p->map), shown = count < limit ? count : limit;
	uint64_t rest = p->others;

	if (peers_order(p, &order) < 0) {
		fputs("(out of memory)\n", pen->out);
		return;
	}
	for (size_t i = 0; i < shown; i++) {
		fputs(i ? ", " : "", pen->out);
		write_key(pen->out, &pen->printable, keymap_key(p->map, order[i]));
		if (p->times[order[i]] > 1)
			fprintf(pen->out, " (%" PRIu64 ")", p->times[order[i]]);
	}
	if (shown < count)
		fprintf(pen->out, " and %zu more", count - shown);
	if (rest)
		fprintf(pen->out, " and others %" PRIu64 " times", rest);
	write_none(pen, count || rest);
}

static uint64_t gap_sum(const struct tally *t)
{
	uint64_t sum = t->gap_others;

	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++)
		sum += t->gap_counts[i];
	return sum;
}

/* What session.end says, and what the gaps say; they are shown apart where they differ. */
void tally_write_lost(const struct tally *t, const struct pen *pen)
{
	struct counts counts = {0};
	bool stated = event_get(&t->end.event, FIELD_counts) &&
		      counts_parse(event_bytes(&t->end.event, FIELD_counts), &counts) == 0;
	uint64_t gaps = gap_sum(t), lost = stated ? counts.lost : gaps;
	bool bad = lost || t->kinds[EVENT_gap] || t->damages || t->unknown_kinds;

	pen_style(pen, bad ? STYLE_LOUD : STYLE_PLAIN);
	if (!bad && t->end.event.kind && !stated)
		fputs("no gap, but the end states no counts", pen->out);
	else if (!bad)
		fputs(stated ? "nothing" : "nothing so far", pen->out);
	else
		fprintf(pen->out, "%" PRIu64 " records", lost);
	for (size_t i = 0; i < EVENT_CLASS_COUNT && stated; i++) {
		if (counts.classes[i].lost)
			fprintf(pen->out, ", %s %" PRIu64, event_class_names[i],
				counts.classes[i].lost);
	}
	if (t->kinds[EVENT_gap])
		fprintf(pen->out, "; %" PRIu64 " gaps that miss %" PRIu64, t->kinds[EVENT_gap],
			gaps);
	if (t->damages)
		fprintf(pen->out, "; the record is DAMAGED in %" PRIu64 " places", t->damages);
	if (t->unknown_kinds)
		fprintf(pen->out, "; %" PRIu64 " records of unknown kind", t->unknown_kinds);
	pen_style(pen, STYLE_PLAIN);
	fputc('\n', pen->out);
}

static void write_title(const struct pen *pen, const char *title)
{
	pen_style(pen, STYLE_BOLD);
	fprintf(pen->out, "%-13s", title);
	pen_style(pen, STYLE_PLAIN);
}

static void write_end(const struct tally *t, const struct pen *pen, const char *how)
{
	static const struct part verdict = {"", FIELD_NONE, SHOW_VERDICT};

	write_title(pen, "session");
	if (t->end.event.kind) {
		line_write_part(pen, &t->end.event, &verdict);
	} else {
		pen_style(pen, STYLE_LOUD);
		fputs(how ? how : "the record does not say how it ended", pen->out);
		pen_style(pen, STYLE_PLAIN);
	}
	fputs(", ", pen->out);
	write_duration(pen->out, t->last_boot_ns - t->first_boot_ns);
	fprintf(pen->out, ", %" PRIu64 " records\n", t->records);
}

static void write_marks(const struct tally *t, const struct pen *pen)
{
	bool any = false;

	if (!t->redacted && !t->cut)
		return;
	write_title(pen, "marks");
	write_count(pen, &any, "records with redactions", t->redacted);
	write_count(pen, &any, "records with cut values", t->cut);
	fputc('\n', pen->out);
}

void tally_write_summary(const struct tally *t, const struct pen *pen, const char *how)
{
	fputc('\n', pen->out);
	write_end(t, pen, how);
	write_title(pen, "processes");
	tally_write_processes(t, pen);
	write_title(pen, "files");
	tally_write_files(t, pen);
	write_title(pen, "connections");
	tally_write_connections(t, pen);
	write_title(pen, "names");
	tally_write_peers(&t->names, pen, TALLY_SHOWN_MAX, printable_word);
	write_title(pen, "addresses");
	tally_write_peers(&t->addresses, pen, TALLY_SHOWN_MAX, printable_text);
	write_marks(t, pen);
	write_title(pen, "lost");
	tally_write_lost(t, pen);
}
