// SPDX-License-Identifier: GPL-2.0
/*
 * The one program that every system call of the host passes while a session lives. It costs each
 * call a table look-up; only a call that somebody watches goes on to its program.
 */
#include "syscalls.h"
#include "emit.h"

#define TS_COMPAT 2

#define WATCHED(call, program) [__NR_##call] = 1,
static const __u8 watched_calls[SYSCALL_NUMBERS] = {SYSCALL_EXITS(WATCHED)};
#undef WATCHED

/* Filled by the loader from SYSCALL_EXITS. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SYSCALL_NUMBERS);
	__type(key, __u32);
	__type(value, __u32);
} on_exit_calls SEC(".maps");

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

	if (call >= SYSCALL_NUMBERS || !watched_calls[call])
		return 0;
	if (bpf_get_current_task_btf()->thread_info.status & TS_COMPAT)
		return 0;
	bpf_tail_call(ctx, &on_exit_calls, call);
	return 0;
}
