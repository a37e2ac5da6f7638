/*
 * The tree as it grows: the roots of its complete subtrees, one for each bit of its size that is
 * set.
 */
#include "merkle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum prefix { PREFIX_LEAF, PREFIX_NODE, PREFIX_LOST };

struct merkle {
	uint64_t size;
	uint8_t peaks[64][HASH_SIZE]; /* by height; valid where the size has the bit */
};

int merkle_new(struct merkle **ret_tree)
{
	struct merkle *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret_tree = m;
	return 0;
}

void merkle_free(struct merkle *m)
{
	free(m);
}

/* The hash of a byte and two spans. */
static void hash_of(enum prefix prefix, struct bytes one, struct bytes other,
		    uint8_t ret_hash[HASH_SIZE])
{
	uint8_t byte = (uint8_t)prefix;
	struct hash h;

	hash_begin(&h);
	hash_add(&h, &byte, 1);
	hash_add(&h, one.data, one.size);
	hash_add(&h, other.data, other.size);
	hash_end(&h, ret_hash);
}

static void hash_node(const uint8_t left[HASH_SIZE], const uint8_t right[HASH_SIZE],
		      uint8_t ret_hash[HASH_SIZE])
{
	hash_of(PREFIX_NODE, (struct bytes){left, HASH_SIZE}, (struct bytes){right, HASH_SIZE},
		ret_hash);
}

void merkle_leaf(struct bytes payload, uint8_t ret_leaf[HASH_SIZE])
{
	hash_of(PREFIX_LEAF, payload, (struct bytes){0}, ret_leaf);
}

void merkle_add_leaf(struct merkle *m, const uint8_t leaf[HASH_SIZE])
{
	uint8_t hash[HASH_SIZE];
	size_t height = 0;

	memcpy(hash, leaf, HASH_SIZE);
	for (; m->size >> height & 1; height++)
		hash_node(m->peaks[height], hash, hash);
	memcpy(m->peaks[height], hash, HASH_SIZE);
	m->size++;
}

void merkle_add(struct merkle *m, struct bytes payload)
{
	uint8_t leaf[HASH_SIZE];

	merkle_leaf(payload, leaf);
	merkle_add_leaf(m, leaf);
}

void merkle_add_lost(struct merkle *m)
{
	uint8_t leaf[HASH_SIZE];

	hash_of(PREFIX_LOST, (struct bytes){0}, (struct bytes){0}, leaf);
	merkle_add_leaf(m, leaf);
}

uint64_t merkle_size(const struct merkle *m)
{
	return m->size;
}

void merkle_root(const struct merkle *m, uint8_t ret_root[HASH_SIZE])
{
	bool is_first = true;

	for (size_t height = 0; height < 64; height++) {
		if (!(m->size >> height & 1))
			continue;
		if (is_first)
			memcpy(ret_root, m->peaks[height], HASH_SIZE);
		else
			hash_node(m->peaks[height], ret_root, ret_root);
		is_first = false;
	}
	if (is_first)
		hash_bytes((struct bytes){0}, ret_root);
}

/* The largest power of two below @count, which is two at least. */
static uint64_t split(uint64_t count)
{
	return UINT64_C(1) << (63 - __builtin_clzll(count - 1));
}

static void subtree(const uint8_t (*leaves)[HASH_SIZE], uint64_t count, struct merkle *room,
		    uint8_t ret_root[HASH_SIZE])
{
	room->size = 0;
	for (uint64_t i = 0; i < count; i++)
		merkle_add_leaf(room, leaves[i]);
	merkle_root(room, ret_root);
}

size_t merkle_prove(const uint8_t (*leaves)[HASH_SIZE], uint64_t count, uint64_t index,
		    uint8_t ret_path[MERKLE_PATH_MAX][HASH_SIZE])
{
	struct merkle room = {0};
	size_t depth = 0;

	/* From the root down to the leaf; the path is told the other way round. */
	while (count > 1) {
		uint64_t left = split(count);
		uint8_t *sibling = ret_path[depth++];

		if (index < left) {
			subtree(leaves + left, count - left, &room, sibling);
			count = left;
		} else {
			subtree(leaves, left, &room, sibling);
			leaves += left;
			index -= left;
			count -= left;
		}
	}
	for (size_t i = 0; i < depth / 2; i++) {
		uint8_t kept[HASH_SIZE];

		memcpy(kept, ret_path[i], HASH_SIZE);
		memcpy(ret_path[i], ret_path[depth - 1 - i], HASH_SIZE);
		memcpy(ret_path[depth - 1 - i], kept, HASH_SIZE);
	}
	return depth;
}

bool merkle_check(const uint8_t leaf[HASH_SIZE], uint64_t index, uint64_t size,
		  const uint8_t (*path)[HASH_SIZE], size_t length, const uint8_t root[HASH_SIZE])
{
	uint64_t node = index, last = size - 1;
	uint8_t hash[HASH_SIZE];

	if (index >= size)
		return false;
	memcpy(hash, leaf, HASH_SIZE);
	for (size_t i = 0; i < length; i++) {
		if (!last)
			return false;
		if (node & 1 || node == last) {
			hash_node(path[i], hash, hash);
			while (!(node & 1) && node) {
				node >>= 1;
				last >>= 1;
			}
		} else {
			hash_node(hash, path[i], hash);
		}
		node >>= 1;
		last >>= 1;
	}
	return !last && !memcmp(hash, root, HASH_SIZE);
}
