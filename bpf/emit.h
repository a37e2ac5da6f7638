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

/*
 * A function of its own in each program: verified once, where a copy at each call would be verified
 * on every path that leads there. Weak, because every object has one.
 */
#define SHARED __weak __noinline

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

#define PID_NUMBERS_MASK 1023 /* 32 levels fit; the verifier of 6.1 wants a bound */

/* The number of @pid in the pid namespace at depth @level. */
static __always_inline __u32 pid_number(struct pid *pid, __u32 level)
{
	__u32 offset = level * bpf_core_type_size(struct upid) & PID_NUMBERS_MASK;
	struct upid upid = {};

	/* numbers[] grows with the depth of namespaces: its offset is relocated, its stride is the
	 * kernel's own. */
	bpf_probe_read_kernel(&upid.nr, sizeof(upid.nr),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) + offset);
	return upid.nr;
}

/* The pid of @task as the session sees it; 0 if it cannot see it. */
static __always_inline __u32 ns_pid_of(const struct session_slot *slot, struct task_struct *task)
{
	struct pid *pid = task->thread_pid;

	if (!pid || pid->level < slot->pid_level)
		return 0;
	return pid_number(pid, slot->pid_level);
}

/* The first to act in a session is its pid 1: nothing else is in there yet. */
SHARED int find_init(struct session_slot *slot)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	if (!slot || pid_number(pid, level) != 1)
		return 0;
	slot->pid_level = level;
	slot->init_pid = BPF_CORE_READ(task, tgid);
	return 0;
}

/* Set-up is not the session's: what vitrine-init does, and its children up to their exec. Both are
 * known by what the kernel saw of their birth, so no act of a session passes for set-up. */
static __always_inline bool is_setup(struct task_struct *task, const struct session_slot *slot)
{
	__u32 pid = task->tgid;

	if (pid == slot->init_pid)
		return true;
	return (task->flags & PF_FORKNOEXEC) && bpf_map_lookup_elem(&starting, &pid);
}

/* The cgroup that @cgroup lies in at depth @level, or 0 if it is less deep. */
static __always_inline __u64 ancestor_of(struct cgroup *cgroup, __u32 level)
{
	struct cgroup *ancestor = NULL;

	if ((__u32)BPF_CORE_READ(cgroup, level) < level)
		return 0;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
				      level * sizeof(ancestor));
	return BPF_CORE_READ(ancestor, kn, id);
}

/* The session that the current task belongs to, child cgroups included. NULL: not ours. */
static __always_inline struct session_slot *session_of_current_or_setup(void)
{
	__u64 id = bpf_get_current_ancestor_cgroup_id(session_level);
	struct session_slot *slot = bpf_map_lookup_elem(&sessions, &id);

	if (slot && !slot->init_pid)
		find_init(slot);
	return slot;
}

/* The same, but NULL also for what vitrine-init does itself. */
static __always_inline struct session_slot *session_of_current(void)
{
	struct session_slot *slot = session_of_current_or_setup();

	if (!slot || is_setup(bpf_get_current_task_btf(), slot))
		return NULL;
	return slot;
}

/* Fill a head with what @task does. Leaves the command's cgroup to the caller. */
static __always_inline void fill_head(const struct session_slot *slot, struct wire_head *head,
				      struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	head->boot_ns = bpf_ktime_get_boot_ns();
	head->start_ns = leader->start_boottime;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->ns_pid = ns_pid_of(slot, leader);
	head->cpu = bpf_get_smp_processor_id();
	head->flags = 0;
}

SHARED int fill_current_head(const struct session_slot *slot, struct wire_head *head)
{
	if (!slot || !head)
		return 0;
	fill_head(slot, head, bpf_get_current_task_btf());
	head->cgroup = bpf_get_current_ancestor_cgroup_id(session_level + 1);
	return 0;
}

static __always_inline struct scratch *scratch_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

/* Take a number and the scratch; the rest of the head is the caller's to fill. */
static __always_inline struct wire_head *take_scratch(const struct session_slot *slot, __u32 kind,
						      __u32 class, __u32 size)
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
	head->number = number;
	head->kind = kind;
	head->class = class;
	head->length = size;
	return head;
}

static __always_inline void *emit_begin(const struct session_slot *slot, __u32 kind, __u32 class,
					__u32 size)
{
	struct wire_head *head = take_scratch(slot, kind, class, size);

	if (head)
		fill_current_head(slot, head);
	return head;
}

static __always_inline void *emit_begin_for(const struct session_slot *slot,
					    struct task_struct *task, __u32 kind, __u32 class,
					    __u32 size)
{
	struct wire_head *head = take_scratch(slot, kind, class, size);

	if (!head)
		return NULL;
	fill_head(slot, head, task);
	head->cgroup = 0;
	return head;
}

#define EMIT_BEGIN(slot, name)                                                                     \
	((struct wire_##name *)emit_begin(slot, WIRE_KIND_##name, EMIT_CLASS_##name,               \
					  sizeof(struct wire_##name)))
/* The record of what happens to another task than the current one. */
#define EMIT_BEGIN_FOR(slot, task, name)                                                           \
	((struct wire_##name *)emit_begin_for(slot, task, WIRE_KIND_##name, EMIT_CLASS_##name,     \
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

/* Is the ring full enough, with what is on its way, for the session to be frozen? */
static __always_inline bool is_behind(const struct session_slot *slot, __u64 fill)
{
	__u32 index = slot->slot;
	__u64 *coming = bpf_map_lookup_elem(&exec_bytes, &index);

	return fill + (coming ? *coming : 0) >= slot->high_water;
}

/* What a session can make without end and at once, files and refusals, may not take the last
 * quarter of a ring: exec, exit and network records always find room. */
static __always_inline bool ring_has_room(void *ring, const struct session_slot *slot, __u32 class,
					  __u64 *flags)
{
	__u64 fill = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	*flags = is_behind(slot, fill) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	return (class != WIRE_CLASS_file && class != WIRE_CLASS_policy) ||
	       fill < slot->ring_bytes - slot->ring_bytes / 4;
}

/* Send the record in the scratch and give the scratch back. */
SHARED int send_scratch(const struct session_slot *slot)
{
	struct scratch *scratch = scratch_of_cpu();
	struct wire_head *head;
	__u32 slot_index, length, class;
	__u64 flags;
	void *ring;
	int r = -1;

	if (!scratch || !slot)
		return -1;
	head = (struct wire_head *)scratch->data;
	slot_index = slot->slot;
	length = head->length;
	class = head->class;
	ring = bpf_map_lookup_elem(&rings, &slot_index);
	BARRIER_VAR(length);
	if (length > WIRE_LENGTH_MAX)
		length = WIRE_LENGTH_MAX;
	if (ring && ring_has_room(ring, slot, class, &flags))
		r = bpf_ringbuf_output(ring, scratch->data, length, flags);
	if (r)
		count_loss(slot, class, LOSS_RING_FULL);
	scratch->busy = 0;
	return r;
}

static __always_inline int emit_end(const struct session_slot *slot, void *record)
{
	return send_scratch(slot);
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

	if (ring && is_behind(slot, bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA)))
		flags = BPF_RB_FORCE_WAKEUP;
	bpf_ringbuf_submit(record, flags);
}
