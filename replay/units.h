/*
 * Times, durations and sizes: how people write them, and how they are shown to people.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NS_PER_S UINT64_C(1000000000)

/* A point in a session: so long after its start, or by the wall clock. */
struct moment {
	bool given;
	bool absolute; /* ns is the wall clock since 1970; else since the session's first record */
	uint64_t ns;
};

#define MOMENT_ALLOWED                                                                             \
	"a time after the start (1.5s, +2m, 1h30m, 250ms) or RFC 3339 (2024-05-01T12:00:00Z)"

/* Parse MOMENT_ALLOWED; a number without a unit is seconds. @ret_moment is a struct moment (the
 * shape of command_option.parse). 0 or -EINVAL. */
int moment_parse(const char *text, void *ret_moment);

/* "2024-05-01T12:00:00.123456789Z", with @decimals digits (0: none, and no point). */
void write_wall_clock(FILE *out, uint64_t wall_ns, int decimals);

/* "431 us", "12.3 ms", "4.56 s", "2m03s", "5h02m", "3d04h". */
void write_duration(FILE *out, uint64_t ns);

/* "123 B", "1.2 KiB", "34.5 MiB". */
void write_size(FILE *out, uint64_t bytes);
