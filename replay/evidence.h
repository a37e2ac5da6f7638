/*
 * What `vitrine verify` was pointed at, made ready: a session by one of its names, a directory of
 * one, or a bundle; with the ledger and the public keys that go with it.
 */
#pragma once

#include "verify.h"

#include <stdio.h>

struct evidence {
	int dir_fd;	  /* the session's directory; -1: none */
	char session[32]; /* id that it has to have; "": any */
	struct trusted_keys keys;
	struct book book;
	bool has_book;
	bool is_own; /* the keys were given, or are those of this state directory */
	bool is_bundle;
	bool is_bent;	  /* it is not whole, or not one of ours */
	char scratch[64]; /* a directory to remove; "": none */
};

#define EVIDENCE_NONE ((struct evidence){.dir_fd = -1})

/*
 * Open @what: a file is a bundle, a directory that of a session, all else the name of a session in
 * @state. @key is a file of public keys; NULL: "<state>.pub" where the session is in a state
 * directory. On failure one line on @errors says why. 0 or -errno.
 */
int evidence_open(const char *what, const char *state, const char *key, const char *called,
		  FILE *errors, struct evidence *ret_evidence);
void evidence_close(struct evidence *e);

/* What a bundle says of itself, held against what a verifier found, @result. 0 or -errno. */
int evidence_check_bundle(const struct evidence *e, struct verify_result *result);

/* The keys in @key, or without it those beside @state, where there are any. 0 or -errno. */
int evidence_read_keys(const char *key, const char *state, const char *called, FILE *errors,
		       struct trusted_keys *ret_keys);

static inline void cleanup_evidence(struct evidence *e)
{
	evidence_close(e);
}
