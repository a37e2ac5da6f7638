/* Blocks and the hashes that chain them. */
#include "seal.h"
#include "crc32c.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct chain {
	struct hash content;
	struct seal open; /* the block that records are added to */
};

static void open_block(struct chain *c, uint64_t block)
{
	hash_begin(&c->content);
	c->open.block = block;
	c->open.count = 0;
	c->open.bytes = 0;
	c->open.crc = 0;
}

int chain_new(uint64_t block, const uint8_t previous[HASH_SIZE], struct chain **ret_chain)
{
	struct chain *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	memcpy(c->open.previous, previous, HASH_SIZE);
	open_block(c, block);
	*ret_chain = c;
	return 0;
}

void chain_free(struct chain *c)
{
	free(c);
}

void chain_add(struct chain *c, struct bytes frame, uint64_t seq, uint64_t time_ns)
{
	hash_add(&c->content, frame.data, frame.size);
	if (!c->open.count) {
		c->open.first_seq = seq;
		c->open.first_time_ns = time_ns;
	}
	c->open.last_time_ns = time_ns;
	c->open.count++;
	c->open.bytes += frame.size;
	c->open.crc = crc32c(c->open.crc, frame.data, frame.size);
}

uint64_t chain_open_bytes(const struct chain *c)
{
	return c->open.bytes;
}

void chain_seal(struct chain *c, struct seal *ret_seal)
{
	uint8_t payload[SEAL_SIZE];

	assert(c->open.count);
	hash_end(&c->content, c->open.content);
	*ret_seal = c->open;
	seal_put(&c->open, payload);
	seal_hash(payload, c->open.previous);
	open_block(c, c->open.block + 1);
}

const uint8_t *chain_last(const struct chain *c)
{
	return c->open.previous;
}

uint64_t chain_blocks(const struct chain *c)
{
	return c->open.block;
}

void seal_hash(const uint8_t payload[SEAL_SIZE], uint8_t ret_hash[HASH_SIZE])
{
	hash_bytes((struct bytes){payload, SEAL_SIZE}, ret_hash);
}
