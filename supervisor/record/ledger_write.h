/*
 * Adds lines to the ledger of a host (ledger.h) with its signing key. For root alone. Several
 * processes may do so at once: each holds a lock on <state>.lock meanwhile.
 */
#pragma once

#include "ledger.h"

/*
 * Add a line to the ledger in the state directory @state. @name is "-" or HOST/SESSION, @detail may
 * be NULL. The first call makes the key and the ledger. With @is_durable the line is on disk, and
 * every key before the next line's is overwritten, when it returns; without it, by the next call
 * that is. @ret_text, if not NULL, gets the line without a newline. 0; -EPERM if the key file is
 * not root's alone; -EKEYREJECTED if the key is not the one that the last line names; or -errno.
 */
int ledger_add(const char *state, enum ledger_kind kind, const char *name, const uint8_t *detail,
	       bool is_durable, char *ret_text);

/*
 * Make durable what was added before without: the lines are on disk, and every key before the next
 * line's is overwritten, when it returns. Others may add meanwhile. 0 or -errno.
 */
int ledger_settle(const char *state);

/*
 * Sign @text with the key of the next line, which is of kind bundle and has its SHA-256: what is
 * signed for others is in the ledger, too. *ret_index is the number of that line. As ledger_add.
 */
int ledger_sign(const char *state, const char *name, struct bytes text,
		uint8_t ret_signature[SIGN_SIZE], uint64_t *ret_index);

/* Number and public key of the line that comes next. As ledger_add, and -ENOENT: there is no key.
 */
int ledger_key(const char *state, uint64_t *ret_index, uint8_t ret_public[SIGN_PUBLIC_SIZE]);

/* HOST/SESSION for this host, in letters that a note can bear. */
void ledger_name(const char *session, char ret_name[LEDGER_NAME_MAX]);
