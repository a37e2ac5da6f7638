/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way of every record: is it ours, number, room, fill, send.
 *
 *   struct session_slot *slot = session_of_current();
 *   if (!slot) return 0;
 *   struct wire_process_exit *r = EMIT_BEGIN(slot, process_exit);
 *   if (!r) return 0;                       the loss is counted already
 *   r->... = ...;
 *   EMIT_TAIL(r, path, length) after writing `length` bytes at emit_tail_room(r)
 *   emit_end(slot, r);
 *
 * The number is taken before the scratch buffer and before room in the ring, so that whatever goes
 * wrong leaves a hole that the recorder sees. Programs that may run in softirq or be preempted
 * (cgroup, skb) must not use the scratch: they use EMIT_SMALL, which fills a record of fixed size
 * in the ring itself.
 */
#pragma once

#include "maps.h"

#define BARRIER_VAR(v) asm volatile("" : "+r"(v))

static __always_inline void count_loss(const struct session_slot *slot, __u32 class,
				       enum loss_reason reason)
{
	__u32 index = (slot->slot * WIRE_CLASS_COUNT + class) * LOSS_REASON_COUNT + reason;
	__u64 *count = bpf_map_lookup_elem(&losses, &index);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline __u64 take_number(const struct session_slot *slot, __u32 class)
{
	__u32 index = slot->slot * WIRE_CLASS_COUNT + class;
	__u64 *next = bpf_map_lookup_elem(&numbers, &index);

	return next ? __sync_fetch_and_add(next, 1) : 0;
}

/* The process id as the innermost pid namespace has it. */
static __always_inline __u32 ns_pid_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	struct upid upid = {};

	/* numbers[] grows with the depth of namespaces: its offset is relocated, its stride is the
	 * kernel's own. */
	bpf_probe_read_kernel(&upid.nr, sizeof(upid.nr),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid));
	return upid.nr;
}

/*
 * Set-up is not the session's: pid 1 is our vitrine-init, and what it forks is still its image
 * until the command's exec. A fork of the session's own has another image, so it is told apart by
 * the file, not by the flag.
 */
static __always_inline bool is_setup(struct task_struct *task, const struct session_slot *slot)
{
	struct inode *inode;

	if (!(BPF_CORE_READ(task, flags) & PF_FORKNOEXEC) &&
	    ns_pid_of(BPF_CORE_READ(task, group_leader)) != 1)
		return false;
	inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
	return BPF_CORE_READ(inode, i_ino) == slot->init_ino &&
	       BPF_CORE_READ(inode, i_sb, s_dev) == slot->init_dev;
}

/* The session that the current task belongs to, child cgroups included. NULL: not ours. */
static __always_inline struct session_slot *session_of_current_or_setup(void)
{
	__u64 id = bpf_get_current_ancestor_cgroup_id(session_level);

	return bpf_map_lookup_elem(&sessions, &id);
}

/* The same, but NULL also for what vitrine-init does itself. */
static __always_inline struct session_slot *session_of_current(void)
{
	struct session_slot *slot = session_of_current_or_setup();

	if (!slot || is_setup((struct task_struct *)bpf_get_current_task(), slot))
		return NULL;
	return slot;
}

/* Fill a head with who acts now. */
static __always_inline void fill_head(struct wire_head *head, __u32 kind, __u32 class, __u64 number)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	const struct cred *cred = BPF_CORE_READ(task, cred);

	head->number = number;
	head->boot_ns = bpf_ktime_get_boot_ns();
	head->start_ns = BPF_CORE_READ(leader, start_boottime);
	head->cgroup = bpf_get_current_ancestor_cgroup_id(session_level + 1);
	head->pid = pid_tgid >> 32;
	head->tid = (__u32)pid_tgid;
	head->ns_pid = ns_pid_of(leader);
	head->uid = BPF_CORE_READ(cred, euid.val);
	head->gid = BPF_CORE_READ(cred, egid.val);
	head->kind = kind;
	head->class = class;
	head->cpu = bpf_get_smp_processor_id();
	head->flags = 0;
}

static __always_inline struct scratch *scratch_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

