/*
 * Runs of our BPF programs that the kernel left out (recursion_misses of each), all asked for at
 * once.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

struct missed_runs;

/* @iterator is the program that tells them (bpf/missed.bpf.c), loaded. 0 or -errno. */
int missed_runs_open(struct bpf_program *iterator, struct missed_runs **ret_missed);
/* Those of one more program count. 0 or -errno. */
int missed_runs_add(struct missed_runs *m, int program_fd);
/* So far, of all that were added. What cannot be read now is in a later count. */
uint64_t missed_runs_count(struct missed_runs *m);
/* NULL is allowed. */
void missed_runs_free(struct missed_runs *m);
