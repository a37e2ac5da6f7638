/*
 * vitrine report: a session as a page, for people who were not there.
 */
#include "commands.h"
#include "evidence.h"
#include "player.h"
#include "report.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CALLED "vitrine report"

enum format { FORMAT_HTML, FORMAT_MARKDOWN, FORMAT_JSON };

static const char *const formats[] = {"html", "md", "json", NULL};

struct report_options {
	const char *state, *output, *key;
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

/* Hold the session against what was signed. False: that could not be tried, as standard error says.
 */
static bool verify(const struct report_options *options, const char *session,
		   struct verify_result *ret_result)
{
	cleanup(evidence) struct evidence evidence = EVIDENCE_NONE;
	struct timespec now;
	int r = evidence_open(session, options->state, options->key, CALLED, stderr, &evidence);

	if (r < 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	r = verify_session(
		evidence.dir_fd,
		&(struct verify_options){
			.keys = &evidence.keys,
			.book = evidence.has_book ? &evidence.book : NULL,
			.is_own = evidence.is_own,
			.session = evidence.session[0] ? evidence.session : NULL,
			.now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec,
		},
		ret_result);
	if (r == 0 && evidence.is_bundle)
		r = evidence_check_bundle(&evidence, ret_result);
	if (r < 0)
		fprintf(stderr, CALLED ": it cannot be verified: %s\n", strerror(-r));
	return r == 0;
}

static int report_run(const void *values, int argument_count, char **arguments)
{
	const struct report_options *options = values;
	cleanup(session) struct session session = SESSION_NONE;
	cleanup(fclose) FILE *out = NULL;
	struct verify_result verified = {0};
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
	if (verify(options, session_is_path(arguments[0]) ? arguments[0] : session.manifest.id,
		   &verified))
		request.verified = &verified;
	if (options->output && strcmp(options->output, "-") != 0) {
		out = output_open(options->output);
		if (!out)
			return say(options->output, errno);
		player.options.out = out;
	}
	status = player_play(&player, &session);
	if (request.verified && verified.verdict == VERIFY_TAMPERED) {
		fprintf(stderr, CALLED ": the record of session %s was tampered with\n",
			session.manifest.id);
		status = 1;
	}
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
		{"key", 'k', "FILE", "public keys to trust, from 'vitrine keys export'", OPTION_TEXT, OFFSET(key)},
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
		"the list of events can be read. The list takes the filter language of vitrine-replay(1), and each value of a "
		"record is a way to its like; the timeline is zoomed into by dragging or by + and -, and the list follows; the "
		"session's terminal is played there, in step with the list. All of it is worked by keyboard, and a link to the page "
		"keeps the filter, the time and the record. The first 200000 events are listed; "
		"where there are more the page says so.\n\n"
		"The record is verified for it, as 'vitrine verify' does, with the keys of --key or those beside the state "
		"directory; the first lines say whether it is what was signed. A report is made of the session's files and "
		"these keys alone: for a session that has ended the same files give the same bytes.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name), "
		"'last', or the path of a bundle (FILE.tar) or of a session's directory.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0, or 1 if the session cannot be found or read, or its record is damaged, was tampered with or has no end (the report is "
		 "written, and says so), or 2 for a bad command line."},
		{"EXAMPLES", "  vitrine report last -o report.html"},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = report_run,
};
/* clang-format on */
