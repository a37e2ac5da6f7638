/*
 * vitrine show: one page about a session, made from its journal.
 */
#include "attack_text.h"
#include "commands.h"
#include "document.h"
#include "session.h"
#include "tally.h"
#include "tally_json.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CALLED "vitrine show"
#define GAPS_SHOWN_MAX 16
#define PEERS_SHOWN_MAX 40

struct show_options {
	const char *state;
	bool json;
	int color;
};

/* All that the journal says. */
struct page {
	struct tally *tally;
	struct kept gaps[GAPS_SHOWN_MAX]; /* the first of them */
	size_t gap_count;
	struct reader_damage damage; /* the first */
};

static void page_free(struct page *page)
{
	tally_free(page->tally);
	for (size_t i = 0; i < page->gap_count; i++)
		kept_free(&page->gaps[i]);
}

static int page_add(struct page *page, const struct event *e)
{
	if (e->kind == EVENT_gap && page->gap_count < GAPS_SHOWN_MAX) {
		int r = kept_set(&page->gaps[page->gap_count], e);

		if (r < 0)
			return r;
		page->gap_count++;
	}
	return tally_add(page->tally, e);
}

static int page_read(struct page *page, struct reader *reader)
{
	struct event e;
	int r = tally_new(&page->tally);

	while (r == 0) {
		enum reader_state state = reader_next(reader, &e);

		if (state == READER_END)
			break;
		if (state == READER_RECORD) {
			r = page_add(page, &e);
			continue;
		}
		if (!page->tally->damages)
			page->damage = *reader_damage(reader);
		tally_add_damage(page->tally);
		if (!reader_skip_damage(reader))
			break;
	}
	return r;
}

/* The journal decides whether the session ended; the manifest only tells a running one from a lost
 * one. */
static const char *page_state(const struct page *page, const struct manifest *m)
{
	if (page->tally->end.event.kind)
		return "ended";
	return m->state == SESSION_ENDED ? "torn" : manifest_state_name(m);
}

/* ---- JSON ---- */

static void write_event_json(struct document *d, const char *key, const char *session,
			     const struct event *e)
{
	struct json_buffer line = {0};
	int r;

	if (!e->kind) {
		document_null(d, key);
		return;
	}
	r = json_write_event(&line, session, e);
	if (r == 0)
		document_raw(d, key, (struct bytes){line.text, line.length});
	else
		d->error = r;
	json_buffer_free(&line);
}

static int write_json(const struct page *page, const struct manifest *m)
{
	const struct tally *t = page->tally;
	struct document d = {0};

	document_open(&d, NULL, '{');
	document_string(&d, "session", m->id);
	document_string(&d, "name", m->name);
	document_string(&d, "state", page_state(page, m));
	write_event_json(&d, "start", m->id, &t->start.event);
	write_event_json(&d, "end", m->id, &t->end.event);
	tally_write_json(t, &d);
	document_close(&d, '{');
	return document_finish(&d, stdout);
}

/* ---- the page ---- */

static void write_title(const struct pen *pen, const char *title)
{
	pen_style(pen, STYLE_BOLD);
	fprintf(pen->out, "%-13s", title);
	pen_style(pen, STYLE_PLAIN);
}

/* A row of @title and those parts that @e has; no row where it has none. */
static void write_parts(const struct pen *pen, const char *title, const struct event *e,
			const struct part *parts)
{
	bool any = false;

	for (const struct part *part = parts; part->before; part++)
		any |= event_get(e, part->field) != NULL;
	if (!any)
		return;
	write_title(pen, title);
	for (const struct part *part = parts; part->before; part++)
		line_write_part(pen, e, part);
	fputc('\n', pen->out);
}

#define PARTS(...)                                                                                 \
	(const struct part[])                                                                      \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* clang-format off */
static void write_who(const struct pen *pen, const struct event *start)
{
	write_parts(pen, "command", start, PARTS({"", FIELD_command}));
	write_parts(pen, "asked by", start, PARTS(
		{"", FIELD_user_name}, {" uid ", FIELD_user_uid}, {", tenant ", FIELD_tenant}, {", labels ", FIELD_labels}));
	write_parts(pen, "sandbox", start, PARTS(
		{"root ", FIELD_template_name}, {", network ", FIELD_network}, {", workspace ", FIELD_workspace},
		{", terminal", FIELD_tty, SHOW_FLAG}));
	write_parts(pen, "policy", start, PARTS({"on loss ", FIELD_on_loss}, {", sha256 ", FIELD_policy_sha256}));
	write_parts(pen, "seen by", start, PARTS({"", FIELD_source}, {" through ", FIELD_sensors, SHOW_HOW_MANY, " sensors"}));
	write_parts(pen, "where", start, PARTS(
		{"host ", FIELD_host}, {", kernel ", FIELD_version_kernel}, {", vitrine ", FIELD_version_vitrine},
		{", boot ", FIELD_boot_id}));
}

