/*
 * The file `checkpoints` of a session, written: notes (note.h), one behind the other, each naming
 * the one before by its hash.
 *
 * The first note under a key that vitrined gave holds the ledger's line that vouches for that key.
 * From segment to segment the key is ratcheted: the note at the border names the next key, is the
 * last that its own key signs, and the old seed is overwritten. Seeds are in memory alone.
 */
#pragma once

#include "note.h"

#define CHECKPOINTS_FILE "checkpoints"

struct checkpoints;

/* What vitrined gives so that a journal can be signed. */
struct checkpoints_key {
	const char *origin;  /* HOST/SESSION */
	const char *opened;  /* the ledger's line */
	const uint8_t *seed; /* SIGN_SEED_SIZE bytes: of the key in that line */
};

enum checkpoint_kind {
	CHECKPOINT_PLAIN,
	CHECKPOINT_TURN, /* the segment ends: a new key comes after */
	CHECKPOINT_END,	 /* the journal is closed */
};

struct checkpoint {
	enum checkpoint_kind kind;
	uint64_t size, time_ns, blocks;
	uint8_t root[HASH_SIZE];
	const uint8_t *last_block;
};

/* Open the file in @dir_fd, or make it; a note that a crash left without its end is cut off. @key
 * is copied. 0, -EINVAL or -errno. */
int checkpoints_open(int dir_fd, const struct checkpoints_key *key,
		     struct checkpoints **ret_checkpoints);
/* The seed is overwritten. NULL is allowed. */
void checkpoints_free(struct checkpoints *c);

/* Sign and append a note; all of it or nothing. 0 or -errno. */
int checkpoints_add(struct checkpoints *c, const struct checkpoint *checkpoint);

/* The descriptor, to sync. */
int checkpoints_fd(const struct checkpoints *c);
/* Hash of the last note. */
const uint8_t *checkpoints_last(const struct checkpoints *c);

/*
 * The newest whole note of the session in @dir_fd, as text too (no NUL). Its length, -ENOENT
 * (nothing is signed there), -ENODATA (no note yet) or -errno.
 */
int checkpoints_newest(int dir_fd, struct note *ret_note, char ret_text[NOTE_MAX]);
