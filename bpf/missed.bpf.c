// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of programs that the kernel left out, since the program was at work already on the same
 * processor. It counts them by program and processor. To ask it for each program in turn would hold
 * up the end of every session, so user space asks an iterator once where a program has its counts,
 * and has all of them summed up here when it wants to know.
 */
#include "maps.h"

#define PROCESSORS_MAX 8192

/* Of which each processor has its own, at the same distance as of all that is so. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} of_each SEC(".maps");

/* Where the programs have their counts, without the processor's distance. */
__u64 missed_counts[MISSED_PROGRAMS_MAX];
__u32 missed_programs;

/* As a number: with a pointer there is no such arithmetic. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

static __always_inline __u64 address_of_map_value(void)
{
	const struct bpf_array *map = (const void *)address_of(&of_each);
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address),
			      (void *)map + bpf_core_field_offset(struct bpf_array, pptrs));
	return address;
}

SEC("iter/bpf_prog")
int find_missed(struct bpf_iter__bpf_prog *ctx)
{
	struct bpf_prog *program = ctx->prog;

	if (!program)
		return 0;
	const struct wire_missed_place place = {
		.program = BPF_CORE_READ(program, aux, id),
		.counts = (__u64)BPF_CORE_READ(program, stats) +
			  bpf_core_field_offset(struct bpf_prog_stats, misses),
	};
	bpf_seq_write(ctx->meta->seq, &place, sizeof(place));
	return 0;
}

struct tally {
	__u64 of_each;
	__u64 sum;
};

static long add_processor(__u32 cpu, struct tally *t)
{
	__u32 first = 0;
	const void *own = bpf_map_lookup_percpu_elem(&of_each, &first, cpu);

	if (!own)
		return 1;
	__u64 distance = address_of(own) - t->of_each;
	for (__u32 i = 0; i < MISSED_PROGRAMS_MAX && i < missed_programs; i++) {
		__u64 count = 0;

		bpf_probe_read_kernel(&count, sizeof(count), (void *)(missed_counts[i] + distance));
		t->sum += count;
	}
	return 0;
}

SEC("syscall")
int sum_missed(__u64 *ret_sum)
{
	struct tally t = {.of_each = address_of_map_value()};

	bpf_loop(PROCESSORS_MAX, add_processor, &t, 0);
	*ret_sum = t.sum;
	return 0;
}
