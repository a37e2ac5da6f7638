// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that a session's filter refused. seccomp decides before the tracepoint of the entry, so a
 * refused call is seen at its return alone: there its number and arguments still stand in the
 * registers, and the result is the filter's answer.
 */
#include "emit.h"
#include "entry.h"
#include "syscalls.h"

/* By the dispatcher (syscalls.bpf.c), for what a filter may have refused. The kernel itself may
 * have given the same answer: user space looks at the arguments. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_refused, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = session_of_current();
	__u64 call = regs->orig_ax;
	struct wire_attempt *r;

	if (!slot)
		return 0;
	r = EMIT_BEGIN(slot, attempt);
	if (!r)
		return 0;
	r->argument_1 = SYSCALL_ARG1(regs);
	r->argument_2 = SYSCALL_ARG2(regs);
	r->argument_3 = SYSCALL_ARG3(regs);
	r->argument_4 = SYSCALL_ARG4(regs);
	r->argument_5 = SYSCALL_ARG5(regs);
	r->argument_6 = SYSCALL_ARG6(regs);
	r->entry = entry_of(call);
	r->call = r->entry == ENTRY_X32 ? call & ~X32_MARK : call;
	r->error = -ret;
	r->reserved = 0;
	emit_end(slot, r);
	return 0;
}
