/* Names of addresses: a hash table whose entries are used again in the order of their coming. */
#include "hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

struct host {
	uint8_t address[16]; /* v4 as ::ffff:a.b.c.d */
	uint32_t next;	     /* in its bucket: index + 1 */
	uint32_t generation; /* from 1; another name or address makes another generation */
	uint8_t name_size;
	char name[HOST_NAME_MAX_SHOWN];
};

struct hosts {
	struct host *items;
	uint32_t count, room, oldest;
	uint32_t buckets[HOSTS_MAX]; /* index + 1 */
};

int hosts_new(struct hosts **ret_hosts)
{
	struct hosts *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;

	*ret_hosts = h;
	return 0;
}

void hosts_free(struct hosts *h)
{
	if (!h)
		return;
	free(h->items);
	free(h);
}

static void widen(const uint8_t *address, size_t size, uint8_t ret_address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (size == 16) {
		memcpy(ret_address, address, 16);
		return;
	}
	memcpy(ret_address, mapped, sizeof(mapped));
	memcpy(ret_address + sizeof(mapped), address, 4);
}

/* Salted by where the table lies, so that a session cannot choose addresses that share a bucket. */
static uint32_t bucket_of(const struct hosts *h, const uint8_t address[16])
{
	uint64_t halves[2];

	memcpy(halves, address, sizeof(halves));
	uint64_t hash = (halves[0] ^ (uintptr_t)h) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 29 ^ halves[1]) * 0xbf58476d1ce4e5b9ULL;
	return (uint32_t)(hash >> 40) % HOSTS_MAX;
}

static uint32_t find(const struct hosts *h, const uint8_t address[16])
{
	uint32_t i = h->buckets[bucket_of(h, address)];

	while (i && memcmp(h->items[i - 1].address, address, 16) != 0)
		i = h->items[i - 1].next;
	return i;
}

static void unlink_host(struct hosts *h, uint32_t i)
{
	uint32_t *link = &h->buckets[bucket_of(h, h->items[i - 1].address)];

	while (*link != i)
		link = &h->items[*link - 1].next;
	*link = h->items[i - 1].next;
}

static int grow(struct hosts *h)
{
	uint32_t room = h->room ? 2 * h->room : FIRST_ROOM;
	struct host *items = realloc(h->items, room * sizeof(*items));
	if (!items)
		return -ENOMEM;

	h->items = items;
	h->room = room;
	return 0;
}

/* A place that is in no bucket: a new one, or the oldest's. 0 without memory. */
static uint32_t take_place(struct hosts *h)
{
	if (h->count == HOSTS_MAX) {
		h->oldest = h->oldest % HOSTS_MAX + 1;
		unlink_host(h, h->oldest);
		return h->oldest;
	}
	if (h->count == h->room && grow(h) < 0)
		return 0;
	h->items[h->count].generation = 0;
	return ++h->count;
}

void hosts_learn(struct hosts *h, const uint8_t *address, size_t size, struct bytes name)
{
	uint8_t wide[16];

	widen(address, size, wide);
	uint32_t i = find(h, wide);
	if (name.size == 0 || name.size > HOST_NAME_MAX_SHOWN)
		return;
	if (i && h->items[i - 1].name_size == name.size &&
	    memcmp(h->items[i - 1].name, name.data, name.size) == 0)
		return;

	if (!i) {
		i = take_place(h);
		if (!i)
			return;
		uint32_t *bucket = &h->buckets[bucket_of(h, wide)];
		memcpy(h->items[i - 1].address, wide, sizeof(wide));
		h->items[i - 1].next = *bucket;
		*bucket = i;
	}
	struct host *host = &h->items[i - 1];
	host->generation++;
	host->name_size = (uint8_t)name.size;
	memcpy(host->name, name.data, name.size);
}

host_ref hosts_find(const struct hosts *h, const uint8_t *address, size_t size)
{
	uint8_t wide[16];

	widen(address, size, wide);
	uint32_t i = find(h, wide);
	return i ? (host_ref)h->items[i - 1].generation << 32 | i : 0;
}

struct bytes hosts_name(const struct hosts *h, host_ref ref)
{
	uint32_t i = (uint32_t)ref;

	if (i == 0 || h->items[i - 1].generation != ref >> 32)
		return (struct bytes){NULL, 0};
	return (struct bytes){h->items[i - 1].name, h->items[i - 1].name_size};
}
