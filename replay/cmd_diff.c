/*
 * vitrine diff: what one session did that another did not.
 */
#include "commands.h"
#include "facts.h"
#include "player.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CALLED "vitrine diff"
#define STATUS_DIFFERENT 1
#define STATUS_TROUBLE 2

struct side {
	struct facts *facts;
	char session[SESSION_ID_LENGTH + 1];
	bool is_whole;
};

/* 0, or STATUS_TROUBLE. */
static int read_side(const struct question_options *options, const struct filter *filter,
		     const char *what, struct side *side)
{
	cleanup(session) struct session session = SESSION_NONE;
	struct player player = {
		.called = CALLED,
		.view = &view_facts,
		.filter = filter,
		.options = {.out = stdout, .errors = stderr},
	};

	if (facts_new(&side->facts) < 0) {
		fputs(CALLED ": out of memory\n", stderr);
		return STATUS_TROUBLE;
	}
	if (session_open(options->state, what, CALLED, stderr, &session) < 0)
		return STATUS_TROUBLE;
	side->facts->hashes = options->hash;
	player.options.asked = side->facts;
	memcpy(side->session, session.manifest.id, sizeof(side->session));
	side->is_whole = player_play(&player, &session) == 0;
	return side->is_whole || side->facts->damages ? 0 : STATUS_TROUBLE;
}

