/*
 * The ledger of a host (ledger.h), read and checked, and the public keys that a verifier trusts.
 */
#pragma once

#include "../supervisor/record/ledger.h"

struct trusted_key {
	uint64_t index; /* of the line that it signs */
	uint8_t public[SIGN_PUBLIC_SIZE];
};

struct trusted_keys {
	struct trusted_key *list; /* owned */
	size_t count;
	bool is_given; /* by the user, for what is verified: another one is no mere lack of a key */
};

/* Add the keys in @file, one a line: "INDEX ed25519 KEY". 0, -EBADMSG or -errno. */
int trusted_keys_read(struct trusted_keys *keys, const char *file);
void trusted_keys_free(struct trusted_keys *keys);

struct book_line {
	struct ledger_line line;
	uint8_t public[SIGN_PUBLIC_SIZE]; /* that has to have signed it */
	bool is_trusted;		  /* a trusted key vouches for that one */
};

struct book {
	struct book_line *lines; /* owned */
	size_t count;
	uint64_t bad_line; /* number of the first line in the file that is not good, from 1; 0: none
			    */
	const char *why;   /* what is wrong with it */
	bool is_foreign;   /* signed by another key than the trusted one of the same number */
	bool is_torn;	   /* a line without its end stands last */
	uint8_t last[HASH_SIZE]; /* of the last line */
};

/* Check the lines of @text. 0 (look at bad_line) or -ENOMEM. */
int book_parse(struct bytes text, const struct trusted_keys *keys, struct book *ret_book);

/* Read and check @name below @dir_fd. 0 (look at bad_line) or -errno. */
int book_read(int dir_fd, const char *name, const struct trusted_keys *keys, struct book *ret_book);
void book_free(struct book *book);

/*
 * The key that has to have signed line @index: NULL if that is not known. *ret_trusted says whether
 * a trusted key vouches for it.
 */
const uint8_t *book_public(const struct book *book, const struct trusted_keys *keys, uint64_t index,
			   bool *ret_trusted);

/* The last line of @kind about @name, or NULL. */
const struct book_line *book_find(const struct book *book, enum ledger_kind kind, const char *name);
