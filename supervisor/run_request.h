/* What `vitrine run` asks for, made of its options. */
#pragma once

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
 * Build the message session.run for @command. Files and environment variables that options and
 * policy name are read here, as the user who runs this. *ret_ring_bytes is what the policy asks for
 * (0: nothing). 0 or -errno with a fault.
 */
int run_request_make(const struct run_options *o, int argument_count, char **command, bool tty,
		     json_t **ret_message, uint64_t *ret_ring_bytes, struct fault *ret_fault);

/* An absolute path, malloc'ed, for one that need not be there. NULL when out of memory. */
char *run_absolute_path(const char *path);
