/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread's credentials were when it was last looked at: at its birth, its exec, or its last
 * change. There is no hook at the change itself that needs no trampoline, so the calls that can
 * make one compare with this. The kernel frees it with the thread.
 */
#pragma once

#include "emit.h"

struct credentials {
	__u64 caps; /* effective */
	__u32 uid, gid, euid, egid;
};

struct credentials_seen {
	struct credentials credentials;
	__u64 session; /* cgroup id of the session in which that was */
	__u64 ended;   /* of a group's leader: threads that have claimed to be the last */
	/* While it is in an exec: what it has announced, and in which slot; see exec_room.h. */
	__u32 exec_bytes, exec_slot;
};

struct credentials_seen_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct credentials_seen);
};
MAP struct credentials_seen_map credentials_seen SEC(".maps");

/* Here and elsewhere off the hot paths pointers are followed by BPF_CORE_READ: to follow a typed
 * one costs 25 ns less to run, and half a millisecond to verify. */
static __always_inline void read_credentials(struct task_struct *task, struct credentials *to)
{
	const struct cred *cred = BPF_CORE_READ(task, cred);

	/* 64 bits in every kernel; two words before 6.3 */
	bpf_probe_read_kernel(&to->caps, sizeof(to->caps),
			      (void *)cred + bpf_core_field_offset(struct cred, cap_effective));
	to->uid = BPF_CORE_READ(cred, uid.val);
	to->gid = BPF_CORE_READ(cred, gid.val);
	to->euid = BPF_CORE_READ(cred, euid.val);
	to->egid = BPF_CORE_READ(cred, egid.val);
}

static __always_inline bool same_credentials(const struct credentials *a,
					     const struct credentials *b)
{
	return a->caps == b->caps && a->uid == b->uid && a->gid == b->gid && a->euid == b->euid &&
	       a->egid == b->egid;
}

/* Of a thread of the session that the current task is in. */
static __always_inline void remember_credentials(struct task_struct *task)
{
	struct credentials_seen *seen =
		bpf_task_storage_get(&credentials_seen, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!seen)
		return;
	read_credentials(task, &seen->credentials);
	seen->session = bpf_get_current_ancestor_cgroup_id(session_level);
}

/* The process has come to its exec, or to its end: from now on its number means nothing. */
static __always_inline void end_of_setup(__u32 pid)
{
	if (bpf_map_lookup_elem(&starting, &pid))
		bpf_map_delete_elem(&starting, &pid);
}
