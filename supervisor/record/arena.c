/*
 * A list of blocks, each at least twice as large as the one before; only the largest outlives a
 * reset.
 */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK 16384
#define KEEP_MAX (1 << 20) /* a larger block is given back at the next reset */
#define ALIGN (sizeof(uint64_t))

struct block {
	struct block *before;
	size_t size, used;
	_Alignas(16) uint8_t bytes[];
};

struct arena {
	struct block *last;
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

static struct block *block_new(struct arena *a, size_t size)
{
	size_t room = a->last ? a->last->size * 2 : FIRST_BLOCK;
	struct block *b;

	if (room < size)
		room = size;
	b = malloc(sizeof(*b) + room);
	if (!b)
		return NULL;
	*b = (struct block){.before = a->last, .size = room};
	a->last = b;
	return b;
}

void *arena_room(struct arena *a, size_t size)
{
	struct block *b = a->last;
	void *room;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || b->size - b->used < size)
		b = block_new(a, size);
	if (!b)
		return NULL;
	room = b->bytes + b->used;
	b->used += size;
	return room;
}

void *arena_copy(struct arena *a, const void *data, size_t size)
{
	char *copy = arena_room(a, size + 1);

	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	return copy;
}

static void free_blocks(struct block *b)
{
	while (b) {
		struct block *before = b->before;

		explicit_bzero(b, sizeof(*b) + b->size); /* what lives for an event may be secret */
		free(b);
		b = before;
	}
}

void arena_reset(struct arena *a)
{
	if (!a->last)
		return;
	if (a->last->size > KEEP_MAX) {
		free_blocks(a->last);
		a->last = NULL;
		return;
	}
	free_blocks(a->last->before);
	a->last->before = NULL;
	a->last->used = 0;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	free_blocks(a->last);
	free(a);
}
