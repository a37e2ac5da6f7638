/*
 * What a bundle says of itself: an in-toto statement (v1) whose subjects are the files of the
 * session and whose predicate is what a verifier found; and the same in a DSSE envelope that the
 * host's key signed. The same files make the same statement.
 */
#pragma once

#include "verify.h"

#define STATEMENT_FILE "statement.json"
#define ENVELOPE_FILE "statement.dsse.json"
#define STATEMENT_TYPE "application/vnd.in-toto+json"

/* A file of a bundle: below a directory, or with @text in memory. */
struct member {
	char name[32];
	int dir_fd;
	const char *text;
	size_t size;
};

/* The statement about @count @members, owned by the caller. 0 or -errno. */
int statement_make(const struct member *members, size_t count, const struct verify_result *result,
		   char **ret_text);

/* Sign @statement with the host's key, which the ledger in @state notes. 0 or -errno. */
int envelope_make(const char *state, const char *name, const char *statement, char **ret_text);

/* Check that @envelope holds @statement and was signed by a key of @book. Judges in @result. */
void envelope_check(const char *envelope, const char *statement, const struct book *book,
		    const struct trusted_keys *keys, struct verify_result *result);
