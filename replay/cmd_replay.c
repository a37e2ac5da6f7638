/*
 * vitrine replay: a session's record, told again.
 */
#include "commands.h"
#include "formats/formats.h"
#include "notes.h"
#include "player.h"
#include "query.h"
#include "screen/screen.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <unistd.h>

#define CALLED "vitrine replay"

struct replay_options {
	const char *state;
	const char *query, *notes;
	struct filter filter;
	bool tree, follow, json, raw_output, interactive, checkpoints;
	int color, format; /* format: FORMAT_NONE, or a number of formats[] */
};

#define FORMAT_NONE (-1)

static const struct view *choose_view(const struct replay_options *options)
{
	if (options->format != FORMAT_NONE)
		return formats[options->format].view;
	if (options->json)
		return options->tree ? &view_tree_json : &view_json;
	if (options->raw_output)
		return &view_raw;
	return options->tree ? &view_tree : &view_timeline;
}

/* Full screen: needs a terminal on both sides. */
static int show_screen(const struct replay_options *options, const char *what)
{
	cleanup(session) struct session session = SESSION_NONE;
	cleanup(free) char *notes = NULL;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fputs(CALLED
		      ": --interactive needs a terminal; without it the timeline is printed\n",
		      stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (options->json || options->raw_output || options->tree || options->follow ||
	    options->format != FORMAT_NONE || options->checkpoints || options->filter.kinds.given ||
	    options->filter.proc || options->filter.since.given || options->filter.until.given) {
		fputs(CALLED
		      ": of the other options --interactive takes --filter, --notes and --state; "
		      "it filters, follows and shows the tree by keys\n",
		      stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (session_open(options->state, what, CALLED, stderr, &session) < 0)
		return 1;
	notes = notes_path(options->state, what, session.manifest.id, options->notes);
	return notes ? screen_run(&session, &(struct screen_options){.called = CALLED,
								     .query = options->query,
								     .notes = notes})
		     : 1;
}

static int replay_run(const void *values, int argument_count, char **arguments)
{
	const struct replay_options *options = values;
	cleanup(query) struct query *query = NULL;
	struct filter filter = options->filter;
	struct player player = {
		.called = CALLED,
		.view = choose_view(options),
		.filter = &filter,
		.options = {.color = (enum color_choice)options->color,
			    .out = stdout,
			    .errors = stderr},
		.follow = options->follow,
		.checkpoints = options->checkpoints,
	};
	int r;

	(void)argument_count;
	if (options->raw_output && (options->json || options->tree)) {
		fputs(CALLED ": --raw-output is possible only without --tree and --json\n", stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (options->format != FORMAT_NONE &&
	    (options->json || options->tree || options->raw_output)) {
		fputs(CALLED
		      ": --format is possible only without --tree, --json and --raw-output\n",
		      stderr);
		return COMMAND_STATUS_USAGE;
	}
	r = query_from_option(options->query, CALLED, stderr, &query);
	if (r < 0)
		return r == -EINVAL ? COMMAND_STATUS_USAGE : 1;
	if (options->checkpoints && (options->tree || options->format != FORMAT_NONE)) {
		fputs(CALLED ": --checkpoints is possible only without --tree and --format\n",
		      stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (options->interactive)
		return show_screen(options, arguments[0]);
	filter.query = query;
	return player_run(&player, options->state, arguments[0]);
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
		{"tree", 't', NULL, "show the process tree instead; with --json as one object", OPTION_FLAG, OFFSET(tree)},
		{"follow", 'f', NULL, "go on until the session has ended", OPTION_FLAG, OFFSET(follow)},
		{"json", 'j', NULL, "print the canonical JSON, one record a line", OPTION_FLAG, OFFSET(json)},
		{"raw-output", 0, NULL, "write the session's output as it was, unescaped", OPTION_FLAG,
		 OFFSET(raw_output)},
		{"interactive", 'i', NULL, "full screen, to look around by keys (see FULL SCREEN)", OPTION_FLAG, OFFSET(interactive)},
		{"notes", 0, "FILE", "with --interactive: where notes and bookmarks stand", OPTION_TEXT, OFFSET(notes)},
		{"checkpoints", 0, NULL, "tell of the signed checkpoints too, behind the last record that each covers, or with --follow as they "
		 "come; they have no number of their own", OPTION_FLAG, OFFSET(checkpoints)},
		{"format", 0, "FORMAT", "as another tool reads it (see FORMATS)", OPTION_CHOICE, OFFSET(format),
		 .choices = format_names},
		{"color", 0, "WHEN", "colours: by itself on a terminal only", OPTION_CHOICE, OFFSET(color),
		 .choices = color_choices},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct replay_options),
	.defaults = &(const struct replay_options){.state = STORE_DEFAULT_STATE, .format = FORMAT_NONE},
	.description =
		"Prints what happened in a session, one line an event in the order of the record: seconds since "
		"the start, pid in the session, kind, and what it was, indented by the process tree. A summary "
		"follows.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name), "
		"'last', or the path of a bundle (FILE.tar) or of a session's directory. A session that still runs can be read too. Neither a daemon nor root is needed, only "
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
		{"FULL SCREEN",
		 "With --interactive the record is shown on the whole terminal: lanes of what happened when, the list of records or "
		 "the process tree, and the values of the record under the cursor or what the session's terminal showed at that "
		 "moment. ? lists the keys. A session of any size is there at once: only the pages that are looked at are "
		 "read, and lanes, tree and filters fill up meanwhile. A session that runs grows on the screen.\n\n"
		 "Enter on a value filters by it (- by all others), f edits the filter, / searches, n and N go on; h, d, r and a go to "
		 "the next hole, refusal, redaction and technique, their capitals to the one before; space plays the session, + and "
		 "_ change the speed, < and > go five seconds. Holes stand in the list whatever the filter says.\n\n"
		 "m bookmarks a record and c writes a note about it; both go to a file beside the evidence, never into it, with "
		 "name and time (vitrine-note(1))."},
		{"FORMATS",
		 "  perfetto        Chrome trace JSON, for ui.perfetto.dev\n"
		 "  timesketch      JSON lines for Timesketch\n"
		 "  timesketch-csv  CSV for Timesketch and spreadsheets\n"
		 "  asciicast       what terminals showed, as asciicast v3\n"
		 "  asciicast-v2    the same for older players\n\n"
		 "In the trace each process is a track, numbered anew because pids are used again; a life without a fork or an "
		 "exit in the record says so. In the CSV a text that a spreadsheet would take for a formula has an apostrophe "
		 "before it, and the last column is the whole record as canonical JSON. In a cast the programs that ran and "
		 "every hole are markers. Gaps and damage stand in all of them. The same record gives the same bytes. For "
		 "OCSF, ECS, CEF and OTLP see vitrine-export(1)."},
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
		 "Look around in a bundle that somebody sent.\n\n"
		 "  vitrine replay -i incident.tar\n\n"
		 "See it in Perfetto.\n\n"
		 "  vitrine replay last --format perfetto >session.json\n\n"
		 "Watch a session that runs.\n\n"
		 "  vitrine replay last --follow"},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = replay_run,
};
/* clang-format on */
