/* What `vitrine run` asks for, made of its options. */
#pragma once

#include "connection.h"
#include "fault.h"
#include "record/command.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct run_options {
	const char *name, *policy, *state, *socket, *workspace, *rootfs, *tenant, *cwd;
	int net, on_loss, user; /* index into the choices below; -1: not given */
	int tty;		/* 0, 1; -1: not given */
	struct option_texts labels, env, secrets, limits;
	bool json, quiet, redact_output;
};

extern const char *const run_nets[], *const run_losses[], *const run_users[];

/*
 * Build the message session.run for @command, or session.start for none. Files and environment
 * variables that options and policy name are read here, as the user who runs this. 0 or -errno with
 * a fault.
 */
int run_request_make(const struct run_options *o, int argument_count, char **command, bool tty,
		     json_t **ret_message, struct fault *ret_fault);
/* The same with exec.run for a session that is there: what is about the command alone. */
int run_request_exec(const struct run_options *o, int argument_count, char **command, bool tty,
		     json_t **ret_message, struct fault *ret_fault);

/* The command gets a terminal: it was asked for, or there is one. */
bool run_wants_terminal(const struct run_options *o);

/* Connect to the daemon that @message is for, if need be a private one. 0 or -errno with a fault.
 */
int run_connect(const struct run_options *o, const json_t *message, bool is_detached,
		struct connection *ret_connection, struct fault *ret_fault);

/* An absolute path, malloc'ed, for one that need not be there. NULL when out of memory. */
char *run_absolute_path(const char *path);
