/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a call came into the kernel, which decides what its number means, and where its return goes.
 */
#pragma once

#include "maps.h"
#include "syscalls.h"

#define TS_COMPAT 2
#define X32_MARK (1u << 30)

/* Filled by the loader from SYSCALL_EXITS; behind them REFUSED_EXIT and LIMIT_EXIT. */
struct exits_map {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SYSCALL_NUMBERS + 2);
	__type(key, __u32);
	__type(value, __u32);
};
MAP struct exits_map on_exit_calls SEC(".maps");

/* Of each call the errors that a session's filter may answer it with: enum refusal. Filled by the
 * loader from the filter's own table, and from policies that deny more. */
MAP __u8 refused_calls[SYSCALL_NUMBERS];

/* Of the call that the current task is in; @call: what it put into orig_ax. */
static __always_inline enum call_entry entry_of(__u64 call)
{
	if (bpf_get_current_task_btf()->thread_info.status & TS_COMPAT)
		return ENTRY_I386;
	return call >> 30 == 1 ? ENTRY_X32 : ENTRY_NATIVE;
}