static void write_given(const struct pen *pen, const struct tally *t)
{
	const struct given_list *g = &t->given;

	if (!tally_has_commands(t))
		return;
	for (size_t i = 0; i < g->count; i++) {
		write_title(pen, i ? "" : "commands");
		given_write(g, i, pen);
		fputc('\n', pen->out);
	}
	if (g->times > g->count) {
		write_title(pen, "");
		fprintf(pen->out, "and %" PRIu64 " more: vitrine replay --kind exec.start,exec.end\n",
			g->times - g->count);
	}
}

static void write_usage(const struct pen *pen, const struct event *end)
{
	write_parts(pen, "usage", end, PARTS(
		{"wall ", FIELD_usage_wall_ns, SHOW_DURATION}, {", cpu ", FIELD_usage_cpu_ns, SHOW_DURATION},
		{", memory ", FIELD_usage_memory_peak, SHOW_SIZE}, {", written ", FIELD_usage_write_bytes, SHOW_SIZE},
		{", ", FIELD_usage_processes, SHOW_VALUE, " processes"}));
	write_parts(pen, "output", end, PARTS(
		{"stdout ", FIELD_stdout_total, SHOW_SIZE}, {" (", FIELD_stdout_kept, SHOW_SIZE, " kept)"},
		{", stderr ", FIELD_stderr_total, SHOW_SIZE}, {" (", FIELD_stderr_kept, SHOW_SIZE, " kept)"},
		{", terminal ", FIELD_tty_total, SHOW_SIZE}, {" (", FIELD_tty_kept, SHOW_SIZE, " kept)"},
		{", not all of it is in the record", FIELD_output_truncated, SHOW_FLAG}));
}
/* clang-format on */

static void write_state(const struct pen *pen, const struct page *page, const struct manifest *m)
{
	static const struct part verdict = {"", FIELD_NONE, SHOW_VERDICT};
	static const struct part unexplained = {"", FIELD_NONE, SHOW_UNEXPLAINED};
	const struct event *end = &page->tally->end.event;
	const char *state = page_state(page, m);

	write_title(pen, "state");
	if (end->kind) {
		fputs("ended: ", pen->out);
		line_write_part(pen, end, &verdict);
		line_write_part(pen, end, &unexplained);
	} else {
		pen_style(pen, strcmp(state, "running") ? STYLE_LOUD : STYLE_PLAIN);
		fputs(state, pen->out);
		fputs(!strcmp(state, "torn") ? ": it ended, but its record has no end" : "",
		      pen->out);
		fputs(!strcmp(state, "lost") ? ": supervisor_lost" : "", pen->out);
		pen_style(pen, STYLE_PLAIN);
	}
	fputc('\n', pen->out);
}

static void write_times(const struct pen *pen, const struct tally *t)
{
	if (t->start.event.kind) {
		write_title(pen, "started");
		write_wall_clock(pen->out, t->start.event.time_ns, 3);
		fputc('\n', pen->out);
	}
	write_title(pen, t->end.event.kind ? "ended" : "last record");
	write_wall_clock(pen->out, t->end.event.kind ? t->end.event.time_ns : t->last_time_ns, 3);
	fputs(", after ", pen->out);
	write_duration(pen->out, t->last_boot_ns - t->first_boot_ns);
	fputc('\n', pen->out);
}

static void write_classes(const struct pen *pen, const struct tally *t)
{
	struct counts counts = {0};
	struct bytes text = event_bytes(&t->end.event, FIELD_counts);
	bool stated = text.data && counts_parse(text, &counts) == 0;

	write_title(pen, "records");
	fprintf(pen->out, "%" PRIu64 "\n", t->records);
	fprintf(pen->out, "  %-11s%12s%12s%12s%12s\n", "", "read", "produced", "journaled", "lost");
	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++) {
		if (!t->classes[i] && !t->gap_counts[i] && !counts.classes[i].produced)
			continue;
		fprintf(pen->out, "  %-11s%12" PRIu64, event_class_names[i], t->classes[i]);
		if (stated && counts.classes[i].known)
			fprintf(pen->out, "%12" PRIu64 "%12" PRIu64, counts.classes[i].produced,
				counts.classes[i].journaled);
		else
			fprintf(pen->out, "%12s%12s", "-", "-");
		pen_style(pen, counts.classes[i].lost ? STYLE_LOUD : STYLE_PLAIN);
		if (stated && counts.classes[i].known)
			fprintf(pen->out, "%12" PRIu64, counts.classes[i].lost);
		else
			fprintf(pen->out, "%12s", "-");
		pen_style(pen, STYLE_PLAIN);
		fputc('\n', pen->out);
	}
	write_title(pen, "lost");
	tally_write_lost(t, pen);
}

