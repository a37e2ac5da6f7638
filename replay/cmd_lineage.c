/*
 * vitrine lineage: where a file or a process came from, and what came of it.
 */
#include "commands.h"
#include "lineage.h"
#include "player.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine lineage"

struct lineage_question {
	struct question question; /* first: it is what an answer looks at */
	const struct aliases *aliases;
};

static void lineage_view_free(void *state)
{
	lineage_free(state);
	free(state);
}

static int lineage_begin(const struct view_options *options, void **ret_state)
{
	const struct lineage_question *asked = options->asked;
	struct lineage *l = calloc(1, sizeof(*l));
	int r = l ? answer_begin(&l->answer, options) : -ENOMEM;

	if (r < 0) {
		free(l);
		return r;
	}
	l->aliases = asked->aliases;
	l->proc = asked->question.subject;
	*ret_state = l;
	return 0;
}

static int lineage_event(void *state, const struct event *e, const struct origin *origin,
			 bool wanted)
{
	struct lineage *l = state;
	int r = answer_add(&l->answer, e);

	(void)wanted;
	return r < 0 ? r : lineage_add(l, e, origin);
}

static void lineage_damage(void *state, const struct reader_damage *damage)
{
	struct lineage *l = state;

	(void)damage;
	l->answer.damages++;
}

/* ---- text ---- */

/* From the process up to the first one: "12 python3, of 2 sh, of 1". */
static void write_ancestors(const struct lineage *l, const struct pen *pen, size_t number)
{
	const struct actors *a = l->answer.actors;

	for (size_t depth = 0; number != SIZE_MAX && depth < 64; depth++) {
		fputs(depth ? ", of " : "", pen->out);
		actor_write(a, number, pen);
		number = actors_get(a, number)->parent;
	}
	fputc('\n', pen->out);
}

static void write_subject(const struct lineage *l, const struct pen *pen)
{
	if (l->aliases) {
		for (size_t i = 0; i < aliases_count(l->aliases); i++) {
			fputs(i ? "  also called " : "file ", pen->out);
			printable_word(pen->out, &pen->printable, aliases_name(l->aliases, i));
			fputc('\n', pen->out);
		}
		if (aliases_are_cut(l->aliases))
			fputs("!! it had more names than are followed\n", pen->out);
		return;
	}
	if (l->subjects > 1)
		fprintf(pen->out, "!! %" PRIu64 " processes had this pid, one after the other\n",
			l->subjects);
	for (size_t i = 0; i < l->room && i < actors_count(l->answer.actors); i++) {
		const struct actor *actor = actors_get(l->answer.actors, i);
		struct bytes key = actors_key(l->answer.actors, i);
		char pid[24];

		snprintf(pid, sizeof(pid), "%" PRIu64, actor->pid);
		if (!l->has_since[i] ||
		    (strcmp(pid, l->proc) &&
		     (key.size != strlen(l->proc) || memcmp(key.data, l->proc, key.size) != 0)))
			continue;
		fputs("process ", pen->out);
		write_ancestors(l, pen, i);
	}
}

static void write_text(const struct lineage *l)
{
	static const char *const of_file[SECTION_COUNT] = {
		"written by",
		"moved, linked or removed by",
		"read by",
		"run by",
		"what those who read or ran it wrote afterwards",
		"what those who read or ran it sent by network afterwards",
		"what it is at the session's end"};
	static const char *const of_process[SECTION_COUNT] = {
		"wrote", "moved, linked or removed", "read", "ran", "", "sent by network", ""};
	const struct pen *pen = &l->answer.pen;

	write_subject(l, pen);
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		const struct section_lines *lines = &l->sections[i];

		if (!l->aliases && (i == SECTION_WROTE_AFTER || i == SECTION_LEFT))
			continue;
		pen_style(pen, STYLE_BOLD);
		fprintf(pen->out, "\n%s\n", l->aliases ? of_file[i] : of_process[i]);
		pen_style(pen, STYLE_PLAIN);
		for (size_t n = 0; n < lines->count; n++)
			fprintf(pen->out, "%s\n", lines->lines[n]);
		if (lines->left_out)
			fprintf(pen->out, "and %" PRIu64 " more\n", lines->left_out);
		if (!lines->count)
			fputs("nothing in the record\n", pen->out);
	}
	fputc('\n', pen->out);
	answer_warn(&l->answer, EVENT_CLASS_file);
	if (l->answer.missing[EVENT_CLASS_process])
		answer_warn(&l->answer, EVENT_CLASS_process);
	if (l->answer.missing[EVENT_CLASS_net])
		answer_warn(&l->answer, EVENT_CLASS_net);
}

/* ---- JSON ---- */

