/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room for what an exec sends. Nothing can make an exec that has begun wait, and a freeze takes
 * hold of a process only when it goes back to its program: so many that are in the midst of an exec
 * could send more than the ring holds, however early the freeze. Therefore each announces how much
 * that will be before it begins, the sum counts as if it were in the ring already, and the session
 * is frozen before others begin.
 */
#pragma once

#include "credentials.h"

/* Count what @argv, in the memory of the current task, will take, and have the session frozen if
 * that is too much. */
int announce_exec(__u64 argv);

/* It is in the ring now, or will not come. */
static __always_inline void end_announcement(struct task_struct *task)
{
	struct credentials_seen *seen = bpf_task_storage_get(&credentials_seen, task, NULL, 0);
	__u64 *coming;
	__u32 slot;

	if (!seen || !seen->exec_bytes)
		return;
	slot = seen->exec_slot;
	coming = bpf_map_lookup_elem(&exec_bytes, &slot);
	if (coming)
		__sync_fetch_and_add(coming, -(__u64)seen->exec_bytes);
	seen->exec_bytes = 0;
}
