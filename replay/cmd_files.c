/*
 * vitrine files: what a session left changed.
 */
#include "changes_text.h"
#include "commands.h"
#include "question.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct files_view {
	struct answer answer;
	struct changes *changes;
	char *workspace; /* owned; where it was on the host, as the record says; NULL: unknown */
	uint64_t end_ns; /* wall clock of the last record */
};

static void files_free(void *state)
{
	struct files_view *v = state;

	answer_free(&v->answer);
	changes_free(v->changes);
	free(v->workspace);
	free(v);
}

static int files_begin(const struct view_options *options, void **ret_state)
{
	struct files_view *v = calloc(1, sizeof(*v));
	int r = v ? answer_begin(&v->answer, options) : -ENOMEM;

	if (!v)
		return r;
	v->changes = changes_new();
	if (r < 0 || !v->changes) {
		files_free(v);
		return -ENOMEM;
	}
	*ret_state = v;
	return 0;
}

static int files_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct files_view *v = state;
	int r = answer_add(&v->answer, e);

	(void)origin;
	v->end_ns = e->time_ns;
	if (e->kind == EVENT_session_start && !v->workspace)
		v->workspace = left_tree_place(e);
	return r < 0 || !wanted ? r : changes_add(v->changes, v->answer.actors, e);
}

static void files_damage(void *state, const struct reader_damage *damage)
{
	struct files_view *v = state;

	(void)damage;
	v->answer.damages++;
}

static void write_text(const struct files_view *v, const struct change *list, size_t count)
{
	const struct pen *pen = &v->answer.pen;
	uint64_t counts[OUTCOME_COUNT] = {0};
	bool all = v->answer.asked->options->all, any = false;

	for (size_t i = 0; i < count; i++) {
		counts[list[i].outcome]++;
		if (list[i].outcome == OUTCOME_TEMPORARY && !all)
			continue;
		change_write(&list[i], v->answer.actors, pen);
		fputc('\n', pen->out);
	}
	if (count)
		fputc('\n', pen->out);
	for (size_t i = 1; i < OUTCOME_COUNT; i++) {
		if (!counts[i])
			continue;
		fprintf(pen->out, "%s%s %" PRIu64, any ? ", " : "", outcome_names[i], counts[i]);
		any = true;
	}
	fputs(any ? "\n" : "nothing changed\n", pen->out);
	changes_write_left_out(v->changes, pen);
	answer_warn(&v->answer, EVENT_CLASS_file);
}

static int write_json(const struct files_view *v, const struct change *list, size_t count,
		      enum view_end how)
{
	struct document d = {0};
	FILE *out = v->answer.pen.out;

	answer_open_json(&v->answer, &d, how, EVENT_CLASS_file);
	changes_write_left_out_json(v->changes, &d);
	document_open(&d, "files", '[');
	for (size_t i = 0; i < count; i++) {
		change_write_json(&list[i], v->answer.actors, &d);
		document_flush(&d, out);
	}
	document_close(&d, '[');
	document_close(&d, '{');
	return document_finish(&d, out);
}

/* What is there now of what is not gone. 0 or -ENOMEM. */
static int look_at_files(const struct files_view *v, struct change *list, size_t count)
{
	const struct question_options *o = v->answer.asked->options;
	const char *workspace = o->workspace ? o->workspace : v->workspace;
	struct left_tree *tree = NULL;
	int r = workspace ? left_tree_open(workspace, &tree) : -ENOENT;

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		fprintf(stderr, "vitrine files: nothing is hashed: %s: %s\n",
			workspace ? "the workspace cannot be opened" : "there was no workspace",
			strerror(-r));
	for (size_t i = 0; i < count; i++)
		if (list[i].outcome != OUTCOME_DELETED && list[i].outcome != OUTCOME_TEMPORARY &&
		    list[i].type != FILE_DIRECTORY && list[i].type != FILE_SYMLINK)
			list[i].left = left_tree_look(tree, list[i].path, v->end_ns);
	left_tree_close(tree);
	return 0;
}

static int files_end(void *state, enum view_end how)
{
	const struct files_view *v = state;
	cleanup(free) struct change *list = NULL;
	size_t count;
	int r = changes_list(v->changes, &list, &count);

	if (r == 0 && v->answer.asked->options->hash)
		r = look_at_files(v, list, count);
	if (r < 0)
		return r;
	if (v->answer.asked->options->json)
		return write_json(v, list, count, how);
	write_text(v, list, count);
	return 0;
}

const struct view view_files = {
	.begin = files_begin,
	.event = files_event,
	.damage = files_damage,
	.end = files_end,
	.free = files_free,
};

static int files_run(const void *values, int argument_count, char **arguments)
{
	struct question asked = {.options = values};

	(void)argument_count;
	return question_run("vitrine files", &view_files, &asked, arguments[0]);
}

/* clang-format off */
const struct command command_files = {
	.name = "files",
	.summary = "list what a session left changed",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"all", 'a', NULL, "list temporary files too", OPTION_FLAG, QUESTION_OFFSET(all)},
		{"hash", 0, NULL, "SHA-256 of what is in the workspace now, too", OPTION_FLAG, QUESTION_OFFSET(hash)},
		{"workspace", 0, "DIR", "where the workspace is now, if not where it was", OPTION_TEXT,
		 QUESTION_OFFSET(workspace)},
		QUESTION_OPTION_FILTER,
		QUESTION_OPTIONS,
	},
	.values_size = sizeof(struct question_options),
	.defaults = &(const struct question_options)QUESTION_DEFAULTS,
	.description =
		"Lists the files that are different after the session, not act by act: created, modified, replaced "
		"(another file has the name now), renamed (a chain of renames shows its two ends), deleted; and how "
		"many were made and removed again. With each: size and SHA-256 before and after, as the record has them from "
		"the session's final tree (of a session that recorded none: sizes as its acts tell), and the processes that "
		"did it, by pid and program. Where there is no hash the line says why: off (the policy asks for none), too_large, "
		"bytes or time (of what may be read), secret (one of the session is in the file), unreadable. What no record of "
		"the session explains says so.\n\n"
		"Whether something was there before follows from the first act on a name: what was opened, written, "
		"moved or removed without having been made in the session was there. Where a name was taken by a "
		"rename and nothing else is known of it, the line says so. A name that is only what a system call was "
		"given, which another process could have changed meanwhile, is marked as not proven.\n\n"
		"The workspace outlives the session, the rest of its tree does not. --hash looks at the files of it that were "
		"left: that SHA-256, behind \"now\", is of what is there now, which is no part of the record; what was changed after the last "
		"record says so. Links are not followed, and files of more than 1 GiB (or after 16 GiB in all) are not "
		"hashed.\n\n"
		QUESTION_SESSION,
	.sections = (const struct command_section[]){
		QUESTION_STATUS,
		{"EXAMPLES",
		 "What did the last session change below /etc?\n\n"
		 "  vitrine files last --filter 'file:/etc/*'\n\n"
		 "Is what it built still what it built?\n\n"
		 "  vitrine files last --hash"},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = files_run,
};
/* clang-format on */
