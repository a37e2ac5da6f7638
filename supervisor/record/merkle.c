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
	uint8_t peaks[64][HASH_SIZE];		 /* by height; valid where the size has the bit */
	uint8_t way[MERKLE_PATH_MAX][HASH_SIZE]; /* of the first leaf, to its peak */
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
	for (; m->size >> height & 1; height++) {
		if (!(m->size >> height >> 1))
			memcpy(m->way[height], hash, HASH_SIZE);
		hash_node(m->peaks[height], hash, hash);
	}
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

static size_t height_of(uint64_t size)
{
	return size ? (size_t)(63 - __builtin_clzll(size)) : 0;
}

void merkle_save(const struct merkle *m, struct merkle_state *ret_state)
{
	*ret_state = (struct merkle_state){.size = m->size, .way_count = height_of(m->size)};
	for (size_t height = 64; height--;)
		if (m->size >> height & 1)
			memcpy(ret_state->peaks[ret_state->peak_count++], m->peaks[height],
			       HASH_SIZE);
	memcpy(ret_state->way, m->way, ret_state->way_count * HASH_SIZE);
}

bool merkle_load(struct merkle *m, const struct merkle_state *state)
{
	size_t at = 0;

	if (state->peak_count != (size_t)__builtin_popcountll(state->size) ||
	    state->way_count != height_of(state->size))
		return false;
	m->size = state->size;
	for (size_t height = 64; height--;)
		if (m->size >> height & 1)
			memcpy(m->peaks[height], state->peaks[at++], HASH_SIZE);
	memcpy(m->way, state->way, state->way_count * HASH_SIZE);
	return true;
}

bool merkle_is_first(const struct merkle_state *state, const uint8_t leaf[HASH_SIZE])
{
	uint8_t hash[HASH_SIZE];

	memcpy(hash, leaf, HASH_SIZE);
	for (size_t i = 0; i < state->way_count; i++)
		hash_node(hash, state->way[i], hash);
	return state->peak_count && !memcmp(hash, state->peaks[0], HASH_SIZE);
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

static void turn_round(uint8_t (*path)[HASH_SIZE], size_t depth)
{
	for (size_t i = 0; i < depth / 2; i++) {
		uint8_t kept[HASH_SIZE];

		memcpy(kept, path[i], HASH_SIZE);
		memcpy(path[i], path[depth - 1 - i], HASH_SIZE);
		memcpy(path[depth - 1 - i], kept, HASH_SIZE);
	}
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
	turn_round(ret_path, depth);
	return depth;
}

/* The root of the leaves from @from on, @count of them: never a part of a subtree that is known by
 * its root alone. */
static void range_root(const struct merkle_state *before, const uint8_t (*leaves)[HASH_SIZE],
		       uint64_t from, uint64_t count, uint8_t ret_root[HASH_SIZE])
{
	uint64_t start = 0, left;
	struct merkle room = {0};
	uint8_t one[HASH_SIZE], other[HASH_SIZE];

	if (from >= before->size) {
		subtree(leaves + (from - before->size), count, &room, ret_root);
		return;
	}
	for (size_t i = 0, height = 64; height--;) {
		if (!(before->size >> height & 1))
			continue;
		if (start == from && count == UINT64_C(1) << height) {
			memcpy(ret_root, before->peaks[i], HASH_SIZE);
			return;
		}
		start += UINT64_C(1) << height;
		i++;
	}
	left = split(count);
	range_root(before, leaves, from, left, one);
	range_root(before, leaves, from + left, count - left, other);
	hash_node(one, other, ret_root);
}

int merkle_prove_behind(const struct merkle_state *before, const uint8_t (*leaves)[HASH_SIZE],
			uint64_t count, uint64_t index,
			uint8_t ret_path[MERKLE_PATH_MAX][HASH_SIZE])
{
	uint64_t from = 0, first = before->way_count ? UINT64_C(1) << before->way_count : 1;
	size_t depth = 0;

	if (index < before->size && index)
		return -1;
	while (count > 1 && !(index == 0 && before->size && count == first)) {
		uint64_t left = split(count);
		uint8_t *sibling = ret_path[depth++];

		if (index - from < left) {
			range_root(before, leaves, from + left, count - left, sibling);
			count = left;
		} else {
			range_root(before, leaves, from, left, sibling);
			from += left;
			count -= left;
		}
	}
	/* The way through the first subtree was kept. */
	for (size_t i = before->way_count; count > 1 && i--;)
		memcpy(ret_path[depth++], before->way[i], HASH_SIZE);
	turn_round(ret_path, depth);
	return (int)depth;
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
