/*
 * Runs a question, and counts what its answer lacks.
 */
#include "question.h"

#include "player.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int question_run(const char *called, const struct view *view, const struct question *asked,
		 const char *what)
{
	cleanup(query) struct query *query = NULL;
	struct filter filter = {0};
	struct player player = {
		.called = called,
		.view = view,
		.filter = &filter,
		.options = {.color = (enum color_choice)asked->options->color,
			    .out = stdout,
			    .errors = stderr,
			    .asked = asked},
	};
	int r = query_from_option(asked->options->query, called, stderr, &query);

	if (r < 0)
		return r == -EINVAL ? COMMAND_STATUS_USAGE : 1;
	filter.query = query;
	return player_run(&player, asked->options->state, what);
}

int answer_begin(struct answer *a, const struct view_options *options)
{
	a->pen = pen_for(options->out, options->color);
	a->asked = options->asked;
	a->session = options->session;
	a->actors = actors_new();
	return a->actors ? 0 : -ENOMEM;
}

int answer_add(struct answer *a, const struct event *e)
{
	if (e->kind == EVENT_gap) {
		struct bytes class = event_bytes(e, FIELD_class);
		uint64_t *missing = &a->missing_others;

		for (size_t i = 0; i < EVENT_CLASS_COUNT; i++) {
			if (class.size == strlen(event_class_names[i]) &&
			    !memcmp(class.data, event_class_names[i], class.size))
				missing = &a->missing[i];
		}
		*missing += event_u64(e, FIELD_count, 1);
	}
	return actors_add(a->actors, e);
}

void answer_free(struct answer *a)
{
	actors_free(a->actors);
}

void answer_warn(const struct answer *a, enum event_class class)
{
	uint64_t missing = a->missing[class] + a->missing_others;

	if (!missing && !a->damages)
		return;
	pen_style(&a->pen, STYLE_LOUD);
	fputs("!! this may not be all: ", a->pen.out);
	if (missing)
		fprintf(a->pen.out, "%" PRIu64 " %s records are missing", missing,
			event_class_names[class]);
	if (a->damages)
		fprintf(a->pen.out, "%sthe record is damaged in %" PRIu64 " places",
			missing ? ", " : "", a->damages);
	pen_style(&a->pen, STYLE_PLAIN);
	fputc('\n', a->pen.out);
}

void answer_open_json(const struct answer *a, struct document *d, enum view_end how,
		      enum event_class class)
{
	document_open(d, NULL, '{');
	document_string(d, "session", a->session);
	document_bool(d, "ended", how == VIEW_ENDED);
	document_u64(d, "missing_records", a->missing[class] + a->missing_others);
	document_u64(d, "damages", a->damages);
}
