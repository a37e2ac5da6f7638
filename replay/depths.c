/*
 * A cache of process keys: sets of eight, the oldest of a set goes first.
 */
#include "depths.h"

#include <stdbool.h>
#include <stdlib.h>

#define SETS 8192
#define WAYS 8

struct slot {
	uint64_t key; /* hash of the process key; 0: free */
	uint32_t used;
	uint32_t depth;
};

struct depths {
	uint32_t clock;
	struct slot slots[SETS][WAYS];
};

struct depths *depths_new(void)
{
	return calloc(1, sizeof(struct depths));
}

static uint64_t hash_of(struct bytes key)
{
	const unsigned char *at = key.data;
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < key.size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3;
	return (hash ^ hash >> 32) | 1;
}

static bool find(struct depths *d, struct bytes key, unsigned int *ret_depth)
{
	uint64_t hash = hash_of(key);
	struct slot *set = d->slots[(hash >> 8) % SETS];

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].key != hash)
			continue;
		set[i].used = ++d->clock;
		*ret_depth = set[i].depth;
		return true;
	}
	return false;
}

static void put(struct depths *d, struct bytes key, unsigned int depth)
{
	uint64_t hash = hash_of(key);
	struct slot *set = d->slots[(hash >> 8) % SETS], *to = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].key == hash) {
			to = &set[i];
			break;
		}
		if (set[i].used < to->used)
			to = &set[i];
	}
	*to = (struct slot){hash, ++d->clock, depth};
}

static unsigned int count_items(struct bytes packed)
{
	unsigned int count = 0;
	size_t cursor = 0;
	struct bytes item;

	while (bytes_next_item(packed, &cursor, &item))
		count++;
	return count;
}

unsigned int depths_of(struct depths *d, const struct event *e)
{
	struct bytes proc = event_bytes(e, FIELD_proc), child = event_bytes(e, FIELD_child_proc);
	unsigned int depth = 0;

	if (!proc.data)
		return 0;
	if (!find(d, proc, &depth)) {
		depth = count_items(event_bytes(e, FIELD_ancestors));
		put(d, proc, depth);
	}
	if (child.data)
		put(d, child, depth + 1);
	return depth;
}

void depths_free(struct depths *d)
{
	free(d);
}
