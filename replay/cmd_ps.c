/*
 * vitrine ps: the sessions of a state directory, by their manifests.
 */
#include "commands.h"
#include "document.h"
#include "line.h"
#include "session.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/text_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#define CALLED "vitrine ps"
#define NAME_WIDTH 16
#define WORD_MAX 60 /* bytes of a word of the command */

struct ps_options {
	const char *state;
	bool json;
};

/* A row: the manifest, and what has to be looked up beside it. */
struct row_facts {
	const struct manifest *manifest;
	const char *state, *reason;
	uint64_t records;
	bool has_records, has_lost;
};

/* True if the journal has a record @seq. */
static bool journal_reaches(struct reader *r, uint64_t seq)
{
	struct event e;

	return reader_seek(r, seq) == 0 && reader_next(r, &e) == READER_RECORD && e.seq >= seq;
}

/* How many records the journal of a session that has not ended holds: its last number, found by
 * halving. */
static bool count_records(int state_fd, const struct manifest *m, uint64_t *ret_count)
{
	cleanup(session) struct session s = SESSION_NONE;
	uint64_t low = 0, high = 1;

	if (store_find(state_fd, m->id, &s.manifest, &s.dir_fd) < 0 ||
	    reader_open(s.dir_fd, &s.reader) < 0)
		return false;
	while (journal_reaches(s.reader, high)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (journal_reaches(s.reader, middle))
			low = middle;
		else
			high = middle;
	}
	*ret_count = low;
	return true;
}

static struct row_facts facts_of(int state_fd, const struct manifest *m)
{
	struct row_facts facts = {
		.manifest = m,
		.state = manifest_state_name(m),
		.reason = manifest_reason(m),
		.records = m->records,
		.has_records = true,
		/* Who died without counting cannot say that nothing was lost. */
		.has_lost = m->state == SESSION_ENDED &&
			    !(m->reason && !strcmp(m->reason, "supervisor_lost")),
	};

	if (m->state != SESSION_ENDED)
		facts.has_records = count_records(state_fd, m, &facts.records);
	return facts;
}

/* ---- JSON ---- */

static void write_command_json(struct document *d, const char *command)
{
	json_t *words = command ? json_loads(command, 0, NULL) : NULL;
	json_t *word;
	size_t i;

	document_open(d, "command", '[');
	json_array_foreach (words, i, word) {
		document_text(d, NULL,
			      (struct bytes){json_string_value(word), json_string_length(word)});
	}
	document_close(d, '[');
	json_decref(words);
}

static void write_row_json(struct document *d, const struct row_facts *facts)
{
	const struct manifest *m = facts->manifest;

	document_open(d, NULL, '{');
	document_string(d, "id", m->id);
	document_string(d, "name", m->name);
	document_string(d, "tenant", m->tenant);
	document_string(d, "state", facts->state);
	document_string(d, "reason", facts->reason);
	if (m->exit_code >= 0)
		document_u64(d, "exit_code", (uint64_t)m->exit_code);
	if (m->signal >= 0)
		document_u64(d, "signal", (uint64_t)m->signal);
	document_time(d, "started", m->started_ns);
	document_time(d, "ended", m->ended_ns);
	if (facts->has_records)
		document_u64(d, "records", facts->records);
	else
		document_null(d, "records");
	if (facts->has_lost)
		document_u64(d, "lost", m->lost);
	else
		document_null(d, "lost");
	write_command_json(d, m->command);
	document_close(d, '{');
}

static int write_json(int state_fd, const struct manifest *list, size_t count)
{
	struct document d = {0};

	document_open(&d, NULL, '[');
	for (size_t i = 0; i < count; i++) {
		struct row_facts facts = facts_of(state_fd, &list[i]);

		write_row_json(&d, &facts);
	}
	document_close(&d, '[');
	return document_finish(&d, stdout);
}

/* ---- the table ---- */

/* Write what @write writes, and blanks up to @width columns. */
static void write_padded(const struct pen *pen, int width, const char *text, size_t length)
{
	size_t cursor = 0;
	struct bytes bytes = {text, length};

	fwrite(text, 1, length, pen->out);
	while (cursor < length) {
		utf8_next(bytes, &cursor);
		width--;
	}
	fprintf(pen->out, "%*s", width > 0 ? width : 0, "");
}

/* What stands in @cell, in a column of that width. 0 or -ENOMEM. */
static int write_cell(struct text_stream *cell, const struct pen *pen, int width)
{
	int r = text_stream_end(cell);

	if (r < 0)
		return r;
	write_padded(pen, width, cell->text, cell->size);
	fputs("  ", pen->out);
	free(cell->text);
	return 0;
}

static int write_name(const struct pen *pen, const char *name)
{
	struct printable printable = {pen->printable.ascii, NAME_WIDTH};
	struct text_stream cell;
	int r = text_stream_begin(&cell);

	if (r < 0)
		return r;
	if (name)
		printable_word(cell.out, &printable, bytes_of(name));
	else
		fputc('-', cell.out);
	return write_cell(&cell, pen, NAME_WIDTH);
}

/* "exit 0", "signal 9", or the reason. */
static int write_reason(const struct pen *pen, const struct row_facts *facts)
{
	const struct manifest *m = facts->manifest;
	struct text_stream cell;
	int r = text_stream_begin(&cell);

	if (r < 0)
		return r;
	if (facts->reason) {
		printable_text(cell.out, &pen->printable, bytes_of(facts->reason));
		if (!strcmp(facts->reason, "exit") && m->exit_code >= 0)
			fprintf(cell.out, " %" PRId64, m->exit_code);
		if (!strcmp(facts->reason, "signal") && m->signal >= 0)
			fprintf(cell.out, " %" PRId64, m->signal);
	} else {
		fputc('-', cell.out);
	}
	return write_cell(&cell, pen, 15);
}

