/*
 * An open-addressed hash table over keys that stand back to back in one block.
 *
 * Keys come from a session: the hash is keyed by a random seed, so that nobody can choose keys that
 * collide.
 */
#include "keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
	uint64_t hash;
	size_t offset, size;
};

struct keymap {
	size_t limit, count, entry_room;
	struct entry *entries;
	uint32_t *slots;   /* number + 1; 0: empty */
	size_t slot_count; /* a power of two, at least twice count */
	char *text;
	size_t text_size, text_room;
	uint64_t seed[2];
};

struct keymap *keymap_new(size_t limit)
{
	struct keymap *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->limit = limit < UINT32_MAX ? limit : UINT32_MAX - 1;
	if (getrandom(k->seed, sizeof(k->seed), GRND_NONBLOCK) != sizeof(k->seed))
		k->seed[0] = (uintptr_t)k;
	k->slot_count = 64;
	k->slots = calloc(k->slot_count, sizeof(*k->slots));
	if (!k->slots) {
		free(k);
		return NULL;
	}
	return k;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * 0x9fb21c651e98df25ULL;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct keymap *k, struct bytes key)
{
	const char *at = key.data;
	uint64_t hash = k->seed[0] ^ key.size, word;
	size_t left = key.size;

	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash, word ^ k->seed[1]);
	}
	word = 0;
	if (left)
		memcpy(&word, at, left);
	return mix(mix(hash, word ^ k->seed[1]), k->seed[0]);
}

/* The slot that holds @key, or the empty one where it belongs. */
static uint32_t *slot_of(const struct keymap *k, uint64_t hash, struct bytes key)
{
	for (size_t i = hash & (k->slot_count - 1);; i = (i + 1) & (k->slot_count - 1)) {
		const struct entry *entry;

		if (!k->slots[i])
			return &k->slots[i];
		entry = &k->entries[k->slots[i] - 1];
		if (entry->hash == hash && entry->size == key.size &&
		    (!key.size || !memcmp(k->text + entry->offset, key.data, key.size)))
			return &k->slots[i];
	}
}

static int grow_slots(struct keymap *k)
{
	size_t count = k->slot_count * 2;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t n = 0; n < k->count; n++) {
		size_t i = k->entries[n].hash & (count - 1);

		while (slots[i])
			i = (i + 1) & (count - 1);
		slots[i] = (uint32_t)n + 1;
	}
	free(k->slots);
	k->slots = slots;
	k->slot_count = count;
	return 0;
}

/* Make *block hold @need items of @item bytes. */
static int make_room(void *block, size_t *room, size_t need, size_t item)
{
	size_t new_room = *room ? *room : 64;
	void *grown;

	while (new_room < need)
		new_room *= 2;
	if (new_room == *room)
		return 0;
	grown = realloc(*(void **)block, new_room * item);
	if (!grown)
		return -ENOMEM;
	*(void **)block = grown;
	*room = new_room;
	return 0;
}

int keymap_add(struct keymap *k, struct bytes key, size_t *ret_number)
{
	uint64_t hash = hash_of(k, key);
	uint32_t *slot = slot_of(k, hash, key);
	int r;

	if (*slot) {
		*ret_number = *slot - 1;
		return 0;
	}
	if (k->count >= k->limit)
		return -ENOSPC;

	r = make_room(&k->entries, &k->entry_room, k->count + 1, sizeof(*k->entries));
	if (r < 0)
		return r;
	r = make_room(&k->text, &k->text_room, k->text_size + key.size, 1);
	if (r < 0)
		return r;
	if (k->count * 2 >= k->slot_count) {
		r = grow_slots(k);
		if (r < 0)
			return r;
		slot = slot_of(k, hash, key);
	}

	if (key.size)
		memcpy(k->text + k->text_size, key.data, key.size);
	k->entries[k->count] = (struct entry){hash, k->text_size, key.size};
	k->text_size += key.size;
	*ret_number = k->count++;
	*slot = (uint32_t)k->count;
	return 0;
}

int keymap_find(const struct keymap *k, struct bytes key, size_t *ret_number)
{
	uint32_t slot = *slot_of(k, hash_of(k, key), key);

	if (!slot)
		return -ENOENT;
	*ret_number = slot - 1;
	return 0;
}

size_t keymap_count(const struct keymap *k)
{
	return k->count;
}

struct bytes keymap_key(const struct keymap *k, size_t number)
{
	const struct entry *entry = &k->entries[number];

	return (struct bytes){k->text + entry->offset, entry->size};
}

void keymap_free(struct keymap *k)
{
	if (!k)
		return;
	free(k->entries);
	free(k->slots);
	free(k->text);
	free(k);
}
