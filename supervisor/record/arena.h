/*
 * Memory for what lives exactly as long as one event: handed out piece by piece, taken back all at
 * once, and kept for the next event, so that the steady state allocates nothing.
 */
#pragma once

#include <stddef.h>

struct arena;

/* A new, empty arena, or NULL where there is no memory. */
struct arena *arena_new(void);

/* @size bytes that stay valid until arena_reset or arena_free, or NULL where there is no memory. */
void *arena_room(struct arena *a, size_t size);

/* A copy of @size bytes at @data, closed by a NUL that does not count; or NULL. */
void *arena_copy(struct arena *a, const void *data, size_t size);

void arena_reset(struct arena *a);
void arena_free(struct arena *a);
