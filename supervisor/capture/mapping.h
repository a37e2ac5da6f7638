/*
 * Memory for large tables and buffers, of which a short session touches little: zero, the kernel's
 * own until it is touched, and the kernel's again at once when it is freed. The allocator fills
 * what it gives and takes.
 */
#pragma once

#include <stddef.h>

/* NULL when out of memory. */
void *mapping_new(size_t size);
/* NULL is allowed. */
void mapping_free(void *memory, size_t size);
