// SPDX-License-Identifier: GPL-2.0
/*
 * The one program that every system call of the host passes while a session lives. It costs each
 * call a table look-up; only a call that somebody watches goes on to its program.
 */
#include "syscalls.h"
#include "entry.h"

#define EPERM 1
#define EINVAL 22

#define WATCHED(call, program) [__NR_##call] = 1,
static const __u8 watched_calls[SYSCALL_NUMBERS] = {SYSCALL_EXITS(WATCHED)};
#undef WATCHED

/* The filter's answer comes back as the result, and the call's number stays where it was. What an
 * entry other than ours is told is always the filter's. */
static __always_inline bool is_refused(__u64 call, long ret)
{
	if (entry_of(call) != ENTRY_NATIVE)
		return ret == -EPERM;
	if (call >= SYSCALL_NUMBERS)
		return false;
	return refused_calls[call] &
	       (ret == -EPERM ? REFUSAL_EPERM | REFUSAL_DENIED : REFUSAL_EINVAL);
}

/*
 * The return of every system call. One raw tracepoint is the cheapest hook that sees results
 * (a second one at entry would double the tax), tp_btf since 5.5 gives the registers typed.
 * A 32-bit entry counts its calls differently and x32 marks them: neither may pass for the call
 * that has the same number here.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	__u64 call = regs->orig_ax;

	if ((ret == -EPERM || ret == -EINVAL) && is_refused(call, ret)) {
		bpf_tail_call(ctx, &on_exit_calls, REFUSED_EXIT);
		return 0;
	}
	if (call >= SYSCALL_NUMBERS || !watched_calls[call])
		return 0;
	if (entry_of(call) != ENTRY_NATIVE)
		return 0;
	bpf_tail_call(ctx, &on_exit_calls, call);
	return 0;
}
