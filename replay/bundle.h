/*
 * A session as one file: an archive (tar.h) of its journal, its checkpoints, the ledger as far as
 * it leads to them, the public keys, the manifest and a statement (statement.h); for people the
 * policy that was in force, and a report.
 */
#pragma once

#include "statement.h"

#include <stdio.h>

struct bundle_options {
	int dir_fd;			    /* of the session */
	int state_fd;			    /* that it is in */
	const char *state;		    /* its path */
	bool is_signed;			    /* with the host's key, too */
	const struct verify_result *result; /* what a verifier found */
	struct bytes policy, report;	    /* no data: left out */
};

#define POLICY_FILE "policy.json"
#define REPORT_FILE "report.html"

/* Write the bundle of a session. 0 or -errno. */
int bundle_make(const struct bundle_options *options, FILE *out);

/* The text of the policy in the record of @dir_fd, which the caller frees. 0, -ENOENT or -errno. */
int bundle_policy(int dir_fd, char **ret_text, size_t *ret_size);

/* Unpack one into the empty directory @dir_fd. -EBADMSG: it is not whole, or holds what no bundle
 * does. */
int bundle_unpack(FILE *in, int dir_fd);

/* Hold the statement of the bundle that was unpacked in @dir_fd against its files and what a
 * verifier found, @result, and judge there. 0 or -errno. */
int bundle_check(int dir_fd, const struct book *book, const struct trusted_keys *keys,
		 struct verify_result *result);

/* A new directory for one's own eyes, and its end with all files in it. */
int scratch_make(char *ret_path, size_t size);
void scratch_remove(const char *path);
