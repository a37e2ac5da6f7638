// SPDX-License-Identifier: GPL-2.0
/*
 * The one program that every system call of the host passes while a session lives. It costs each
 * call a table look-up; only a call that somebody watches goes on to its program.
 */
#include "syscalls.h"
#include "entry.h"

#define EPERM 1
#define EAGAIN 11
#define EINVAL 22
#define EMFILE 24
#define EFBIG 27
#define ENOSPC 28
#define EDQUOT 122

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

/* What a limit may have refused. Most of EAGAIN is of calls that would have to wait. */
static __always_inline bool is_limited(__u64 call, long ret)
{
	switch (-ret) {
	case EAGAIN:
		return call == __NR_clone || call == __NR_clone3 || call == __NR_fork ||
		       call == __NR_vfork;
	case EMFILE:
	case EFBIG:
	case ENOSPC:
	case EDQUOT:
		return true;
	}
	return false;
}

/* Where the return of a call that failed goes first; 0: nowhere. */
static __always_inline __u32 exit_of_error(__u64 call, long ret)
{
	if (ret == -EPERM || ret == -EINVAL)
		return is_refused(call, ret) ? REFUSED_EXIT : 0;
	return is_limited(call, ret) ? LIMIT_EXIT : 0;
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

	if (ret < 0) {
		__u32 first = exit_of_error(call, ret);

		if (first) {
			bpf_tail_call(ctx, &on_exit_calls, first);
			return 0;
		}
	}
	if (call >= SYSCALL_NUMBERS || !watched_calls[call])
		return 0;
	if (entry_of(call) != ENTRY_NATIVE)
		return 0;
	bpf_tail_call(ctx, &on_exit_calls, call);
	return 0;
}
