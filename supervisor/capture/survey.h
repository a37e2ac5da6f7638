/*
 * A look at the tree of a session whose processes are dead: what in it is not as the session found
 * it. The upper layer of its root holds nothing else, so that is walked; the layers below say what
 * was there before, and the root itself what the session's stat(2) showed.
 *
 * Every name and every byte is the session's. No link is followed, no path of more than one name is
 * resolved, nothing but directories and regular files is opened, and what is too deep, too many,
 * too large or takes too long is left out and counted.
 */
#pragma once

#include "content.h"

#define SURVEY_BELOW 2
#define SURVEY_DEPTH_MAX 4000

struct survey_options {
	int upper_fd, root_fd;
	int below_fds[SURVEY_BELOW]; /* the layers below, uppermost first; -1: none */
	int workspace_fd;	     /* -1: none */
	uint64_t files_max;	     /* that are told */
	struct content *content;
	/* @packet's name and target lie at @name and @target. 0, or an error that ends the survey.
	 */
	int (*emit)(void *context, const struct final_packet *packet, const char *name,
		    const char *target);
	void *context;
};

/* Tell all that has changed in the root; descriptors are borrowed. 0, the error of emit or -errno.
 */
int survey_root(const struct survey_options *options, struct final_totals *ret_totals);

/* Tell what is at @path below the workspace now; emits one FINAL_FOUND with @path as its name.
 * Without a mode there is nothing. */
int survey_workspace(const struct survey_options *options, const char *path);
