// SPDX-License-Identifier: GPL-2.0
/*
 * Who sent the signal that ends a process.
 */
#include "notes.h"

#define SIGNAL_DELIVERED 0
#define SIGNAL_LOST_INFO 4

/* Below the pointers that `info` may be: the kernel's own signals. */
#define INFO_NONE 0
#define INFO_KERNEL 1

#define SI_USER 0
#define SI_QUEUE (-1)
#define SI_TKILL (-6)

#define REALTIME_FIRST 32
#define BIT(signal) (1u << (signal))
/* CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH: nothing ends by these. */
#define HARMLESS                                                                                   \
	(BIT(0) | BIT(17) | BIT(18) | BIT(19) | BIT(20) | BIT(21) | BIT(22) | BIT(23) | BIT(28))

static __always_inline bool is_ours(const struct session_slot *slot)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	return pid == supervisor_pid || pid == slot->init_pid;
}

static __always_inline bool is_inside(__u64 session)
{
	return bpf_get_current_ancestor_cgroup_id(session_level) == session;
}

/* Of a signal that a process sent by a call, it is the running one. */
static __always_inline enum signal_sender caller(const struct session_slot *slot, __u64 session)
{
	if (is_ours(slot))
		return SENDER_SUPERVISOR;
	return is_inside(session) ? SENDER_PROCESS : SENDER_OUTSIDE;
}

/*
 * A signal without info is what the kernel sends for somebody else's act: cgroup.kill, or a write
 * to a broken pipe. Codes above 0 are the kernel's too; those of timers and queues do not say who
 * set them up.
 */
static __always_inline enum signal_sender sender_of(const struct session_slot *slot, __u64 session,
						    __u64 info)
{
	int code = 0;

	if (info == INFO_KERNEL)
		return SENDER_KERNEL;
	if (info == INFO_NONE) {
		enum signal_sender sender = caller(slot, session);

		return sender == SENDER_PROCESS ? SENDER_KERNEL : sender;
	}
	bpf_probe_read_kernel(&code, sizeof(code),
			      (void *)info + bpf_core_field_offset(struct kernel_siginfo, si_code));
	if (code > 0)
		return SENDER_KERNEL;
	if (code == SI_USER || code == SI_QUEUE || code == SI_TKILL)
		return caller(slot, session);
	return SENDER_UNKNOWN;
}

static __always_inline void note_sender(struct process_note *note, const struct session_slot *slot,
					enum signal_sender sender)
{
	struct task_struct *leader = bpf_get_current_task_btf()->group_leader;
	bool is_known = sender == SENDER_PROCESS || sender == SENDER_OUTSIDE;

	note->sender = sender;
	note->sender_pid = is_known ? leader->tgid : 0;
	note->sender_ns_pid = sender == SENDER_PROCESS ? ns_pid_of(slot, leader) : 0;
	note->sender_start_ns = is_known ? leader->start_boottime : 0;
}

/*
 * A signal was put into a process's queue, with the sender running, unless the kernel itself sends.
 * tp_btf since 5.5; the queue's lock is held. Of real-time signals several may wait at once, and
 * which of them is the one that ends it cannot be told.
 */
SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *task,
	     int group, int result)
{
	unsigned long pointer = (unsigned long)info;
	struct session_slot *slot;
	struct process_note *note;
	__u64 session, number = 0;

	if (signal <= 0 || signal >= REALTIME_FIRST || (HARMLESS & BIT(signal & 31)))
		return 0;
	if (result != SIGNAL_DELIVERED && result != SIGNAL_LOST_INFO)
		return 0;
	session = ancestor_of(BPF_CORE_READ(task, cgroups, dfl_cgrp), session_level);
	slot = bpf_map_lookup_elem(&sessions, &session);
	if (!slot)
		return 0;
	note = note_of(task->group_leader);
	if (!note)
		return 0;
	/* To the verifier of some kernels a typed pointer is never one of the two small numbers. */
	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	note->signal = signal;
	note_sender(note, slot, sender_of(slot, session, number));
	return 0;
}
