/*
 * vitrine report: a session as a page, for people who were not there.
 */
#include "commands.h"
#include "player.h"
#include "report.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CALLED "vitrine report"

enum format { FORMAT_HTML, FORMAT_MARKDOWN, FORMAT_JSON };

static const char *const formats[] = {"html", "md", "json", NULL};

struct report_options {
	const char *state, *output;
	int format;
};

static int (*const writers[])(const struct report *r, FILE *out) = {
	[FORMAT_HTML] = report_write_html,
	[FORMAT_MARKDOWN] = report_write_markdown,
	[FORMAT_JSON] = report_write_json,
};

/* A file that only we can read: a record may hold what is nobody else's. */
static FILE *output_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !out)
		close(fd);
	return out;
}

static int say(const char *path, int error)
{
	struct printable printable = printable_for(stderr, 200);

	fputs(CALLED ": ", stderr);
	printable_word(stderr, &printable, bytes_of(path));
	fprintf(stderr, ": %s\n", strerror(error));
	return 1;
}

static int report_run(const void *values, int argument_count, char **arguments)
{
	const struct report_options *options = values;
	cleanup(session) struct session session = SESSION_NONE;
	cleanup(fclose) FILE *out = NULL;
	struct filter all = {0};
	struct report_request request = {
		.events_max = REPORT_EVENTS_MAX,
		.write = writers[options->format],
	};
	struct player player = {
		.called = CALLED,
		.view = &view_report,
		.filter = &all,
		.options = {.out = stdout, .errors = stderr, .asked = &request},
	};
	int status;

	(void)argument_count;
	if (session_open(options->state, arguments[0], CALLED, stderr, &session) < 0)
		return 1;
	request.dir_fd = session.dir_fd;
	if (options->output && strcmp(options->output, "-") != 0) {
		out = output_open(options->output);
		if (!out)
			return say(options->output, errno);
		player.options.out = out;
	}
	status = player_play(&player, &session);
	if (out && fclose(take(out)))
		return say(options->output, errno);
	return status;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct report_options, member)

const struct command command_report = {
	.name = "report",
	.summary = "write a report about a session",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"output", 'o', "FILE", "write to FILE, not to standard output", OPTION_TEXT, OFFSET(output)},
		{"format", 0, "FORMAT", "html: one page that needs nothing else; md or json", OPTION_CHOICE, OFFSET(format),
		 .choices = formats},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct report_options),
	.defaults = &(const struct report_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Writes what a session came to: the verdict, what it ran, changed and contacted, what it was denied, what "
		"the record lost and what was redacted; then the timeline, the process tree, tables of files, hosts and "
		"names, everything that was refused or is missing, and every event.\n\n"
		"The HTML page is one file: it loads nothing, a content security policy of its own allows nothing but the "
		"style and the script that are part of it, and all text of the session is data. Without scripts all but "
		"the list of events can be read. The list takes the filter language of vitrine-replay(1), is worked by "
		"keyboard, and a link to the page keeps the filter and the record. The first 200000 events are listed; "
		"where there are more the page says so.\n\n"
		"A report is made of the journal alone: the same journal gives the same bytes. The checksums of the "
		"journal are checked while it is read; signatures are not.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name), or "
		"'last'.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0, or 1 if the session cannot be found or read, or its record is damaged or has no end (the report is "
		 "written, and says so), or 2 for a bad command line."},
		{"EXAMPLES", "  vitrine report last -o report.html"},
		{0},
	},
	.run = report_run,
};
/* clang-format on */
