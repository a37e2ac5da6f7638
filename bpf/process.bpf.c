// SPDX-License-Identifier: GPL-2.0
/*
 * Processes: fork, exit, change of credentials, move to another cgroup. Exec is in exec.bpf.c.
 */
#include "exec_room.h"
#include "notes.h"
#include "path.h"
#include "syscalls.h"

#define SIGNAL_GROUP_EXIT 4
#define SIGNAL_MASK 0x7f
#define SIGKILL 9
#define PAGE_BYTES 4096
#define THREADS_MAX 65536
#define CGROUP_PATH_ROOM 4096

/* A new process or thread. tp_btf since 5.5: both tasks as typed pointers, before the child runs.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct session_slot *slot = session_of_current_or_setup();
	struct wire_process_fork *r;
	__u32 pid = child->tgid;

	if (!slot)
		return 0;
	remember_credentials(child);
	if (child->pid != child->tgid)
		return 0;
	if (is_setup(parent, slot))
		bpf_map_update_elem(&starting, &pid, &pid, BPF_ANY);
	r = EMIT_BEGIN(slot, process_fork);
	if (!r)
		return 0;
	r->child_start_ns = child->start_boottime;
	r->child_cgroup = ancestor_of(BPF_CORE_READ(child, cgroups, dfl_cgrp), session_level + 1);
	r->child_pid = pid;
	r->child_ns_pid = ns_pid_of(slot, child);
	emit_end(slot, r);
	return 0;
}

/* ---- exit ---- */

struct thread_sum {
	struct list_head *next, *end;
	__u64 cpu_ns;
};

static long add_thread(__u32 index, void *context)
{
	struct thread_sum *sum = context;
	struct list_head *next = sum->next;
	struct task_struct *task;

	if (!next || next == sum->end)
		return 1;
	task = (void *)next - bpf_core_field_offset(struct task_struct, thread_node);
	sum->cpu_ns += BPF_CORE_READ(task, se.sum_exec_runtime);
	sum->next = BPF_CORE_READ(next, next);
	return 0;
}

/* Processor time of the whole group: threads that have gone, and those that are still listed. */
static __always_inline __u64 cpu_time_of(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct thread_sum sum = {
		.next = BPF_CORE_READ(signal, thread_head.next),
		.end = (void *)signal + bpf_core_field_offset(struct signal_struct, thread_head),
	};

	bpf_loop(THREADS_MAX, add_thread, &sum, 0);
	return BPF_CORE_READ(signal, sum_sched_runtime) + sum.cpu_ns;
}

/* The last thread of its group: the count of the living is 0 then. Two that end at once both see
 * that, so the first of them takes the part. */
static __always_inline bool is_last_thread(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct credentials_seen *seen;

	if (BPF_CORE_READ(signal, live.counter) > 0)
		return false;
	seen = bpf_task_storage_get(&credentials_seen, task->group_leader, NULL, 0);
	return !seen || __sync_fetch_and_add(&seen->ended, 1) == 0;
}

/* Who sent the signal that ends it; the note is of the last one that it got. A mark that the kernel
 * set when it chose its victim is on the process itself. */
static __always_inline void read_death(struct task_struct *task, const struct process_note *note,
				       struct death *death)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	/* What wait(2) gives: the group's status, or the leader's if all threads ended by
	 * themselves. */
	__u32 code = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT
			     ? BPF_CORE_READ(signal, group_exit_code)
			     : BPF_CORE_READ(task, group_leader, exit_code);

	death->pid = task->tgid;
	death->ended = 1;
	death->status = code;
	if ((code & SIGNAL_MASK) == SIGKILL && BPF_CORE_READ(signal, oom_mm)) {
		death->sender = SENDER_OOM;
	} else if (note && note->signal && note->signal == (code & SIGNAL_MASK)) {
		death->sender = note->sender;
		death->sender_pid = note->sender_pid;
		death->sender_ns_pid = note->sender_ns_pid;
		death->sender_start_ns = note->sender_start_ns;
	}
}

/* vitrined asks how the first process of a command ended, and only of that one. */
static __always_inline void keep_death(__u64 cgroup, const struct death *death)
{
	struct death *kept = bpf_map_lookup_elem(&deaths, &cgroup);

	if (kept && kept->pid == death->pid)
		*kept = *death;
}