static int by_text(const void *a, const void *b, void *of)
{
	const struct facts *f = of;
	struct bytes x = keymap_key(f->keys, *(const size_t *)a);
	struct bytes y = keymap_key(f->keys, *(const size_t *)b);
	size_t size = x.size < y.size ? x.size : y.size;
	int order = memcmp(x.data, y.data, size);

	return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Numbers of the facts of @f that @other has not, sorted; malloc'ed. 0 or -ENOMEM. */
static int only_in(const struct facts *f, const struct facts *other, size_t **ret_list,
		   size_t *ret_count)
{
	size_t total = keymap_count(f->keys), count = 0, number;
	size_t *list = malloc((total + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < total; i++) {
		if (keymap_find(other->keys, keymap_key(f->keys, i), &number) < 0)
			list[count++] = i;
	}
	qsort_r(list, count, sizeof(*list), by_text, (void *)f);
	*ret_list = list;
	*ret_count = count;
	return 0;
}

static enum fact_kind kind_of(const struct facts *f, size_t number)
{
	return (enum fact_kind)(*(const char *)keymap_key(f->keys, number).data - '0');
}

static struct bytes text_of(const struct facts *f, size_t number)
{
	struct bytes key = keymap_key(f->keys, number);

	return (struct bytes){(const char *)key.data + 1, key.size - 1};
}

/* ---- text ---- */

/* The facts of one kind; returns how many. They are safe for a terminal as they are. */
static size_t write_facts(const struct pen *pen, enum fact_kind kind, const char *sign,
			  enum style style, const struct facts *f, const size_t *list, size_t count)
{
	size_t written = 0;

	for (size_t i = 0; i < count; i++) {
		struct bytes text = text_of(f, list[i]);

		if (kind_of(f, list[i]) != kind)
			continue;
		pen_style(pen, style);
		fprintf(pen->out, "%s %.*s", sign, (int)text.size, (const char *)text.data);
		pen_style(pen, STYLE_PLAIN);
		if (f->times[list[i]] > 1)
			fprintf(pen->out, "  (%" PRIu64 " times)", f->times[list[i]]);
		fputc('\n', pen->out);
		written++;
	}
	return written;
}

static void write_side(const struct pen *pen, const char *sign, const struct side *side)
{
	fprintf(pen->out, "%s %s", sign, side->session);
	pen_style(pen, STYLE_LOUD);
	fputs(side->facts->ended ? "" : "  has not ended in the record", pen->out);
	if (side->facts->missing)
		fprintf(pen->out, "  %" PRIu64 " records are missing", side->facts->missing);
	if (side->facts->damages)
		fputs("  its record is damaged", pen->out);
	if (side->facts->left_out)
		fprintf(pen->out, "  %" PRIu64 " acts were too many to compare",
			side->facts->left_out);
	pen_style(pen, STYLE_PLAIN);
	fputc('\n', pen->out);
}

struct comparison {
	struct side sides[2];
	size_t *only[2];
	size_t counts[2];
};

static void write_text(const struct comparison *c, const struct pen *pen)
{
	write_side(pen, "-", &c->sides[0]);
	write_side(pen, "+", &c->sides[1]);
	for (enum fact_kind kind = 0; kind < FACT_KIND_COUNT; kind++) {
		size_t any = 0;

		for (size_t s = 0; s < 2; s++) {
			for (size_t i = 0; i < c->counts[s]; i++)
				any += kind_of(c->sides[s].facts, c->only[s][i]) == kind;
		}
		if (!any)
			continue;
		pen_style(pen, STYLE_BOLD);
		fprintf(pen->out, "\n%s\n", fact_names[kind]);
		pen_style(pen, STYLE_PLAIN);
		write_facts(pen, kind, "-", STYLE_POLICY, c->sides[0].facts, c->only[0],
			    c->counts[0]);
		write_facts(pen, kind, "+", STYLE_PROCESS, c->sides[1].facts, c->only[1],
			    c->counts[1]);
	}
	if (!c->counts[0] && !c->counts[1])
		fputs("\nthe same programs, packages, files, hosts and refusals\n", pen->out);
}

/* ---- JSON ---- */

static void write_side_json(struct document *d, const char *key, const struct side *side)
{
	document_open(d, key, '{');
	document_string(d, "session", side->session);
	document_bool(d, "ended", side->facts->ended);
	document_u64(d, "missing_records", side->facts->missing);
	document_u64(d, "damages", side->facts->damages);
	document_u64(d, "acts_without_room", side->facts->left_out);
	document_close(d, '{');
}

static void write_only_json(struct document *d, const char *key, const struct facts *f,
			    const size_t *list, size_t count)
{
	document_open(d, key, '{');
	for (enum fact_kind kind = 0; kind < FACT_KIND_COUNT; kind++) {
		document_open(d, fact_names[kind], '[');
		for (size_t i = 0; i < count; i++) {
			if (kind_of(f, list[i]) != kind)
				continue;
			document_open(d, NULL, '{');
			document_text(d, "fact", text_of(f, list[i]));
			document_u64(d, "times", f->times[list[i]]);
			document_close(d, '{');
			document_flush(d, stdout);
		}
		document_close(d, '[');
	}
	document_close(d, '{');
}

static int write_json(const struct comparison *c)
{
	struct document d = {0};

	document_open(&d, NULL, '{');
	write_side_json(&d, "a", &c->sides[0]);
	write_side_json(&d, "b", &c->sides[1]);
	write_only_json(&d, "gone", c->sides[0].facts, c->only[0], c->counts[0]);
	write_only_json(&d, "new", c->sides[1].facts, c->only[1], c->counts[1]);
	document_close(&d, '{');
	return document_finish(&d, stdout);
}

static int compare(struct comparison *c, const struct question_options *options)
{
	struct pen pen = pen_for(stdout, (enum color_choice)options->color);
	int r = 0;

	for (size_t s = 0; s < 2 && r == 0; s++)
		r = only_in(c->sides[s].facts, c->sides[!s].facts, &c->only[s], &c->counts[s]);
	if (r == 0 && options->json)
		r = write_json(c);
	else if (r == 0)
		write_text(c, &pen);
	if (r < 0) {
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
		return STATUS_TROUBLE;
	}
	if (!c->sides[0].is_whole || !c->sides[1].is_whole)
		return STATUS_TROUBLE;
	return c->counts[0] || c->counts[1] ? STATUS_DIFFERENT : 0;
}

static int diff_run(const void *values, int argument_count, char **arguments)
{
	const struct question_options *options = values;
	cleanup(query) struct query *query = NULL;
	struct comparison c = {0};
	struct filter filter = {0};
	int status = 0;

	(void)argument_count;
	if (query_from_option(options->query, CALLED, stderr, &query) < 0)
		return STATUS_TROUBLE;
	filter.query = query;
	for (int s = 0; s < 2 && !status; s++)
		status = read_side(options, &filter, arguments[s], &c.sides[s]);
	if (!status)
		status = compare(&c, options);
	for (int s = 0; s < 2; s++) {
		facts_free(c.sides[s].facts);
		free(c.only[s]);
	}
	return status;
}

/* clang-format off */
const struct command command_diff = {
	.name = "diff",
	.summary = "tell what one session did that another did not",
	.positional = "SESSION SESSION",
	.positional_min = 2,
	.positional_max = 2,
	.options = (const struct command_option[]){
		{"hash", 0, NULL, "compare what is in files, too", OPTION_FLAG, QUESTION_OFFSET(hash)},
		QUESTION_OPTION_FILTER,
		QUESTION_OPTIONS,
	},
	.values_size = sizeof(struct question_options),
	.defaults = &(const struct question_options)QUESTION_DEFAULTS,
	.description =
		"Compares what two sessions came to: the programs that ran, with their arguments and their place in the "
		"process tree; packages; the files that were different afterwards; the peers, by name where there is one; and "
		"what was refused. A - stands before what only the first session did, a + before what only the second "
		"did.\n\n"
		"What is made up anew in every run is taken out before: pids and times, rows of three or more digits, "
		"rows of eight or more hex digits, and names below /tmp.\n\n"
		"Packages are told from the arguments of pip, npm, apt, apk, dnf, cargo, go, gem and their like (asked for), and "
		"from what these write into their databases.\n\n"
		"With --hash a file that was left has the SHA-256 that the record has of it at the session's end. Where it has "
		"none, that of what is in the workspace now is looked up where the workspace was; what was changed after the "
		"session, as by another one in the same workspace, is unknown.\n\n"
		"A difference that missing records make is no difference of the sessions: the first two lines say where "
		"records are missing.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0 if they did the same, 1 if not, 2 if a session cannot be found or read, or its record is damaged or "
		 "has no end, and for a bad command line."},
		{"EXAMPLES",
		 "What is new since the build that was good?\n\n"
		 "  vitrine diff build-good last"},
		{0},
	},
	.reads = COMMAND_READS_TWO,
	.run = diff_run,
};
/* clang-format on */