static void write_holes(const struct pen *pen, const struct page *page)
{
	const struct tally *t = page->tally;

	for (size_t i = 0; i < page->gap_count; i++) {
		const struct event *gap = &page->gaps[i].event;

		write_title(pen, i ? "" : "gaps");
		pen_style(pen, STYLE_LOUD);
		fputs("after ", pen->out);
		write_duration(pen->out, gap->boot_ns > t->first_boot_ns
						 ? gap->boot_ns - t->first_boot_ns
						 : 0);
		fputs(": ", pen->out);
		line_write(pen, gap);
		pen_style(pen, STYLE_PLAIN);
		fputc('\n', pen->out);
	}
	if (t->kinds[EVENT_gap] > page->gap_count) {
		write_title(pen, "");
		fprintf(pen->out, "and %" PRIu64 " more\n", t->kinds[EVENT_gap] - page->gap_count);
	}
	if (t->damages) {
		write_title(pen, "damage");
		pen_style(pen, STYLE_LOUD);
		printable_text(pen->out, &pen->printable, bytes_of(page->damage.segment));
		fprintf(pen->out, " from byte %" PRIu64 " on, after record %" PRIu64 ": %s",
			page->damage.offset, page->damage.after_seq, page->damage.why);
		pen_style(pen, STYLE_PLAIN);
		fputc('\n', pen->out);
	}
}

static void write_attacks(const struct pen *pen, const struct tally *t)
{
	const char *title = "att&ck";

	for (size_t i = 0; attack_rule(i); i++) {
		if (!t->attacks[i])
			continue;
		write_title(pen, title);
		attack_text_write(t, i, pen);
		fputc('\n', pen->out);
		title = "";
	}
}

static void write_page(const struct pen *pen, const struct page *page, const struct manifest *m)
{
	const struct tally *t = page->tally;

	write_title(pen, "session");
	fputs(m->id, pen->out);
	if (m->name) {
		fputs("  ", pen->out);
		printable_word(pen->out, &pen->printable, bytes_of(m->name));
	}
	fputc('\n', pen->out);
	write_state(pen, page, m);
	write_times(pen, t);
	write_who(pen, &t->start.event);
	write_given(pen, t);
	write_usage(pen, &t->end.event);
	fputc('\n', pen->out);
	write_classes(pen, t);
	write_holes(pen, page);
	write_title(pen, "redacted");
	fprintf(pen->out, "%" PRIu64 " records, %" PRIu64 " with cut values\n", t->redacted,
		t->cut);
	write_attacks(pen, t);
	fputc('\n', pen->out);
	write_title(pen, "processes");
	tally_write_processes(t, pen);
	write_title(pen, "files");
	tally_write_files(t, pen);
	write_title(pen, "connections");
	tally_write_connections(t, pen);
	write_title(pen, "names");
	tally_write_peers(&t->names, pen, PEERS_SHOWN_MAX, printable_word);
	write_title(pen, "addresses");
	tally_write_peers(&t->addresses, pen, PEERS_SHOWN_MAX, printable_text);
}

static int show_run(const void *values, int argument_count, char **arguments)
{
	const struct show_options *options = values;
	cleanup(session) struct session session = SESSION_NONE;
	struct pen pen = pen_for(stdout, (enum color_choice)options->color);
	struct page page = {0};
	int r;
	bool bad;

	(void)argument_count;
	if (session_open(options->state, arguments[0], CALLED, stderr, &session) < 0)
		return 1;
	r = page_read(&page, session.reader);
	if (r == 0 && options->json)
		r = write_json(&page, &session.manifest);
	else if (r == 0)
		write_page(&pen, &page, &session.manifest);
	bad = r == 0 &&
	      (page.tally->damages || !strcmp(page_state(&page, &session.manifest), "torn"));
	page_free(&page);
	if (r < 0)
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
	if (bad)
		fprintf(stderr, CALLED ": the record of session %s is not whole\n",
			session.manifest.id);
	return r < 0 || bad;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct show_options, member)

const struct command command_show = {
	.name = "show",
	.summary = "show one page about a session",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"json", 'j', NULL, "print one JSON object", OPTION_FLAG, OFFSET(json)},
		{"color", 0, "WHEN", "colours: by itself on a terminal only", OPTION_CHOICE, OFFSET(color),
		 .choices = color_choices},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct show_options),
	.defaults = &(const struct show_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Shows who ran what, when and where, how it ended and what it used; how many records of each class "
		"were produced, journaled and lost, every gap and every damage; and what the session came to: "
		"processes, files, connections, names and addresses. Under att&ck stands what the events would be called in MITRE "
		"ATT&CK, by the rules of 'vitrine schema --attack': hints to where to look, no verdicts.\n\n"
		"All of it is taken from the journal, which is read from its beginning to its end; the manifest only "
		"tells a session that runs from one whose supervisor died.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name), "
		"'last', or the path of a bundle (FILE.tar) or of a session's directory.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0, or 1 if the session cannot be found or read, or its record is damaged or has no end, or 2 for a "
		 "bad command line."},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = show_run,
};
/* clang-format on */
