/*
 * After Wu and Manber: a window of LITERAL_LEAST bytes is moved along, and the last three bytes in
 * it tell how far it can jump. With the few hundred literals of a session most of a text is not
 * even read, the tables are built in microseconds, and no session waits for a compiler of patterns.
 */
#include "literals.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW LITERAL_LEAST
#define BLOCK 3
#define JUMP_BITS_LEAST 12 /* a small table stays in the processor's first cache */
#define JUMP_BITS 16
#define BUCKET_BITS 12
#define NONE UINT32_MAX

struct literals {
	const uint8_t *vault;
	size_t count, longest;
	unsigned int jump_bits;
	uint32_t first[256];
	uint32_t buckets[1 << BUCKET_BITS];
	uint8_t jumps[1 << JUMP_BITS];
	struct literal list[];
};

int literals_new(const uint8_t *vault, size_t most, struct literals **ret_literals)
{
	struct literals *l = calloc(1, sizeof(*l) + most * sizeof(*l->list));

	if (!l)
		return -ENOMEM;
	l->vault = vault;
	l->jump_bits = JUMP_BITS_LEAST;
	while (l->jump_bits < JUMP_BITS && most * 256 > 1u << l->jump_bits)
		l->jump_bits++;
	memset(l->first, 0xff, sizeof(l->first));
	memset(l->buckets, 0xff, sizeof(l->buckets));
	memset(l->jumps, WINDOW - BLOCK + 1, sizeof(l->jumps));
	*ret_literals = l;
	return 0;
}

void literals_free(struct literals *l)
{
	free(l);
}

size_t literals_count(const struct literals *l)
{
	return l ? l->count : 0;
}

size_t literals_longest(const struct literals *l)
{
	return l ? l->longest : 0;
}

/* The byte before the block is there in any case; it is read, for speed, and left out. */
static uint32_t hash_block(const uint8_t *at, unsigned int bits)
{
	uint32_t block;

	memcpy(&block, at - 1, sizeof(block));
	return (le32toh(block) >> 8) * 0x9e3779b1u >> (32 - bits);
}

static bool is_known(const struct literals *l, struct bytes text, uint32_t bucket)
{
	for (uint32_t i = l->buckets[bucket]; i != NONE; i = l->list[i].next) {
		const struct literal *old = &l->list[i];

		if (old->size == text.size && !memcmp(l->vault + old->at, text.data, text.size))
			return true;
	}
	return false;
}

bool literals_add(struct literals *l, struct literal literal)
{
	const uint8_t *text = l->vault + literal.at;
	uint32_t bucket = hash_block(text + WINDOW - BLOCK, BUCKET_BITS);
	uint32_t number = (uint32_t)l->count;

	if (is_known(l, (struct bytes){text, literal.size}, bucket))
		return false;
	literal.next = l->buckets[bucket];
	literal.next_first = l->first[*text];
	l->list[l->count++] = literal;
	l->buckets[bucket] = l->first[*text] = number;
	if (literal.size > l->longest)
		l->longest = literal.size;
	for (size_t i = 0; i + BLOCK <= WINDOW; i++) {
		uint8_t *jump = &l->jumps[hash_block(text + i, l->jump_bits)];

		if (*jump > WINDOW - BLOCK - i)
			*jump = (uint8_t)(WINDOW - BLOCK - i);
	}
	return true;
}

/* The longest that stands at @at of @text, or NULL; of equals the first secret's. */
static const struct literal *match_at(const struct literals *l, struct bytes text, size_t at)
{
	const uint8_t *data = (const uint8_t *)text.data + at;
	const struct literal *longest = NULL;
	uint32_t i = l->buckets[hash_block(data + WINDOW - BLOCK, BUCKET_BITS)];

	for (; i != NONE; i = l->list[i].next) {
		const struct literal *one = &l->list[i];

		if (one->size > text.size - at || (longest && one->size <= longest->size) ||
		    memcmp(l->vault + one->at, data, one->size) != 0)
			continue;
		longest = one;
	}
	return longest;
}

static uint8_t jump_at(const struct literals *l, const uint8_t *end)
{
	return l->jumps[hash_block(end - BLOCK, l->jump_bits)];
}

/* What the window that ends at @end holds. */
static int take_at(const struct literals *l, struct bytes text, size_t end, literal_take *take,
		   void *context)
{
	const struct literal *one = match_at(l, text, end - WINDOW);

	return one ? take(context, one, end - WINDOW) : 0;
}

/* Windows that end at @end to @last. */
static int find_in(const struct literals *l, struct bytes text, size_t end, size_t last,
		   literal_take *take, void *context)
{
	const uint8_t *data = text.data;

	while (end <= last) {
		uint8_t jump = jump_at(l, data + end);
		int r = 0;

		if (!jump)
			r = take_at(l, text, end++, take, context);
		if (r < 0)
			return r;
		end += jump;
	}
	return 0;
}

/*
 * A jump waits for the one before it, so a long text is read in two halves at once. Where the
 * second half holds something, it waits for the first one: what is found is told in order.
 */
#define HALVES_LEAST 256

int literals_find(const struct literals *l, struct bytes text, literal_take *take, void *context)
{
	const uint8_t *data = text.data;
	size_t middle = text.size < HALVES_LEAST ? text.size : text.size / 2;
	size_t first = WINDOW, second = middle + 1;
	int r = 0;

	while (r >= 0 && first <= middle && second <= text.size) {
		uint8_t jump = jump_at(l, data + first), other = jump_at(l, data + second);

		first += jump;
		second += other;
		if (jump && other)
			continue;
		if (!jump)
			r = take_at(l, text, first++, take, context);
		if (other)
			continue;
		if (match_at(l, text, second - WINDOW))
			break;
		second++;
	}
	if (r >= 0)
		r = find_in(l, text, first, middle, take, context);
	return r < 0 ? r : find_in(l, text, second, text.size, take, context);
}

/* One of which @text from @at on is the beginning, or NULL. */
static const struct literal *begun_at(const struct literals *l, struct bytes text, size_t at)
{
	const uint8_t *data = (const uint8_t *)text.data + at;
	size_t left = text.size - at;
	bool is_long = left >= WINDOW;
	uint32_t i = is_long ? l->buckets[hash_block(data + WINDOW - BLOCK, BUCKET_BITS)]
			     : l->first[*data];

	while (i != NONE) {
		const struct literal *one = &l->list[i];

		if ((one->size > left || (one->size == left && one->open_after)) &&
		    !memcmp(l->vault + one->at, data, left))
			return one;
		i = is_long ? one->next : one->next_first;
	}
	return NULL;
}

const struct literal *literals_begun(const struct literals *l, struct bytes text, size_t *at)
{
	const uint8_t *data = text.data;

	for (; *at < text.size; ++*at) {
		const struct literal *one;

		if (text.size - *at >= WINDOW) {
			uint8_t jump =
				l->jumps[hash_block(data + *at + WINDOW - BLOCK, l->jump_bits)];

			if (jump) {
				*at += jump - 1;
				continue;
			}
		}
		one = begun_at(l, text, *at);
		if (one)
			return one;
	}
	return NULL;
}
