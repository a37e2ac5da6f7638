/*
 * vitrine replay: a session's record, told again.
 */
#include "commands.h"
#include "follow.h"
#include "query.h"
#include "session.h"
#include "view.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine replay"

struct replay_options {
	const char *state;
	const char *query;
	struct filter filter;
	bool tree, follow, json, raw_output;
	int color;
};

struct replay {
	const struct replay_options *options;
	struct filter filter;
	struct session session;
	const struct view *view;
	void *view_state;
	struct origin origin;
	bool begun, ended, damaged;
};

static int take_record(struct replay *p, const struct event *e)
{
	if (!p->begun) {
		p->origin = (struct origin){e->time_ns, e->boot_ns};
		p->begun = true;
	}
	p->ended |= e->kind == EVENT_session_end;
	return p->view->event(p->view_state, e, &p->origin,
			      filter_match(&p->filter, &p->origin, e));
}

/* Show the damage in its place. True if there is something whole behind it. */
static bool pass_damage(struct replay *p)
{
	const struct reader_damage *damage = reader_damage(p->session.reader);

	p->damaged = true;
	fflush(stdout);
	fprintf(stderr,
		CALLED ": the record is damaged: segment %s, byte %" PRIu64
		       ", after record %" PRIu64 ": %s\n",
		damage->segment, damage->offset, damage->after_seq, damage->why);
	if (p->view->damage)
		p->view->damage(p->view_state, damage);
	return reader_skip_damage(p->session.reader);
}

/* All records that are there now. 0, or the error of the view. */
static int drain(struct replay *p)
{
	struct event e;

	for (;;) {
		int r;

		switch (reader_next(p->session.reader, &e)) {
		case READER_RECORD:
			r = take_record(p, &e);
			if (r < 0)
				return r;
			break;
		case READER_END:
			return 0;
		case READER_STOPPED:
			if (!pass_damage(p))
				return 0;
			break;
		}
	}
}

/* Read the manifest anew: the session may have ended meanwhile. */
static void refresh_manifest(struct replay *p)
{
	struct manifest fresh;

	if (manifest_read(p->session.dir_fd, &fresh) < 0)
		return;
	manifest_free(&p->session.manifest);
	p->session.manifest = fresh;
}

/* Go on until the session has ended, or nobody is left who could write its end. */
static int follow(struct replay *p)
{
	cleanup(follow) struct follow f = {.fd = -1};
	int r = follow_open(p->session.dir_fd, &f);

	while (r == 0 && !p->ended && !p->damaged) {
		bool over;

		refresh_manifest(p);
		over = p->session.manifest.state == SESSION_ENDED ||
		       !manifest_is_alive(&p->session.manifest);
		r = drain(p); /* after the look: what was written before it is read */
		if (r < 0 || over || fflush(stdout))
			break;
		r = follow_wait(&f);
	}
	return r;
}

static enum view_end how_it_ended(struct replay *p)
{
	if (p->ended)
		return VIEW_ENDED;
	refresh_manifest(p);
	if (p->session.manifest.state == SESSION_ENDED)
		return VIEW_TORN;
	return manifest_is_alive(&p->session.manifest) ? VIEW_RUNNING : VIEW_LOST;
}

static const struct view *choose_view(const struct replay_options *options)
{
	if (options->json)
		return &view_json;
	if (options->raw_output)
		return &view_raw;
	return options->tree ? &view_tree : &view_timeline;
}

/* 0, or what went wrong with reading or showing. */
static int play(struct replay *p)
{
	enum view_end how;
	int r = drain(p);

	if (r == 0 && p->options->follow)
		r = follow(p);
	/* Once more: the end may have been written between the last record and this look. */
	how = how_it_ended(p);
	if (r == 0 && how != VIEW_ENDED && !p->damaged) {
		r = drain(p);
		how = p->ended ? VIEW_ENDED : how;
	}
	if (r == 0)
		r = p->view->end(p->view_state, how);
	if (r == 0 && how == VIEW_TORN && !p->damaged) {
		fprintf(stderr, CALLED ": session %s has ended, but its record has no end\n",
			p->session.manifest.id);
		p->damaged = true;
	}
	return r;
}

