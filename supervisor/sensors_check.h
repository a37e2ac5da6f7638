/* What the kernel says to our BPF programs, without attaching them to anything. */
#pragma once

#include <jansson.h>

/*
 * Load and verify all programs and let go of them again. An object with `ok`, and either `error`
 * (with the mend) or `loaded` and `missing` (optional sensors that this kernel has no hook for).
 * NULL when out of memory.
 */
json_t *sensors_check(void);
