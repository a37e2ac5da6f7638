/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is noted of a process between two records of it: the last signal that it got and who sent
 * it, and hits of limits that no record has told yet. Made by the first of either, freed by the
 * kernel with the process. And how the first process of each command ended, for vitrined.
 */
#pragma once

#include "emit.h"
#include "room.h"

struct process_note {
	__u64 sender_start_ns;
	__u32 signal; /* 0: none */
	__u32 sender; /* enum signal_sender */
	__u32 sender_pid, sender_ns_pid;
	__u32 hits[WIRE_LIMIT_COUNT];
	__u64 told_ns[WIRE_LIMIT_COUNT]; /* when a record told of hits; 0: never */
};

/* Of a group's leader. */
struct process_notes_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct process_note);
};
MAP struct process_notes_map process_notes SEC(".maps");

/* Key: cgroup id of the command; of vitrine-init that of the session. */
struct deaths_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * SESSION_SLOTS);
	__type(key, __u64);
	__type(value, struct death);
};
MAP struct deaths_map deaths SEC(".maps");

/* Key: cgroup id of a command that has limits of its own. */
struct commands_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * SESSION_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct command_slot);
};
MAP struct commands_map commands SEC(".maps");

/* Hits of each limit: index slot * WIRE_LIMIT_COUNT + limit. Only grows. */
struct limit_hits_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SESSION_SLOTS *WIRE_LIMIT_COUNT);
	__type(key, __u32);
	__type(value, __u64);
};
MAP struct limit_hits_map limit_hits SEC(".maps");

static __always_inline struct process_note *note_of(struct task_struct *leader)
{
	return bpf_task_storage_get(&process_notes, leader, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct command_slot *command_of_current(void)
{
	__u64 cgroup = bpf_get_current_ancestor_cgroup_id(session_level + 1);

	return bpf_map_lookup_elem(&commands, &cgroup);
}

static __always_inline void count_hits(const struct session_slot *slot, __u32 limit, __u64 count)
{
	__u32 index = slot->slot * WIRE_LIMIT_COUNT + limit;
	__u64 *hits = bpf_map_lookup_elem(&limit_hits, &index);
	struct command_slot *command = command_of_current();

	if (hits)
		__sync_fetch_and_add(hits, count);
	if (command && limit < WIRE_LIMIT_COUNT)
		__sync_fetch_and_add(&command->hits[limit], count);
}

/* Whether @limit of the current process is one of its command: then that is the smaller one, or the
 * one that is hit first. */
static __always_inline bool is_of_command(const struct session_slot *slot,
					  const struct command_slot *command, __u32 limit)
{
	if (!command || limit >= WIRE_LIMIT_COUNT || !command->limits[limit])
		return false;
	if (!slot->limits[limit])
		return true;
	switch (limit) {
	case WIRE_LIMIT_memory:
		return has_least_memory();
	case WIRE_LIMIT_pids:
		return has_least_pids();
	}
	return true;
}

/* The current process hit @limit @count times. */
static __always_inline void tell_hits(const struct session_slot *slot, __u32 limit, __u32 count)
{
	const struct command_slot *command = command_of_current();
	bool is_command = is_of_command(slot, command, limit);
	struct wire_limit_hit *r = EMIT_BEGIN(slot, limit_hit);

	if (!r)
		return;
	r->value = 0;
	if (limit < WIRE_LIMIT_COUNT)
		r->value = is_command && command ? command->limits[limit] : slot->limits[limit];
	r->limit = limit;
	r->count = count;
	r->of_command = is_command;
	emit_end(slot, r);
}