static int replay_run(const void *values, int argument_count, char **arguments)
{
	const struct replay_options *options = values;
	cleanup(session) struct session session = SESSION_NONE;
	cleanup(query) struct query *query = NULL;
	struct replay p = {
		.options = options, .filter = options->filter, .view = choose_view(options)};
	struct view_options view = {
		.color = (enum color_choice)options->color, .out = stdout, .errors = stderr};
	int r;

	(void)argument_count;
	if (options->json + options->raw_output + options->tree > 1) {
		fputs(CALLED ": only one of --tree, --json and --raw-output is possible\n", stderr);
		return COMMAND_STATUS_USAGE;
	}
	r = query_from_option(options->query, CALLED, stderr, &query);
	if (r < 0)
		return r == -EINVAL ? COMMAND_STATUS_USAGE : 1;
	p.filter.query = query;
	if (session_open(options->state, arguments[0], CALLED, stderr, &session) < 0)
		return 1;

	view.session = session.manifest.id;
	p.session = session;
	r = p.view->begin(&view, &p.view_state);
	if (r == 0) {
		r = play(&p);
		p.view->free(p.view_state);
	}
	session = p.session; /* its manifest may be a newer one */
	if (r < 0)
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
	return r < 0 || p.damaged;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct replay_options, member)

const struct command command_replay = {
	.name = "replay",
	.summary = "tell a session's record again",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"filter", 0, "FILTER", "only events that this is true for (see FILTER LANGUAGE)", OPTION_TEXT,
		 OFFSET(query)},
		{"kind", 'k', "KIND,...", "only events of these kinds or groups of kinds", OPTION_PARSED,
		 OFFSET(filter.kinds), .parse = filter_parse_kinds, .allowed = FILTER_KINDS_ALLOWED},
		{"proc", 'p', "KEY", "only of this process: its key, or its pid in the session", OPTION_TEXT,
		 OFFSET(filter.proc)},
		{"since", 0, "TIME", "only from then on", OPTION_PARSED, OFFSET(filter.since),
		 .parse = moment_parse, .allowed = MOMENT_ALLOWED},
		{"until", 0, "TIME", "only up to then", OPTION_PARSED, OFFSET(filter.until),
		 .parse = moment_parse, .allowed = MOMENT_ALLOWED},
		{"tree", 't', NULL, "show the process tree instead", OPTION_FLAG, OFFSET(tree)},
		{"follow", 'f', NULL, "go on until the session has ended", OPTION_FLAG, OFFSET(follow)},
		{"json", 'j', NULL, "print the canonical JSON, one record a line", OPTION_FLAG, OFFSET(json)},
		{"raw-output", 0, NULL, "write the session's output as it was, unescaped", OPTION_FLAG,
		 OFFSET(raw_output)},
		{"color", 0, "WHEN", "colours: by itself on a terminal only", OPTION_CHOICE, OFFSET(color),
		 .choices = color_choices},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct replay_options),
	.defaults = &(const struct replay_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Prints what happened in a session, one line an event in the order of the record: seconds since "
		"the start, pid in the session, kind, and what it was, indented by the process tree. A summary "
		"follows.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name), "
		"or 'last'. A session that still runs can be read too. Neither a daemon nor root is needed, only "
		"leave to read the files.\n\n"
		"Where records are missing a line says so in its place, whatever is filtered out: gaps that the "
		"recorder declared, and damage to the files, which is passed over to the next whole block. Values "
		"that were cut or redacted are marked.\n\n"
		"Nothing that a session made reaches the terminal as it is: words are quoted as a shell would take "
		"them, and what could move the cursor, turn the direction of text or hide is written as \\n, \\xNN "
		"or \\uNNNN. Long values are shortened in lines; --json has all of them. Only --raw-output writes "
		"bytes as they were.\n\n"
		"TIME counts from the session's start (1.5s, +2m, 1h30m, 250ms) or is RFC 3339 "
		"(2024-05-01T12:00:00Z). KIND is a kind (process.exec), a group (file, net.*) or a prefix "
		"(file.re*).",
	.sections = (const struct command_section[]){
		QUERY_MANUAL,
		{"EXIT STATUS",
		 "0, or 1 if the session cannot be found or read, or its record is damaged or has no end, or 2 for "
		 "a bad command line."},
		{"EXAMPLES",
		 "What did the last session run, and what failed?\n\n"
		 "  vitrine replay last --kind process.exec,process.exec_failed\n\n"
		 "What was done to files in the first two seconds?\n\n"
		 "  vitrine replay build-7 --kind file --until 2s\n\n"
		 "Which files below /etc were touched, and by whom?\n\n"
		 "  vitrine replay last --filter 'file:/etc/*'\n\n"
		 "Watch a session that runs.\n\n"
		 "  vitrine replay last --follow"},
		{0},
	},
	.run = replay_run,
};
/* clang-format on */
