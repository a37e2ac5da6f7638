/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The path of a kernel object as the session sees it: from a dentry and its mount up to the root of
 * the mount namespace, across mounts, whatever the task's own chroot is. Written leaf first, each
 * name closed by a NUL; user space turns it round. The root itself is one empty name.
 */
#pragma once

#include "emit.h"

#define PATH_STEPS 4096

enum path_flag {
	PATH_DELETED = 1,  /* the leaf has no name any more */
	PATH_DETACHED = 2, /* the walk ended at a mount that is not of the task's namespace */
	PATH_CUT = 4,	   /* too long: names next to the root are missing */
};

struct path_walk {
	struct dentry *dentry;
	struct mount *mount;
	__u32 offset; /* from the start of the scratch's data */
	__u32 end;    /* not to be passed */
	__u32 flags;
};

static long path_step(__u32 index, void *context)
{
	struct path_walk *w = context;
	struct scratch *scratch = scratch_of_cpu();
	struct dentry *dentry = w->dentry, *parent;
	struct mount *mount = w->mount;
	struct qstr name;
	__u32 offset, length;

	if (!scratch)
		return 1;
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount)
			return 1;
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = above;
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (parent == dentry) {
		w->flags |= PATH_DETACHED;
		return 1;
	}
	bpf_core_read(&name, sizeof(name), &dentry->d_name);
	offset = w->offset & (WIRE_LENGTH_MAX - 1);
	length = name.len & 255;
	if (offset + length + 1 > w->end) {
		w->flags |= PATH_CUT;
		return 1;
	}
	BARRIER_VAR(offset);
	if (bpf_probe_read_kernel(scratch->data + offset, length, name.name)) {
		w->flags |= PATH_CUT;
		return 1;
	}
	offset = (offset + length) & (2 * WIRE_LENGTH_MAX - 1);
	BARRIER_VAR(offset);
	scratch->data[offset] = 0;
	w->offset = offset + 1;
	w->dentry = parent;
	return 0;
}

/*
 * Write the path of @path (a kernel pointer to struct path) as the next tail of @record, at most
 * @room bytes. Returns its length; @ret_flags gets enum path_flag.
 */
static __always_inline __u32 path_tail(void *record, struct path *path, __u32 room,
				       __u32 *ret_flags)
{
	struct wire_head *head = record;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct vfsmount *vfsmount = BPF_CORE_READ(path, mnt);
	struct scratch *scratch = scratch_of_cpu();
	struct dentry *dentry = BPF_CORE_READ(path, dentry);
	struct mount *mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
	struct path_walk w = {
		.dentry = dentry,
		.mount = mount,
		.offset = head->length,
		.end = head->length + room,
	};
	__u32 start = head->length & (WIRE_LENGTH_MAX - 1), length;

	if (!scratch || !vfsmount || !dentry)
		return 0;
	if (w.end > WIRE_LENGTH_MAX)
		w.end = WIRE_LENGTH_MAX;
	if (!BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry)
		w.flags |= PATH_DELETED;
	bpf_loop(PATH_STEPS, path_step, &w, 0);
	mount = w.mount;
	if (BPF_CORE_READ(mount, mnt_ns) != BPF_CORE_READ(task, nsproxy, mnt_ns))
		w.flags |= PATH_DETACHED;
	if (w.offset == start && w.offset < w.end) {
		BARRIER_VAR(start);
		scratch->data[start] = 0; /* the root */
		w.offset++;
	}
	length = w.offset - head->length;
	*ret_flags = w.flags;
	return length & (WIRE_LENGTH_MAX - 1);
}
