/*
 * The chain of a journal: record frames become blocks, and each block names the one before by its
 * hash. This is the only place that hashes a journal; what signs it later builds on these hashes.
 */
#pragma once

#include "journal_format.h"

struct chain;

/* A chain that goes on after @block blocks, the last of which hashes to @previous. 0 or -ENOMEM. */
int chain_new(uint64_t block, const uint8_t previous[HASH_SIZE], struct chain **ret_chain);
void chain_free(struct chain *c);

/* Add the frame of one record, head included, to the open block. */
void chain_add(struct chain *c, struct bytes frame, uint64_t seq, uint64_t time_ns);

/* Bytes of the open block; 0 if there is none. */
uint64_t chain_open_bytes(const struct chain *c);

/* Close the open block, which must have a record: its seal, and from then on the next block. */
void chain_seal(struct chain *c, struct seal *ret_seal);

/* Hash of the last block that was closed, and how many there are. */
const uint8_t *chain_last(const struct chain *c);
uint64_t chain_blocks(const struct chain *c);

/* The hash of a block, from its seal's payload. */
void seal_hash(const uint8_t payload[SEAL_SIZE], uint8_t ret_hash[HASH_SIZE]);
