/*
 * A checkpoint: a signed note (C2SP signed-note and tlog-checkpoint) over the tree of a session.
 *
 *   HOST/SESSION
 *   <size: records under the checkpoint, decimal>
 *   <root of their tree, base64>
 *   time <wall clock, ns since 1970>
 *   blocks <sealed blocks of the journal> <hash of the last one, base64>
 *   key ed25519 <public key that signs this note, base64>
 *   previous <SHA-256 of the whole note before, base64>       all but the first
 *   opened <line of the host's ledger that vouches for key>   the first under a new key of the host
 *   next ed25519 <public key of all later notes, base64>      the last that its key signs
 *   end                                                       the journal was closed
 *
 *   — HOST/SESSION <base64: 4 bytes of key id, 64 bytes of signature>
 *
 * What is signed is the text up to the empty line, its newline included. In `checkpoints` another
 * empty line stands behind each note. There is one way to write a note, and no other is read.
 */
#pragma once

#include "ledger.h"

#define NOTE_MAX 2048

struct note {
	char origin[LEDGER_NAME_MAX];
	uint64_t size;
	uint8_t root[HASH_SIZE];
	uint64_t time_ns;
	uint64_t blocks;
	uint8_t last_block[HASH_SIZE];
	uint8_t key[SIGN_PUBLIC_SIZE];
	bool has_previous, has_next, is_end;
	uint8_t previous[HASH_SIZE];
	char opened[LEDGER_LINE_MAX]; /* "": none */
	uint8_t next[SIGN_PUBLIC_SIZE];
	uint8_t signature[SIGN_SIZE];
};

/* Sign @n with @seed, whose public key it gets, and write it. Returns its length or -errno. */
int note_write(struct note *n, const uint8_t seed[SIGN_SEED_SIZE], char ret_text[NOTE_MAX]);

/*
 * Read the note at the beginning of @text. Returns its length, -ENODATA if the text ends within it,
 * or -EBADMSG.
 */
int note_read(struct bytes text, struct note *ret_note);

/* True if the note that stands in @text was signed by the key that it names. */
bool note_is_signed(struct bytes text, const struct note *n);