/* Hits that no record has told yet, and the one that is its end. */
static __always_inline void tell_last_hits(const struct session_slot *slot,
					   struct process_note *note, const struct death *death)
{
	if (death->sender == SENDER_OOM) {
		count_hits(slot, WIRE_LIMIT_memory, 1);
		tell_hits(slot, WIRE_LIMIT_memory, 1);
	}
	for (__u32 i = 0; note && i < WIRE_LIMIT_COUNT; i++) {
		__u32 count = note->hits[i];

		if (count)
			tell_hits(slot, i, count);
	}
}

/* A process ends. tp_btf since 5.5: files, credentials and usage are all still there. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct session_slot *slot = session_of_current_or_setup();
	struct process_note *note;
	struct wire_process_exit *r;
	struct death death = {};
	__u32 pid = task->tgid;

	if (!slot)
		return 0;
	end_announcement(task);
	if (!is_last_thread(task))
		return 0;
	note = bpf_task_storage_get(&process_notes, task->group_leader, NULL, 0);
	read_death(task, note, &death);
	if (pid == slot->init_pid) {
		__u64 session = bpf_get_current_ancestor_cgroup_id(session_level);

		bpf_map_update_elem(&deaths, &session, &death, BPF_ANY);
		return 0;
	}
	end_of_setup(pid);
	keep_death(bpf_get_current_ancestor_cgroup_id(session_level + 1), &death);
	tell_last_hits(slot, note, &death);
	r = EMIT_BEGIN(slot, process_exit);
	if (!r)
		return 0;
	r->cpu_ns = cpu_time_of(task);
	r->memory_peak = BPF_CORE_READ(task, signal, maxrss) * PAGE_BYTES;
	r->exit_code = death.status;
	r->sender = death.sender;
	r->sender_pid = death.sender_pid;
	r->sender_ns_pid = death.sender_ns_pid;
	r->sender_start_ns = death.sender_start_ns;
	emit_end(slot, r);
	return 0;
}

/* ---- credentials ---- */

/* A call that may have changed the thread's credentials has returned. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_credentials, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct credentials_seen *seen, before = {};
	struct session_slot *slot;
	struct credentials now;
	struct wire_process_cred *r;

	if (ret < 0)
		return 0;
	slot = session_of_current();
	if (!slot)
		return 0;
	read_credentials(task, &now);
	seen = bpf_task_storage_get(&credentials_seen, task, NULL, 0);
	if (seen)
		before = *seen;
	if (seen && same_credentials(&before.credentials, &now))
		return 0;
	remember_credentials(task);
	r = EMIT_BEGIN(slot, process_cred);
	if (!r)
		return 0;
	if (!seen)
		r->head.flags |= WIRE_FLAG_FAULT;
	r->caps = now.caps;
	r->uid = now.uid;
	r->gid = now.gid;
	r->euid = now.euid;
	r->egid = now.egid;
	r->old_caps = before.credentials.caps;
	r->old_uid = before.credentials.uid;
	r->old_gid = before.credentials.gid;
	r->old_euid = before.credentials.euid;
	r->old_egid = before.credentials.egid;
	emit_end(slot, r);
	return 0;
}

/* ---- cgroup ---- */

static __always_inline void emit_move(__u64 session, bool inside, struct cgroup *to,
				      const char *path, struct task_struct *task)
{
	struct session_slot *slot = bpf_map_lookup_elem(&sessions, &session);
	struct wire_process_cgroup *r;
	long length;

	if (!slot || (__u32)task->tgid == slot->init_pid)
		return;
	r = EMIT_BEGIN_FOR(slot, task, process_cgroup);
	if (!r)
		return;
	r->head.cgroup = inside ? ancestor_of(to, session_level + 1) : 0;
	r->to_cgroup = BPF_CORE_READ(to, kn, id);
	r->inside = inside;
	length = bpf_probe_read_kernel_str(emit_tail_room(r), CGROUP_PATH_ROOM, path);
	EMIT_TAIL(r, path, length > 0 ? length - 1 : 0);
	emit_end(slot, r);
}

/* A process was moved, by whomever: into a session, within it, or out of it. tp_btf since 5.5;
 * after the move, for the leader of what moves. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct credentials_seen *seen;
	__u64 session;

	if (BPF_CORE_READ(to, root, hierarchy_id) != 0) /* v1 */
		return 0;
	session = ancestor_of(to, session_level);
	emit_move(session, true, to, path, task);
	seen = bpf_task_storage_get(&credentials_seen, task, NULL, 0);
	if (seen && seen->session != session)
		emit_move(seen->session, false, to, path, task);
	return 0;
}
