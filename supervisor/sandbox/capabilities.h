/*
 * Capabilities of the calling process, as sets of bits.
 */
#pragma once

#include <linux/capability.h>
#include <stdint.h>

#define CAPABILITY_BIT(capability) (1ull << (capability))

/* Give up all but @kept, and what could be handed on by an exec. 0 or -errno. */
int capabilities_keep(uint64_t kept);
