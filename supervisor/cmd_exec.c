/* vitrine exec: another command in a session that is alive, which its client attends. */
#include "attended.h"
#include "reach.h"
#include "record/jansson_cleanup.h"
#include "run_options.h"
#include "verdict.h"

static int exec_run(const void *values, int argument_count, char **arguments)
{
	const struct run_options *o = values;
	const struct reach_options where = {.state = o->state, .socket = o->socket};
	struct attended a = attended_begin("vitrine exec", o);
	cleanup(json) json_t *message = NULL;
	char id[SESSION_ID_LENGTH + 1] = "";
	struct fault f = {0};
	int status = VERDICT_STATUS_FAILED;

	if (run_request_exec(o, argument_count - 1, arguments + 1, a.tty, &message, &f) < 0 ||
	    reach_session(&where, arguments[0], id, &a.connection.socket, &f) < 0) {
		attended_complain(&a, f.text);
	} else {
		json_object_set_new(message, "session", json_string(id));
		status = attended_run(&a, message);
	}
	attended_close(&a);
	return status;
}

static const struct run_options exec_defaults = RUN_DEFAULTS;

/* clang-format off */
const struct command command_exec = {
	.name = "exec",
	.summary = "run another command in a session that is alive",
	.positional = "SESSION -- COMMAND [ARG...]",
	.positional_min = 2,
	.positional_max = -1,
	.stops_at_positional = true,
	.options_follow_first = true,
	.usage_status = VERDICT_STATUS_FAILED,
	.options = (const struct command_option[]){
		PLACE_OPTIONS,
		GIVEN_OPTIONS,
		COMMAND_OPTIONS,
		{0},
	},
	.values_size = sizeof(struct run_options),
	.defaults = &exec_defaults,
	.description =
		"vitrine exec gives SESSION another command, beside those that run in it: the same files, network, secrets and policy, its own "
		"standard streams or terminal, its own place in the record (exec, with its number) and its own verdict. SESSION is an id, a "
		"unique prefix of one, a name, or last.\n\n"
		"The command gets the environment that the session was given and what --env adds. When its first process has ended, whatever it "
		"left running is killed; the session goes on. When the session ends, so do all of its commands: reason killed, by session. Where "
		"vitrine exec itself ends, the command does.\n\n"
		"Commands of a session are no walls to each other: what one may do as its user it may do to the processes and files of another.\n\n"
		"Signals are passed on as by vitrine run; the second one kills the command. vitrine kill --exec ends it from elsewhere.\n\n"
		"Users other than root can give commands to sessions of their own alone.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "As of vitrine run: the exit status of COMMAND; 128+N when it was ended by signal N, and 137 when it was killed; 75 when the "
		 "session has as many commands as it may, which is 64; 125 when it could not be run, 126 when COMMAND could not be run, 127 when it was "
		 "not found. The verdict of --json says which."},
		{"LIMITS",
		 "--limit is of this command and all that it starts, beside what the session has for all of its commands and never above that; forms are "
		 "those of vitrine run. What is reached ends, or fails, in this command alone.\n\n"
		 "  memory     bytes of memory, swap included\n"
		 "  pids       processes and threads alive at once\n"
		 "  cpu        processors: 0.5 is half of one\n"
		 "  wall       time of the command\n"
		 "  files      open files of each process\n"
		 "  file_size  bytes of each file\n"
		 "  output     bytes that the command writes to its streams\n\n"
		 "disk, inodes, workspace, io and cpu_weight are of the session, whose commands share them."},
		{"EXAMPLES",
		 "  id=$(vitrine start --workspace .)\n"
		 "  vitrine exec $id -- pip install -r requirements.txt\n"
		 "  vitrine exec $id --env SEED=7 -- python3 agent.py\n"
		 "  vitrine kill $id"},
		{0},
	},
	.run = exec_run,
};
/* clang-format on */
