/*
 * vitrine-commands: the command line. A table of commands, and the commands that speak of the table
 * itself.
 */
#include "../exporters/commands.h"
#include "../replay/commands.h"
#include "announce.h"
#include "borrow.h"
#include "place.h"
#include "record/cleanup.h"
#include "record/manual.h"

#include <string.h>

extern const struct command command_run;
extern const struct command command_start;
extern const struct command command_exec;
extern const struct command command_kill;
extern const struct command command_policy;
extern const struct command command_redact;
extern const struct command command_seccomp;
extern const struct command command_template;
extern const struct command command_hold;
extern const struct command command_retention;
extern const struct command command_doctor;
extern const struct command command_help;
extern const struct command command_version;

/* What is borrowed was written down by who lends it. */
static int before_reading(const struct command *c, void *values, int argument_count,
			  char **arguments, void **ret_kept)
{
	struct borrowed *borrowed = NULL;
	int status = borrow(c, values, argument_count, arguments, &borrowed);

	*ret_kept = borrowed;
	return status || borrowed ? status : announce_reading(c, values, argument_count, arguments);
}

static void after_reading(void *kept)
{
	borrow_end(kept);
}

/* clang-format off */
static const struct program vitrine = {
	.name = "vitrine",
	.version = VITRINE_VERSION,
	.summary = "run a program in a glass case, and keep a record of what it did",
	.description =
		"vitrine runs an AI agent, or any program, in a sandbox, and keeps a record of what it did that the "
		"program can neither miss, bend nor erase: the kernel and the supervisor see, nothing inside the "
		"session writes.\n\n"
		"A session is a sandbox, for one command (run) or for many (start, exec). Its record is a journal of events below the state directory; it can be read "
		"while the session runs and afterwards, without a daemon.\n\n"
		"Records are read by root and by the group that readers_group of vitrined(8) names. Where vitrined serves the state "
		"directory, a user reads the records of his own sessions too, with all of these commands: vitrined lends the files, "
		"which are copied below $TMPDIR as long as the command runs, and writes down that they were read. Notes about them "
		"stand in $XDG_STATE_HOME/vitrine/notes (~/.local/state/vitrine/notes).",
	.commands = (const struct command *const[]){
		&command_run, &command_start, &command_exec, &command_kill, &command_ps, &command_show, &command_replay, &command_tree,
		&command_files, &command_hosts, &command_lineage, &command_diff, &command_stats, &command_report, &command_search,
		&command_note,
		&command_export, &command_policy, &command_redact, &command_schema,
		&command_verify, &command_keys, &command_prove, &command_bundle, &command_import, &command_hold, &command_retention, &command_compliance,
		&command_template, &command_seccomp, &command_doctor,
		&command_help, &command_version, NULL},
	.before = before_reading,
	.after = after_reading,
	.sections = (const struct command_section[]){
		{"EXAMPLES",
		 "Run a build in a session of its own, and read what it did.\n\n"
		 "  vitrine run --name build --workspace . -- make -j4\n"
		 "  vitrine replay build\n\n"
		 "Start a session that waits for commands, and give it some.\n\n"
		 "  vitrine start --name box\n"
		 "  vitrine exec box -- ./configure\n"
		 "  vitrine exec box -- make\n"
		 "  vitrine kill box\n\n"
		 "List sessions, and look at the last one.\n\n"
		 "  vitrine ps\n"
		 "  vitrine show last"},
		{"FILES",
		 "/var/lib/vitrine: the state directory, with one directory for each session below sessions/.\n\n"
		 "/etc/vitrine/vitrined.json: the configuration of vitrined(8); its state and socket are the defaults of --state and "
		 "--socket, for whoever may read it.\n\n"
		 "<state>/settings.json: what the vitrined that serves a state directory was told of key_file, readers_group and "
		 "recorder_user, so that commands and a vitrine run without it do the same."},
		{0},
	},
};
/* clang-format on */

struct help_options {
	bool man, completion;
};

static int help_run(const void *values, int argument_count, char **arguments)
{
	const struct help_options *options = values;
	const struct command *c = NULL;
	char called[128];

	if (argument_count) {
		c = program_find(&vitrine, arguments[0]);
		if (!c) {
			fprintf(stderr,
				"vitrine help: there is no such command; try 'vitrine help'\n");
			return COMMAND_STATUS_USAGE;
		}
		snprintf(called, sizeof(called), "%s %s", vitrine.name, c->name);
	}
	if (options->completion)
		manual_write_completion(stdout, &vitrine);
	else if (options->man && c)
		manual_write_command_page(stdout, &vitrine, c, 1);
	else if (options->man)
		manual_write_program_page(stdout, &vitrine, 1);
	else if (c)
		manual_write_command(stdout, called, c);
	else
		manual_write_program(stdout, &vitrine);
	return 0;
}

static int version_run(const void *values, int argument_count, char **arguments)
{
	(void)values;
	(void)argument_count;
	(void)arguments;
	printf("%s %s\n", vitrine.name, vitrine.version);
	return 0;
}

/* clang-format off */
const struct command command_help = {
	.name = "help",
	.summary = "say how vitrine or one of its commands is used",
	.positional = "[COMMAND]",
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"man", 0, NULL, "as a manual page, in roff", OPTION_FLAG, offsetof(struct help_options, man)},
		{"completion", 0, NULL, "print a completion script for bash instead", OPTION_FLAG,
		 offsetof(struct help_options, completion)},
		{0},
	},
	.values_size = sizeof(struct help_options),
	.run = help_run,
};
/* clang-format on */

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.run = version_run,
};

int main(int argc, char **argv)
{
	cleanup(place) struct place place;
	struct program here = vitrine;

	place_read(&place);
	here.defaults = (const struct command_default[]){
		{"state", place.state}, {"socket", place.socket}, {NULL, NULL}};
	return program_main(&here, argc, argv);
}