static int write_json(const struct lineage *l, enum view_end how)
{
	FILE *out = l->answer.pen.out;
	struct document d = {0};

	answer_open_json(&l->answer, &d, how, EVENT_CLASS_file);
	document_u64(&d, "missing_process_records", l->answer.missing[EVENT_CLASS_process]);
	document_u64(&d, "missing_net_records", l->answer.missing[EVENT_CLASS_net]);
	if (l->aliases) {
		document_open(&d, "paths", '[');
		for (size_t i = 0; i < aliases_count(l->aliases); i++)
			document_text(&d, NULL, aliases_name(l->aliases, i));
		document_close(&d, '[');
		document_bool(&d, "paths_cut", aliases_are_cut(l->aliases));
	} else {
		document_string(&d, "proc", l->proc);
		document_u64(&d, "processes", l->subjects);
	}
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		const struct section_lines *lines = &l->sections[i];
		char left_out[64];

		document_open(&d, section_names[i], '[');
		for (size_t n = 0; n < lines->count; n++) {
			document_raw(&d, NULL, bytes_of(lines->lines[n]));
			document_flush(&d, out);
		}
		document_close(&d, '[');
		snprintf(left_out, sizeof(left_out), "%s_left_out", section_names[i]);
		document_u64(&d, left_out, lines->left_out);
	}
	document_close(&d, '{');
	return document_finish(&d, out);
}

static int lineage_end(void *state, enum view_end how)
{
	const struct lineage *l = state;

	if (l->answer.asked->options->json)
		return write_json(l, how);
	write_text(l);
	return 0;
}

static const struct view view_lineage = {
	.begin = lineage_begin,
	.event = lineage_event,
	.damage = lineage_damage,
	.end = lineage_end,
	.free = lineage_view_free,
};

/* A key or a pid: digits, and for a key a dash and hex digits. */
static bool is_process(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits)
		return false;
	return !text[digits] || (text[digits] == '-' && text[digits + 1] &&
				 !text[digits + 1 + strspn(text + digits + 1, "0123456789abcdef")]);
}

/* The names first, in a pass of their own: what a file was called before is known only behind it.
 */
static int play(struct session *s, struct lineage_question *asked)
{
	cleanup(aliases) struct aliases *aliases = NULL;
	struct filter all = {0};
	struct player player = {
		.called = CALLED,
		.view = &view_lineage,
		.filter = &all,
		.options = {.color = (enum color_choice)asked->question.options->color,
			    .out = stdout,
			    .errors = stderr,
			    .asked = asked},
	};
	int r = 0;

	if (!is_process(asked->question.subject)) {
		r = aliases_find(s->reader, asked->question.subject, &aliases);
		reader_free(take(s->reader));
		if (r == 0)
			r = reader_open(s->dir_fd, &s->reader);
	}
	if (r < 0) {
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
		return 1;
	}
	asked->aliases = aliases;
	return player_play(&player, s);
}

static int lineage_run(const void *values, int argument_count, char **arguments)
{
	struct lineage_question asked = {.question = {.options = values, .subject = arguments[1]}};
	cleanup(session) struct session session = SESSION_NONE;

	(void)argument_count;
	if (arguments[1][0] != '/' && !is_process(arguments[1])) {
		fputs(CALLED
		      ": what is asked about is neither an absolute path, nor a pid, nor the "
		      "key of a process\n",
		      stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (session_open(asked.question.options->state, arguments[0], CALLED, stderr, &session) < 0)
		return 1;
	return play(&session, &asked);
}

/* clang-format off */
const struct command command_lineage = {
	.name = "lineage",
	.summary = "tell where a file or process came from, and what came of it",
	.positional = "SESSION PATH|PROC",
	.positional_min = 2,
	.positional_max = 2,
	.options = (const struct command_option[]){QUESTION_OPTIONS},
	.values_size = sizeof(struct question_options),
	.defaults = &(const struct question_options)QUESTION_DEFAULTS,
	.description =
		"Of a file, given by its absolute path as the session sees it: who wrote, moved, read and ran it under "
		"any name that it had, and what the processes that read or ran it, and those that they forked then, "
		"wrote and sent by network afterwards. Of a process, given by key or by pid in the session: the "
		"processes that it came from, and what it and those below it ran, read, wrote and sent.\n\n"
		"That a process had a file and later sent something says that the bytes could have gone that way, "
		"not that they did. Reads are in the record only of paths that the policy watches. Copies are "
		"followed through the processes, not through their contents.\n\n"
		QUESTION_SESSION,
	.sections = (const struct command_section[]){
		QUESTION_STATUS,
		{"EXAMPLES",
		 "  vitrine lineage last /workspace/.env\n"
		 "  vitrine lineage last 12"},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = lineage_run,
};
/* clang-format on */
