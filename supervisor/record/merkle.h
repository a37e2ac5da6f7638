/*
 * The tree over the records of a session: RFC 6962, section 2.1, with SHA-256. A leaf is the hash
 * of a record's payload (codec.h) behind a zero byte, an inner node that of two hashes behind a
 * byte of one, so that neither can be taken for the other. Record number n is leaf n - 1.
 *
 * A tree that grows keeps one hash for each bit of its size, and nothing else.
 */
#pragma once

#include "journal_format.h"

struct merkle;

/* An empty tree. 0 or -ENOMEM. */
int merkle_new(struct merkle **ret_tree);
void merkle_free(struct merkle *m);

/* Add the leaf of @payload. */
void merkle_add(struct merkle *m, struct bytes payload);
/* Add a leaf that was hashed already. */
void merkle_add_leaf(struct merkle *m, const uint8_t leaf[HASH_SIZE]);
/* Add the leaf of a record that is lost: the hash of the one byte 2, which no record has. */
void merkle_add_lost(struct merkle *m);

uint64_t merkle_size(const struct merkle *m);
void merkle_root(const struct merkle *m, uint8_t ret_root[HASH_SIZE]);

/* The hash of a record's leaf. */
void merkle_leaf(struct bytes payload, uint8_t ret_leaf[HASH_SIZE]);

#define MERKLE_PATH_MAX 64

/*
 * All that a tree keeps: with it a tree goes on without the leaves that it has. Its root is that of
 * a tree of these leaves, which a checkpoint signs. The way leads from the first leaf to the first
 * of the complete subtrees, so that the first record can be held against it, too.
 */
struct merkle_state {
	uint64_t size;
	size_t peak_count, way_count; /* as the size says */
	uint8_t peaks[64][HASH_SIZE]; /* roots of the complete subtrees, the largest first */
	uint8_t way[MERKLE_PATH_MAX][HASH_SIZE];
};

void merkle_save(const struct merkle *m, struct merkle_state *ret_state);
/* Go on from @state. False, and nothing is done, if its counts are not those of its size. */
bool merkle_load(struct merkle *m, const struct merkle_state *state);
/* True if @leaf is the first of those under @state, which was loaded or saved. */
bool merkle_is_first(const struct merkle_state *state, const uint8_t leaf[HASH_SIZE]);

/*
 * The way from leaf @index to the root of the tree of @count @leaves: hashes of the siblings, from
 * the leaf upwards. Returns how many. @index is less than @count.
 */
size_t merkle_prove(const uint8_t (*leaves)[HASH_SIZE], uint64_t count, uint64_t index,
		    uint8_t ret_path[MERKLE_PATH_MAX][HASH_SIZE]);

/*
 * The same where the leaves before @before (which was saved or loaded) are not there any more:
 * @leaves begin behind them, @count and @index count from the first of all. -1: the leaf is one of
 * those that are not there, and not the very first.
 */
int merkle_prove_behind(const struct merkle_state *before, const uint8_t (*leaves)[HASH_SIZE],
			uint64_t count, uint64_t index,
			uint8_t ret_path[MERKLE_PATH_MAX][HASH_SIZE]);

/* True if @path leads from @leaf at @index to @root in a tree of @size leaves (RFC 9162, 2.1.3.2).
 */
bool merkle_check(const uint8_t leaf[HASH_SIZE], uint64_t index, uint64_t size,
		  const uint8_t (*path)[HASH_SIZE], size_t length, const uint8_t root[HASH_SIZE]);
