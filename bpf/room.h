/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of two limits of a controller was hit: that of the current process's own cgroup, or that of
 * the cgroup above it. The one with the least room left is full; what a process gives back as it
 * ends, it gives back to both.
 */
#pragma once

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

static __always_inline struct cgroup_subsys_state *state_of_current(__u32 controller)
{
	struct css_set *set = BPF_CORE_READ(bpf_get_current_task_btf(), cgroups);
	struct cgroup_subsys_state *state = NULL;

	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
				      controller * sizeof(state));
	return state;
}

/* The controller's own structs begin with the state. */
static __always_inline __u64 memory_room(const void *state)
{
	const struct mem_cgroup *memory = state;
	__u64 max = BPF_CORE_READ(memory, memory.max);
	__u64 usage = (__u64)BPF_CORE_READ(memory, memory.usage.counter);

	return usage < max ? max - usage : 0;
}

static __always_inline bool has_least_memory(void)
{
	struct cgroup_subsys_state *own;

	if (!bpf_core_field_exists(struct mem_cgroup, memory) ||
	    !bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return true;
	own = state_of_current(bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	return memory_room(own) <= memory_room(BPF_CORE_READ(own, parent));
}

static __always_inline __u64 pids_room(const void *state)
{
	const struct pids_cgroup *pids = state;
	__u64 limit = (__u64)BPF_CORE_READ(pids, limit.counter);
	__u64 count = (__u64)BPF_CORE_READ(pids, counter.counter);

	return count < limit ? limit - count : 0;
}

static __always_inline bool has_least_pids(void)
{
	struct cgroup_subsys_state *own;

	if (!bpf_core_field_exists(struct pids_cgroup, limit) ||
	    !bpf_core_enum_value_exists(enum cgroup_subsys_id, pids_cgrp_id))
		return true;
	own = state_of_current(bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id));
	return pids_room(own) <= pids_room(BPF_CORE_READ(own, parent));
}
