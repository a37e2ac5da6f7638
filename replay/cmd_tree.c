/*
 * vitrine tree: the process tree of a session.
 */
#include "commands.h"
#include "question.h"

static int tree_run(const void *values, int argument_count, char **arguments)
{
	const struct question_options *options = values;
	struct question asked = {.options = options};

	(void)argument_count;
	return question_run("vitrine tree", options->json ? &view_tree_json : &view_tree, &asked,
			    arguments[0]);
}

/* clang-format off */
const struct command command_tree = {
	.name = "tree",
	.summary = "draw the process tree of a session",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		QUESTION_OPTION_FILTER,
		QUESTION_OPTIONS,
	},
	.values_size = sizeof(struct question_options),
	.defaults = &(const struct question_options)QUESTION_DEFAULTS,
	.description =
		"Draws who forked whom: a line a process, with what it ran, how it ended, how long it lived and what "
		"it touched. The same as 'vitrine replay --tree'. With --filter only processes that did something of "
		"that, and the way to them.\n\n"
		"With --json the processes are one flat list, each with the key of its parent.\n\n"
		QUESTION_SESSION,
	.sections = (const struct command_section[]){QUESTION_STATUS, {0}},
	.reads = COMMAND_READS_ONE,
	.run = tree_run,
};
/* clang-format on */
