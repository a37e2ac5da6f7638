/*
 * vitrine, as it is called. What starts sessions is here and needs little, so that it is there at
 * once: to load what the other commands need takes longer than to start a session. They are in
 * vitrine-commands, which takes over for them.
 */
#include "record/command.h"
#include "record/install.h"
#include "redact/rules.h"
#include "template_directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMANDS "vitrine-commands"
#define STATUS_FAILED 125

extern const struct command command_run, command_start, command_exec;

static const struct program front = {
	.name = "vitrine",
	.version = VITRINE_VERSION,
	.commands =
		(const struct command *const[]){&command_run, &command_start, &command_exec, NULL},
};

static char **arguments; /* for who takes over */

static int take_over(void)
{
	char dir[PATH_MAX], path[PATH_MAX + sizeof(COMMANDS)];
	int r = install_find(COMMANDS, dir);

	if (r == 0) {
		snprintf(path, sizeof(path), "%s/" COMMANDS, dir);
		execv(path, arguments);
		r = -errno;
	}
	fprintf(stderr,
		"vitrine: cannot run " COMMANDS
		": %s; install it beside vitrine or in libexec/vitrine\n",
		strerror(-r));
	return r;
}

/* Digests need libcrypto, and a tree of files takes its time anyway. Nothing was asked for yet. */
int template_of_directory(const char *state, const char *directory, struct template_sum *ret_sum,
			  struct fault *ret_fault)
{
	(void)state, (void)directory, (void)ret_sum;
	int r = take_over();
	return fault_set(ret_fault, r, "template", "cannot run " COMMANDS ": %s", strerror(-r));
}

/* Schemas are printed by vitrine policy, which is not here. */
json_t *rules_schema(size_t most)
{
	(void)most;
	return NULL;
}

int main(int argc, char **argv)
{
	arguments = argv;
	if (argc > 1 && program_find(&front, argv[1]))
		return program_main(&front, argc, argv);
	return take_over() < 0 ? STATUS_FAILED : 0;
}
