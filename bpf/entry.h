/* SPDX-License-Identifier: GPL-2.0 */
/* How a call came into the kernel, which decides what its number means. */
#pragma once

#include "maps.h"

#define TS_COMPAT 2
#define X32_MARK (1u << 30)

/* Of the call that the current task is in; @call: what it put into orig_ax. */
static __always_inline enum call_entry entry_of(__u64 call)
{
	if (bpf_get_current_task_btf()->thread_info.status & TS_COMPAT)
		return ENTRY_I386;
	return call >> 30 == 1 ? ENTRY_X32 : ENTRY_NATIVE;
}
