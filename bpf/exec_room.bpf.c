// SPDX-License-Identifier: GPL-2.0
/*
 * How much an exec will send, before it begins: see exec_room.h. What is counted is the caller's
 * memory, which it may change until the kernel copies it; then room is short, and what does not fit
 * is a loss that is told.
 */
#include "exec_room.h"

#define ARGUMENT_BYTES_MAX (2 * WIRE_LENGTH_MAX) /* the kernel's limit of one argument */
#define AREA_BYTES_MAX (2u << 20)		 /* of all: a quarter of an 8 MiB stack */
#define RECORD_BYTES 4096			 /* what there is beside the arguments, mostly */
#define ANNOUNCE_STEPS 4096 /* at some 130 ns; a vector that is longer counts as the longest */
#define WAKE_BYTES 8

/* One argument: where it is not in memory yet, as long as it may be. */
static long announce_step(__u32 index, void *context)
{
	struct scratch *scratch = scratch_of_cpu();
	struct argument_walk *w;
	__u64 at = 0;
	long size;

	if (!scratch)
		return 1;
	w = &scratch->arguments;
	if (w->bytes >= AREA_BYTES_MAX ||
	    bpf_probe_read_user(&at, sizeof(at), (void *)w->pointers)) {
		w->bytes = AREA_BYTES_MAX;
		return 1;
	}
	if (!at)
		return 1;
	w->pointers += sizeof(at);
	w->count++;
	size = bpf_probe_read_user_str(scratch->data, ARGUMENT_BYTES_MAX, (void *)at);
	w->bytes += size < 0 ? ARGUMENT_BYTES_MAX : size;
	return 0;
}

static __always_inline __u32 count_arguments(__u64 argv)
{
	struct scratch *scratch = scratch_of_cpu();
	struct argument_walk *w;
	__u32 bytes;

	if (!scratch || scratch->busy)
		return AREA_BYTES_MAX;
	scratch->busy = 1;
	w = &scratch->arguments;
	w->pointers = argv;
	w->bytes = w->count = 0;
	if (argv)
		bpf_loop(ANNOUNCE_STEPS, announce_step, NULL, 0);
	bytes = w->bytes < AREA_BYTES_MAX && w->count < ANNOUNCE_STEPS ? w->bytes : AREA_BYTES_MAX;
	scratch->busy = 0;
	return bytes + RECORD_BYTES;
}

/* A record that is discarded wakes as any other. */
static __always_inline void wake_if_behind(const struct session_slot *slot)
{
	__u32 index = slot->slot;
	void *ring = bpf_map_lookup_elem(&rings, &index), *record;

	if (!ring || !is_behind(slot, bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA)))
		return;
	record = bpf_ringbuf_reserve(ring, WAKE_BYTES, 0);
	if (record)
		bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
}

__noinline int announce_exec(__u64 argv)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct session_slot *slot = session_of_current_or_setup();
	struct credentials_seen *seen;
	__u64 *coming;
	__u32 index;

	if (!slot)
		return 0;
	seen = bpf_task_storage_get(&credentials_seen, task, NULL, 0);
	index = slot->slot;
	coming = bpf_map_lookup_elem(&exec_bytes, &index);
	if (!seen || !coming || seen->exec_bytes)
		return 0;
	seen->exec_slot = index;
	seen->exec_bytes = count_arguments(argv);
	__sync_fetch_and_add(coming, seen->exec_bytes);
	wake_if_behind(slot);
	return 0;
}
