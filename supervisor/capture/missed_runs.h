/* Runs of our BPF programs that the kernel left out (recursion_misses of each), see
 * bpf/missed.bpf.c. */
#pragma once

#include <stdint.h>

struct vitrine;

/* Those of one more program count from now on. @skel is loaded. 0, or -errno: they cannot be
 * counted. */
int missed_runs_add(struct vitrine *skel, int program_fd);
/* So far, of all that were added. 0 or -errno. */
int missed_runs_sum(const struct vitrine *skel, uint64_t *ret_sum);
