/* A short list; the oldest makes room. A ring without a number (0) is kept by nobody. */
#include "kept_rings.h"

#include "clock.h"

#include <stdlib.h>

struct kept {
	uint64_t id; /* 0: the place is free */
	uint64_t left_ns;
	struct ring ring;
};

struct kept_rings {
	uint32_t most;
	struct kept list[];
};

struct kept_rings *kept_rings_new(uint32_t most)
{
	struct kept_rings *k = calloc(1, sizeof(*k) + most * sizeof(k->list[0]));

	if (k)
		k->most = most;
	return k;
}

static void drop(struct kept *kept)
{
	ring_unmap(&kept->ring);
	kept->id = 0;
}

void kept_rings_free(struct kept_rings *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < k->most; i++)
		if (k->list[i].id)
			drop(&k->list[i]);
	free(k);
}

int kept_rings_take(struct kept_rings *k, uint64_t id, int fd, uint64_t size_bytes,
		    struct ring *ret_ring)
{
	for (uint32_t i = 0; k && id && i < k->most; i++) {
		struct kept *kept = &k->list[i];

		if (kept->id != id || kept->ring.size_bytes != size_bytes)
			continue;
		*ret_ring = kept->ring;
		kept->id = 0;
		ring_rewind(ret_ring);
		return 0;
	}
	return ring_map(ret_ring, fd, size_bytes);
}

static struct kept *find_place(struct kept_rings *k)
{
	struct kept *oldest = NULL;

	for (uint32_t i = 0; i < k->most; i++) {
		if (k->list[i].id == 0)
			return &k->list[i];
		if (!oldest || k->list[i].left_ns < oldest->left_ns)
			oldest = &k->list[i];
	}
	if (oldest)
		drop(oldest);
	return oldest;
}

void kept_rings_give(struct kept_rings *k, uint64_t id, struct ring *ring)
{
	struct kept *place = k && id && ring->mappings[0] ? find_place(k) : NULL;

	if (!place) {
		ring_unmap(ring);
		return;
	}
	*place = (struct kept){.id = id, .left_ns = clock_ns(CLOCK_MONOTONIC), .ring = *ring};
	*ring = (struct ring){0};
}

bool kept_rings_drop_old(struct kept_rings *k, uint64_t before_ns)
{
	bool has_any = false;

	for (uint32_t i = 0; k && i < k->most; i++) {
		if (k->list[i].id == 0)
			continue;
		if (k->list[i].left_ns < before_ns)
			drop(&k->list[i]);
		else
			has_any = true;
	}
	return has_any;
}
