// SPDX-License-Identifier: GPL-2.0
/*
 * Processes: fork, exec, failed exec, exit, credentials, cgroup.
 */
#include "emit.h"
#include "path.h"

/* A new process, not a new thread. tp_btf since 5.5: both tasks as typed pointers, before the child
 * runs. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct session_slot *slot = session_of_current_or_setup();
	struct wire_process_fork *r;

	if (!slot || BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0;
	r = EMIT_BEGIN(slot, process_fork);
	if (!r)
		return 0;
	r->child_start_ns = BPF_CORE_READ(child, start_boottime);
	r->child_cgroup = 0;
	r->child_pid = BPF_CORE_READ(child, tgid);
	r->child_ns_pid = ns_pid_of(slot, child);
	emit_end(slot, r);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct session_slot *slot = session_of_current();
	struct wire_process_exec *r;
	__u32 flags = 0, length;

	if (!slot)
		return 0;
	r = EMIT_BEGIN(slot, process_exec);
	if (!r)
		return 0;
	length = path_tail(r, &task->fs->pwd, 16384, &flags);
	EMIT_TAIL(r, cwd, length);
	r->cwd_flags = flags;
	emit_end(slot, r);
	return 0;
}
