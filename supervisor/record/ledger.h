/*
 * The ledger of a host: <state>/chain, one line for everything that the host vouches for with its
 * signing key, in order, append only.
 *
 *   INDEX KIND NAME DETAIL TIME PREVIOUS ed25519 NEXT SIGNATURE
 *
 *   INDEX      number of the line, from 0, and of the key that signs it
 *   KIND       start   the first line under a key that nothing before vouches for
 *              open    a session gets a key; DETAIL: that public key
 *              end     a session ended; DETAIL: SHA-256 of its last note
 *              rotate  the next key is a new one, not made of the one before
 *              bundle  evidence was handed out; DETAIL: SHA-256 of its statement
 *              hold    the record may not be removed; DETAIL: SHA-256 of the act (acts.h)
 *              release it may be again; likewise
 *              remove  the record was removed; likewise
 *              access  the record was read; likewise
 *              trim    its first segments were removed; likewise
 *   NAME       HOST/SESSION, or -
 *   DETAIL     32 bytes in base64
 *   TIME       wall clock, ns since 1970
 *   PREVIOUS   SHA-256 of the line before, its newline left out; of the first, zero
 *   NEXT       public key of the line after
 *   SIGNATURE  over all that stands before it
 *
 * Each line takes the key on: the private key of line n is made of that of line n - 1 by a one-way
 * function (or anew, by rotate) and the old one is overwritten, so that no line that was written
 * can be written again. Whoever has the public key of one line can check all that follow. The
 * private key stands in <state>.sign, root's, beside the state directory; the first public key in
 * <state>.pub. As the ledger commits to the last note of each session that ended, and each
 * session's first note holds its line of the ledger, no session can be taken out of the row unseen.
 */
#pragma once

#include "journal_format.h"
#include "sign.h"

#define LEDGER_FILE "chain"
#define LEDGER_NAME_MAX 128
#define LEDGER_LINE_MAX 640

enum ledger_kind {
	LEDGER_START,
	LEDGER_OPEN,
	LEDGER_END,
	LEDGER_ROTATE,
	LEDGER_BUNDLE,
	LEDGER_HOLD,
	LEDGER_RELEASE,
	LEDGER_REMOVE,
	LEDGER_ACCESS,
	LEDGER_TRIM,
	LEDGER_KIND_COUNT,
};

extern const char *const ledger_kind_names[LEDGER_KIND_COUNT];

struct ledger_line {
	uint64_t index;
	enum ledger_kind kind;
	char name[LEDGER_NAME_MAX];
	uint8_t detail[HASH_SIZE];
	uint64_t time_ns;
	uint8_t previous[HASH_SIZE];
	uint8_t next[SIGN_PUBLIC_SIZE];
	uint8_t signature[SIGN_SIZE];
};

/* Sign @line with @seed and write it, with a NUL and no newline. Its length or -errno. */
int ledger_line_write(struct ledger_line *line, const uint8_t seed[SIGN_SEED_SIZE],
		      char ret_text[LEDGER_LINE_MAX]);
/* 0 or -EBADMSG; @text without its newline. */
int ledger_line_read(struct bytes text, struct ledger_line *ret_line);
bool ledger_line_is_signed(struct bytes text, const struct ledger_line *line,
			   const uint8_t public[SIGN_PUBLIC_SIZE]);

/* A decimal number in its shortest form. */
bool ledger_number(struct bytes text, uint64_t *ret_number);
