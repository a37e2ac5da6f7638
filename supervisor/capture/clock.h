/* Clocks in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/*
 * How far the wall clock is ahead of the boot clock. Read between two looks at the boot clock,
 * again if they lie far apart because we were interrupted.
 */
static inline int64_t clock_wall_minus_boot_ns(void)
{
	int64_t best = 0;
	uint64_t best_window = UINT64_MAX;

	for (int i = 0; i < 5 && best_window > 2000; i++) {
		uint64_t before = clock_ns(CLOCK_BOOTTIME);
		uint64_t wall = clock_ns(CLOCK_REALTIME);
		uint64_t window = clock_ns(CLOCK_BOOTTIME) - before;

		if (window < best_window) {
			best_window = window;
			best = (int64_t)(wall - before - window / 2);
		}
	}
	return best;
}