static int write_duration_cell(const struct pen *pen, const struct row_facts *facts,
			       uint64_t now_ns)
{
	const struct manifest *m = facts->manifest;
	uint64_t to_ns = m->ended_ns ? m->ended_ns : now_ns;
	struct text_stream cell;
	int r = text_stream_begin(&cell);

	if (r < 0)
		return r;
	if (!strcmp(facts->state, "lost"))
		fputc('?', cell.out);
	else
		write_duration(cell.out, to_ns > m->started_ns ? to_ns - m->started_ns : 0);
	return write_cell(&cell, pen, 8);
}

static void write_count(const struct pen *pen, bool known, uint64_t count, int width)
{
	if (known)
		fprintf(pen->out, "%*" PRIu64 "  ", width, count);
	else
		fprintf(pen->out, "%*s  ", width, "-");
}

/* @command: a JSON array of strings, or NULL. 0 or -ENOMEM. */
static int write_command(const struct pen *pen, const char *command)
{
	struct printable printable = {pen->printable.ascii, WORD_MAX};
	json_t *words = command ? json_loads(command, 0, NULL) : NULL;
	json_t *word;
	size_t i;

	if (command && !words)
		return -ENOMEM;
	if (!command)
		fputc('-', pen->out);
	json_array_foreach (words, i, word) {
		fputs(i ? " " : "", pen->out);
		printable_word(pen->out, &printable,
			       (struct bytes){json_string_value(word), json_string_length(word)});
	}
	json_decref(words);
	return 0;
}

static int write_row(const struct pen *pen, const struct row_facts *facts, uint64_t now_ns)
{
	const struct manifest *m = facts->manifest;
	bool loud = !strcmp(facts->state, "lost");
	int r;

	fprintf(pen->out, "%s  ", m->id);
	r = write_name(pen, m->name);
	if (r < 0)
		return r;
	pen_style(pen, loud ? STYLE_LOUD : STYLE_PLAIN);
	fprintf(pen->out, "%-8s  ", facts->state);
	r = write_reason(pen, facts);
	if (r < 0)
		return r;
	pen_style(pen, STYLE_PLAIN);
	write_wall_clock(pen->out, m->started_ns, 0);
	fputs("  ", pen->out);
	r = write_duration_cell(pen, facts, now_ns);
	if (r < 0)
		return r;
	write_count(pen, facts->has_records, facts->records, 8);
	pen_style(pen, facts->has_lost && m->lost ? STYLE_LOUD : STYLE_PLAIN);
	write_count(pen, facts->has_lost, m->lost, 6);
	pen_style(pen, STYLE_PLAIN);
	r = write_command(pen, m->command);
	fputc('\n', pen->out);
	return r;
}

static int write_table(int state_fd, const struct manifest *list, size_t count)
{
	struct pen pen = pen_for(stdout, COLOR_AUTO);
	struct timespec now;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	printf("%-12s  %-16s  %-8s  %-15s  %-20s  %-8s  %8s  %6s  %s\n", "SESSION", "NAME", "STATE",
	       "REASON", "STARTED", "DURATION", "RECORDS", "LOST", "COMMAND");
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct row_facts facts = facts_of(state_fd, &list[i]);

		r = write_row(&pen, &facts,
			      (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec);
	}
	return r;
}

static int ps_run(const void *values, int argument_count, char **arguments)
{
	const struct ps_options *options = values;
	cleanup(close_fd) int state_fd = -1;
	struct manifest *list = NULL;
	size_t count = 0, unreadable = 0;
	int r;

	(void)argument_count;
	(void)arguments;
	r = state_open(options->state, CALLED, stderr, &state_fd);
	if (r < 0 && r != -ENOENT)
		return 1;
	/* No directory yet: no sessions. The line on standard error has named it. */
	r = r == -ENOENT ? 0 : store_list(state_fd, &list, &count, &unreadable);
	if (r == 0 && options->json)
		r = write_json(state_fd, list, count);
	else if (r == 0)
		r = write_table(state_fd, list, count);
	store_list_free(list, count);
	if (r < 0)
		fprintf(stderr, CALLED ": cannot list the sessions: %s\n", strerror(-r));
	if (unreadable)
		fprintf(stderr,
			CALLED ": %zu sessions have no readable manifest and are left out\n",
			unreadable);
	return r < 0 || unreadable;
}

/* clang-format off */
const struct command command_ps = {
	.name = "ps",
	.summary = "list sessions",
	.options = (const struct command_option[]){
		{"json", 'j', NULL, "print an array of objects", OPTION_FLAG, offsetof(struct ps_options, json)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT,
		 offsetof(struct ps_options, state)},
		{0},
	},
	.values_size = sizeof(struct ps_options),
	.defaults = &(const struct ps_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Lists the sessions below the state directory, oldest first: id, name, state, why it ended, start "
		"(UTC), duration, records, records lost, and the command.\n\n"
		"A session is starting, running, ended or lost. Lost: it never ended, and the vitrined that ran it "
		"is gone; the next vitrined on this state directory finishes it.\n\n"
		"With --json: objects with id, name, tenant, state, reason, exit_code or signal, started, ended, "
		"records, lost and command. What is not known yet is null.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0, or 1 if the state directory cannot be read or a session in it has no readable manifest, or 2 "
		 "for a bad command line."},
		{0},
	},
	.reads = COMMAND_READS_LIST,
	.run = ps_run,
};
/* clang-format on */
