/*
 * Gives each distinct key a number, from 0 on, in the order in which they come.
 */
#pragma once

#include "../supervisor/record/event.h"

struct keymap;

/* @limit: how many keys it takes at most. NULL: out of memory. */
struct keymap *keymap_new(size_t limit);
void keymap_free(struct keymap *k);

/* The number of @key, which is copied if it is new. 0, -ENOSPC (it is new, and the map holds its
 * limit) or -ENOMEM. */
int keymap_add(struct keymap *k, struct bytes key, size_t *ret_number);

/* The number of @key; -ENOENT if it is not there. */
int keymap_find(const struct keymap *k, struct bytes key, size_t *ret_number);

size_t keymap_count(const struct keymap *k);
/* The key of number @number; valid until the next keymap_add. */
struct bytes keymap_key(const struct keymap *k, size_t number);
