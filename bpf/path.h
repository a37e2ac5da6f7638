/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The path of a kernel object as the session sees it: from a dentry and its mount up to the root of
 * the mount namespace, across mounts, whatever the task's own chroot is. Written leaf first, each
 * name closed by a NUL; user space turns it round. The root itself is one empty name.
 */
#pragma once

#include "emit.h"

/* No walk ends here: a name takes 2 bytes at least, and what has no name, a mount, is not so deep.
 */
#define PATH_STEPS 65536

/* A dentry's parent and name, as they lie in the kernel's struct. */
struct path_name {
	struct dentry *parent;
	__u32 hash;
	__u32 length;
	const unsigned char *text;
};

/* One read where both lie side by side, as in every kernel so far. */
static __always_inline void read_name(struct dentry *dentry, struct path_name *name)
{
	__u32 parent = bpf_core_field_offset(struct dentry, d_parent);
	__u32 text = bpf_core_field_offset(struct dentry, d_name);

	if (text == parent + sizeof(name->parent)) {
		bpf_probe_read_kernel(name, sizeof(*name), (void *)dentry + parent);
		return;
	}
	bpf_probe_read_kernel(&name->parent, sizeof(name->parent), (void *)dentry + parent);
	bpf_probe_read_kernel(&name->hash, sizeof(*name) - sizeof(name->parent),
			      (void *)dentry + text);
}

/* Append a name and its NUL. false: it does not fit or is gone. */
static __always_inline bool append_name(struct scratch *scratch, const struct path_name *name)
{
	struct path_walk *w = &scratch->walk;
	__u32 offset = w->offset & (WIRE_LENGTH_MAX - 1);
	__u32 length = name->length & 255;

	if (offset + length + 1 > w->end)
		return false;
	BARRIER_VAR(offset);
	if (bpf_probe_read_kernel(scratch->data + offset, length, name->text))
		return false;
	offset = (offset + length) & (2 * WIRE_LENGTH_MAX - 1);
	BARRIER_VAR(offset);
	scratch->data[offset] = 0;
	w->offset = offset + 1;
	return true;
}

/* A root that is not the mount's: the walk has left the tree below the mount, or there never was
 * one. The root of a file system is named "/". */
static __always_inline void end_at_root(struct scratch *scratch, const struct path_name *name)
{
	scratch->walk.flags |= name->length == 1 ? PATH_DETACHED : PATH_PSEUDO;
	if (name->length > 1)
		append_name(scratch, name);
}

static long path_step(__u32 index, void *context)
{
	struct scratch *scratch = scratch_of_cpu();
	struct path_name name = {};
	struct path_walk *w;

	if (!scratch)
		return 1;
	w = &scratch->walk;
	if (w->dentry == w->root) {
		struct mount *mount = w->mount, *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount)
			return 1;
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = above;
		w->root = BPF_CORE_READ(above, mnt.mnt_root);
		return 0;
	}
	read_name(w->dentry, &name);
	if (name.parent == w->dentry) {
		end_at_root(scratch, &name);
		return 1;
	}
	if (!append_name(scratch, &name)) {
		w->flags |= PATH_CUT;
		return 1;
	}
	w->dentry = name.parent;
	return 0;
}

/* Walk from the scratch's walk.from and write the names behind the record, at most @room bytes. */
SHARED int walk_path(__u32 room)
{
	struct scratch *scratch = scratch_of_cpu();
	struct dentry *dentry;
	struct vfsmount *mnt;
	struct mount *mount;
	struct path_walk *w;
	struct path *from;
	__u32 start;

	if (!scratch)
		return 0;
	w = &scratch->walk;
	from = w->from;
	mnt = BPF_CORE_READ(from, mnt);
	dentry = BPF_CORE_READ(from, dentry);
	start = ((struct wire_head *)scratch->data)->length;
	w->offset = start;
	w->flags = 0;
	if (!mnt || !dentry)
		return 0;
	w->dentry = dentry;
	w->root = BPF_CORE_READ(mnt, mnt_root);
	w->mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	w->end = start + room;
	if (w->end > WIRE_LENGTH_MAX)
		w->end = WIRE_LENGTH_MAX;
	if (!BPF_CORE_READ(dentry, d_hash.pprev) && dentry != w->root)
		w->flags = PATH_DELETED;

	if (bpf_loop(PATH_STEPS, path_step, NULL, 0) == PATH_STEPS)
		w->flags |= PATH_CUT;

	mount = w->mount;
	if (!(w->flags & PATH_PSEUDO) &&
	    BPF_CORE_READ(mount, mnt_ns) != bpf_get_current_task_btf()->nsproxy->mnt_ns)
		w->flags |= PATH_DETACHED;
	if (w->offset == start && !(w->flags & PATH_PSEUDO)) {
		start &= WIRE_LENGTH_MAX - 1;
		BARRIER_VAR(start);
		scratch->data[start] = 0; /* the root */
		w->offset++;
	}
	return 0;
}

/*
 * Write the path of @path (a kernel pointer to struct path) as the next tail of @record, at most
 * @room bytes. Returns its length; @ret_flags gets enum path_flag.
 */
static __always_inline __u32 path_tail(void *record, struct path *path, __u32 room,
				       __u32 *ret_flags)
{
	struct scratch *scratch = scratch_of_cpu();
	struct wire_head *head = record;

	if (!scratch)
		return 0;
	scratch->walk.from = path;
	walk_path(room);
	*ret_flags = scratch->walk.flags;
	return (scratch->walk.offset - head->length) & (WIRE_LENGTH_MAX - 1);
}
