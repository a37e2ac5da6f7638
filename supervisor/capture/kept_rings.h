/*
 * Rings that stay mapped when a session has left them: to map one takes most of a millisecond, and
 * the next session mostly gets one of those.
 */
#pragma once

#include "ring.h"

struct kept_rings;

/* @most of them, which is what vitrined keeps too. NULL when out of memory. */
struct kept_rings *kept_rings_new(uint32_t most);
void kept_rings_free(struct kept_rings *k);

/* The ring with number @id, mapped: a kept one, or the one behind @fd. 0 or -errno. */
int kept_rings_take(struct kept_rings *k, uint64_t id, int fd, uint64_t size_bytes,
		    struct ring *ret_ring);
/* Its session has left it. @ring is empty afterwards. */
void kept_rings_give(struct kept_rings *k, uint64_t id, struct ring *ring);

/* Unmap what was left before @before_ns (monotonic). True if any is kept still. */
bool kept_rings_drop_old(struct kept_rings *k, uint64_t before_ns);
