// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that a session's filter refused. seccomp decides before the tracepoint of the entry, so a
 * refused call is seen at its return alone: there its number and arguments still stand in the
 * registers, and the result is the filter's answer.
 */
#include "emit.h"
#include "entry.h"
#include "syscalls.h"

static __always_inline void send_attempt(struct session_slot *slot, struct pt_regs *regs, long ret)
{
	struct wire_attempt *r = EMIT_BEGIN(slot, attempt);
	__u64 call = regs->orig_ax;

	if (!r)
		return;
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
}

/*
 * By the dispatcher (syscalls.bpf.c), for what a filter may have refused. The kernel itself may
 * have given the same answer: user space looks at the arguments. What only some session's policy
 * denies may be an ordinary failure in this one, so its own program sees it too; those of other
 * calls have no interest in failures.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_refused, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = session_of_current();
	__u64 call = regs->orig_ax;

	if (!slot)
		return 0;
	send_attempt(slot, regs, ret);
	if (entry_of(call) == ENTRY_NATIVE && call < SYSCALL_NUMBERS &&
	    refused_calls[call] == REFUSAL_DENIED)
		bpf_tail_call(ctx, &on_exit_calls, call);
	return 0;
}
