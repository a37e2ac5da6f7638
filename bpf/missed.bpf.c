// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of programs that the kernel left out, since the program was at work already on the same
 * processor. It counts them by program and processor; to ask for each program would hold up the end
 * of every session, so one iterator reads all that are not zero.
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

struct tally {
	__u64 of_each, misses; /* addresses without the processor's offset */
	__u64 count;
};

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

static long add_processor(__u32 cpu, struct tally *t)
{
	__u32 first = 0;
	const void *own = bpf_map_lookup_percpu_elem(&of_each, &first, cpu);
	__u64 count = 0;

	if (!own)
		return 1;
	bpf_probe_read_kernel(&count, sizeof(count),
			      (void *)(t->misses + address_of(own) - t->of_each));
	t->count += count;
	return 0;
}

SEC("iter/bpf_prog")
int tell_missed(struct bpf_iter__bpf_prog *ctx)
{
	struct bpf_prog *program = ctx->prog;

	if (!program)
		return 0;
	struct tally t = {
		.of_each = address_of_map_value(),
		.misses = (__u64)BPF_CORE_READ(program, stats) +
			  bpf_core_field_offset(struct bpf_prog_stats, misses),
	};
	bpf_loop(PROCESSORS_MAX, add_processor, &t, 0);
	if (t.count == 0)
		return 0;

	const struct wire_missed missed = {
		.program = BPF_CORE_READ(program, aux, id),
		.count = t.count,
	};
	bpf_seq_write(ctx->meta->seq, &missed, sizeof(missed));
	return 0;
}
