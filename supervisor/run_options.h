/*
 * The options that commands which start something have in common, as rows of their tables: of a
 * session, of where it is, and of a command in it.
 */
#pragma once

#include "run_request.h"

#include <stddef.h>

#define AT(field) offsetof(struct run_options, field)

/* clang-format off */
#define SESSION_OPTIONS \
	{"name", 0, "NAME", "name of the session", OPTION_TEXT, AT(name)}, \
	{"policy", 0, "FILE", "policy, a JSON file; options override its keys", OPTION_TEXT, AT(policy)}, \
	{"workspace", 0, "DIR", "directory of the host that is writable as /workspace", OPTION_TEXT, AT(workspace)}, \
	{"rootfs", 0, "NAME|DIR", "root file system that the session starts from: a template, or a directory with a slash in its name", \
	 OPTION_TEXT, AT(rootfs)}, \
	{"net", 0, "NET", "network of the session", OPTION_CHOICE, AT(net), .choices = run_nets}, \
	{"tenant", 0, "TENANT", "tenant that the session belongs to", OPTION_TEXT, AT(tenant)}, \
	{"label", 0, "KEY=VALUE", "a label of the session", OPTION_TEXTS, AT(labels)}, \
	{"on-loss", 0, "WHAT", "what happens before a record would be lost", OPTION_CHOICE, AT(on_loss), \
	 .choices = run_losses}, \
	{"secret", 0, "NAME=SOURCE[,KEY=VALUE...]", "a secret of the command that the record never holds, from env:VAR, " \
	 "file:PATH or fd:N", OPTION_TEXTS, AT(secrets)}, \
	{"redact-output", 0, NULL, "print the command's output as the record has it, without secrets", OPTION_FLAG, AT(redact_output)}

#define PLACE_OPTIONS \
	{"state", 0, "DIR", "state directory; without --socket, of a private vitrined", OPTION_TEXT, AT(state)}, \
	{"socket", 0, "PATH", "control socket of the vitrined to use", OPTION_TEXT, AT(socket)}

/* Of a command, or of each command of a session. */
#define GIVEN_OPTIONS \
	{"env", 0, "NAME=VALUE", "a variable of the command's environment", OPTION_TEXTS, AT(env)}, \
	{"limit", 0, "KEY=VALUE[,KEY=VALUE...]", "what may be used at most", OPTION_TEXTS, AT(limits)}, \
	{"user", 0, "USER", "user of the command in the session", OPTION_CHOICE, AT(user), .choices = run_users}

#define COMMAND_OPTIONS \
	{"tty", 't', NULL, "give the command a terminal", OPTION_SET, AT(tty), .value = 1}, \
	{"no-tty", 0, NULL, "give it none, even on a terminal", OPTION_SET, AT(tty), .value = 0}, \
	{"cwd", 0, "DIR", "working directory in the session", OPTION_TEXT, AT(cwd)}, \
	{"json", 0, NULL, "print the verdict as JSON, as the last line of standard error", OPTION_FLAG, AT(json)}, \
	{"quiet", 0, NULL, "do not print the session's id", OPTION_FLAG, AT(quiet)}
/* clang-format on */

#define RUN_DEFAULTS                                                                               \
	{                                                                                          \
		.net = -1, .on_loss = -1, .user = -1, .tty = -1                                    \
	}