static __always_inline void *emit_begin(const struct session_slot *slot, __u32 kind, __u32 class,
					__u32 size)
{
	__u64 number = take_number(slot, class);
	struct scratch *scratch = scratch_of_cpu();
	struct wire_head *head;

	if (!scratch || scratch->busy) {
		count_loss(slot, class, LOSS_BUSY);
		return NULL;
	}
	scratch->busy = 1;
	head = (struct wire_head *)scratch->data;
	fill_head(head, kind, class, number);
	head->length = size;
	return head;
}

#define EMIT_BEGIN(slot, name)                                                                     \
	((struct wire_##name *)emit_begin(slot, WIRE_KIND_##name, EMIT_CLASS_##name,               \
					  sizeof(struct wire_##name)))

enum emit_class {
#define RECORD(name, class) EMIT_CLASS_##name = WIRE_CLASS_##class,
	WIRE_RECORDS(RECORD)
#undef RECORD
};

/* Give the scratch back without sending: the number stays taken, the loss is counted. */
static __always_inline void emit_drop(const struct session_slot *slot, void *record,
				      enum loss_reason reason)
{
	struct wire_head *head = record;
	struct scratch *scratch = scratch_of_cpu();

	count_loss(slot, head->class, reason);
	if (scratch)
		scratch->busy = 0;
}

/* Where the next tail goes. At least WIRE_PIECE_MAX bytes are free there as long as length <=
 * WIRE_LENGTH_MAX. */
static __always_inline void *emit_tail_room(void *record)
{
	struct wire_head *head = record;
	__u32 offset = head->length & (WIRE_LENGTH_MAX - 1);

	BARRIER_VAR(offset);
	return (__u8 *)record + offset;
}

#define EMIT_TAIL(record, name, size)                                                              \
	do {                                                                                       \
		__u32 size_ = (size);                                                              \
		(record)->name##_length = size_;                                                   \
		(record)->head.length += size_;                                                    \
	} while (0)

/* File records may not take the last quarter of a ring: exec, exit and network records always find
 * room. */
static __always_inline bool ring_has_room(void *ring, const struct session_slot *slot, __u32 class,
					  __u64 *flags)
{
	__u64 fill = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	*flags = fill >= slot->high_water ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	return class != WIRE_CLASS_file || fill < slot->ring_bytes - slot->ring_bytes / 4;
}

/* Send the record in the scratch and give the scratch back. */
static __always_inline int emit_end(const struct session_slot *slot, void *record)
{
	struct wire_head *head = record;
	struct scratch *scratch = scratch_of_cpu();
	__u32 slot_index = slot->slot, length = head->length, class = head->class;
	void *ring = bpf_map_lookup_elem(&rings, &slot_index);
	__u64 flags;
	int r = -1;

	if (!scratch)
		return -1;
	if (length > WIRE_LENGTH_MAX)
		length = WIRE_LENGTH_MAX;
	if (ring && ring_has_room(ring, slot, class, &flags))
		r = bpf_ringbuf_output(ring, scratch->data, length, flags);
	if (r)
		count_loss(slot, class, LOSS_RING_FULL);
	scratch->busy = 0;
	return r;
}

/*
 * For cgroup and skb programs: reserve a record of fixed size in the ring. The caller fills all of
 * it (the memory is zeroed) and calls emit_small_end. Costs no scratch, so it may run in softirq.
 */
static __always_inline void *emit_small(const struct session_slot *slot, __u32 kind, __u32 class,
					const __u64 size)
{
	__u64 number = take_number(slot, class), flags;
	__u32 slot_index = slot->slot;
	void *ring = bpf_map_lookup_elem(&rings, &slot_index);
	struct wire_head *head = NULL;

	if (ring && ring_has_room(ring, slot, class, &flags))
		head = bpf_ringbuf_reserve(ring, size, 0);
	if (!head) {
		count_loss(slot, class, LOSS_RING_FULL);
		return NULL;
	}
	__builtin_memset(head, 0, sizeof(*head));
	head->number = number;
	head->boot_ns = bpf_ktime_get_boot_ns();
	head->kind = kind;
	head->class = class;
	head->cpu = bpf_get_smp_processor_id();
	head->length = size;
	return head;
}

static __always_inline void emit_small_end(const struct session_slot *slot, void *record)
{
	__u32 slot_index = slot->slot;
	void *ring = bpf_map_lookup_elem(&rings, &slot_index);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= slot->high_water)
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(record, flags);
}
