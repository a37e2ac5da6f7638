/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open files: how they are found, told apart, remembered while they may be written to, and
 * reported when their last reference goes.
 *
 * Recorded are regular files and, as far as they are opened for writing, fifos and block devices.
 * Character devices (/dev/null, terminals), sockets and pipes are left out before a number is
 * taken: what goes through them is output or network. So are files of the kernel's own mounts
 * (memfd, SysV shared memory): they are memory without a name; an exec of one is recorded.
 */
#pragma once

#include "descriptor.h"
#include "file_maps.h"
#include "path.h"

#define FMODE_READ 0x1
#define FMODE_WRITE 0x2
#define FMODE_PATH 0x4000
#define FMODE_CREATED 0x100000
#define MNT_INTERNAL 0x4000

#define S_IFIFO 0010000
#define S_IFDIR 0040000
#define S_IFBLK 0060000

#define AT_FDCWD (-100)
#define O_ACCMODE 3
#define O_CREAT 00000100
#define O_TRUNC 00001000
#define O_CLOEXEC 02000000
#define O_TMPFILE_BIT 020000000
/* Flags that a file forgets when it is open. */
#define O_AT_OPEN 01700

#define PATH_ROOM 16384
#define REQUESTED_ROOM 4096

static __always_inline struct file_work *work_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&file_work, &zero);
}

/* References to @file; not positive when it is gone. */
static __always_inline long file_references(struct file *file)
{
	struct file___ref *since_6_13 = (void *)file;

	if (bpf_core_field_exists(file->f_count))
		return BPF_CORE_READ(file, f_count.counter);
	return BPF_CORE_READ(since_6_13, f_ref.refcnt.counter) + 1;
}

static __always_inline bool is_internal(struct file *file)
{
	return BPF_CORE_READ(file, f_path.mnt, mnt_flags) & MNT_INTERNAL;
}

static __always_inline bool is_unnamed(struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

	return !BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry;
}

/* The directory from which a name leads on that a call was given; NULL: the name leads nowhere. */
static __always_inline struct path *requested_from(__s32 directory, const char *requested)
{
	struct fs_struct *fs = bpf_get_current_task_btf()->fs;
	struct file *file;
	char first = 0;

	bpf_probe_read_user(&first, sizeof(first), requested);
	if (first == '/')
		return &fs->root;
	if (directory == AT_FDCWD)
		return &fs->pwd;
	file = file_of_fd(directory);
	return file ? &file->f_path : NULL;
}

/* Read @text of the caller's memory as the next tail of @record; its length, without the NUL. */
static __always_inline __u32 user_tail(void *record, const char *text)
{
	long length = bpf_probe_read_user_str(emit_tail_room(record), REQUESTED_ROOM, text);

	return length > 0 ? (length - 1) & (REQUESTED_ROOM - 1) : 0;
}

/* ---- the end of a description ---- */

/* Opens whose ids are given while a record is on its way to the ring: a CPU each. */
#define OPENS_UNDER_WAY 512

/* Does user space still know the path of this entry, and is it still true? */
static __always_inline bool path_is_remembered(const struct written_file *entry,
					       const struct file_counts *counts)
{
	return entry->renames == renames && counts &&
	       counts->opens - entry->file_id < REMEMBERED_OPENS - OPENS_UNDER_WAY;
}

/* @file NULL: it is gone already, and the entry is all that is known. */
static __noinline int emit_modify(struct session_slot *slot, struct file *file,
				  struct written_file *entry)
{
	__u32 length = 0, index = slot->slot, flags = 0;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);
	struct wire_file_modify *r = EMIT_BEGIN(slot, file_modify);

	if (!r)
		return 0;
	r->file_id = entry->file_id;
	r->dev = entry->dev;
	r->ino = entry->ino;
	r->size = file ? BPF_CORE_READ(file, f_inode, i_size) : entry->size;
	r->bytes_written = entry->bytes;
	r->methods = entry->methods;
	r->writers = entry->writers;
	r->mode = entry->mode;
	if (file && !path_is_remembered(entry, counts))
		length = path_tail(r, &file->f_path, PATH_ROOM, &flags);
	else if (file && is_unnamed(file))
		flags = PATH_DELETED;
	r->path_flags = flags;
	EMIT_TAIL(r, path, length);
	r->reserved = 0;
	emit_end(slot, r);
	return 0;
}

/* The description ends: report what was written through it, forget it. */
static __noinline __attribute__((unused)) int end_entry(struct session_slot *slot,
							struct file *file, struct written_key *key,
							struct written_file *entry)
{
	__u32 index = key->slot;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);

	if (entry->methods)
		emit_modify(slot, file, entry);
	if (bpf_map_delete_elem(&written_files, key) == 0 && counts)
		__sync_fetch_and_add(&counts->live, -1);
	return 0;
}

/* Is the struct file of this entry another one by now, or none? */
static __always_inline bool entry_is_stale(struct file *file, const struct written_file *entry)
{
	return file_references(file) <= 0 || (__u64)BPF_CORE_READ(file, f_inode) != entry->inode;
}

/* ---- its beginning ---- */

/* How a file came to be known. */
struct opening {
	struct path *directory; /* NULL: not known */
	const char *requested;	/* of user space; NULL: not known */
	__u32 flags;
	__u32 state; /* enum file_open_state */
};

/* @file NULL: the descriptor led to another file when the call returned. Returns the length of the
 * path that was sent. */
static __always_inline __u32 emit_open(struct session_slot *slot, struct file *file, __u64 file_id,
				       const struct opening *opening)
{
	struct wire_file_open *r = EMIT_BEGIN(slot, file_open);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	__u32 length = 0, flags = 0, path_length;

	if (!r)
		return 0;
	r->file_id = file_id;
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->size = BPF_CORE_READ(inode, i_size);
	r->flags = opening->flags;
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->state = opening->state;
	if (file)
		length = path_tail(r, &file->f_path, PATH_ROOM, &flags);
	EMIT_TAIL(r, path, length);
	r->path_flags = flags;
	path_length = length;

	length = 0;
	flags = 0;
	if (!file && opening->directory)
		length = path_tail(r, opening->directory, PATH_ROOM, &flags);
	EMIT_TAIL(r, directory, length);
	r->directory_flags = flags;

	length = opening->requested ? user_tail(r, opening->requested) : 0;
	EMIT_TAIL(r, requested, length);
	return emit_end(slot, r) == 0 ? path_length : 0;
}

static __always_inline __u64 new_file_id(const struct session_slot *slot)
{
	__u32 index = slot->slot;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);

	return counts ? __sync_fetch_and_add(&counts->opens, 1) + 1 : 0;
}

static __always_inline struct written_key key_of(const struct session_slot *slot, struct file *file)
{
	return (struct written_key){.file = (__u64)file, .slot = slot->slot};
}

/* Remember a description that may be written to; its record is out already. */
static __always_inline struct written_file *remember(struct session_slot *slot, struct file *file,
						     __u64 file_id, __u64 known_renames)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct written_key key = key_of(slot, file);
	struct file_work *work = work_of_cpu();
	struct written_file *fresh;
	struct file_counts *counts;
	__u32 index = slot->slot;

	if (!work)
		return NULL;
	fresh = &work->fresh;
	__builtin_memset(fresh, 0, sizeof(*fresh));
	fresh->file_id = file_id;
	fresh->inode = (__u64)inode;
	fresh->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	fresh->ino = BPF_CORE_READ(inode, i_ino);
	fresh->size = BPF_CORE_READ(inode, i_size);
	fresh->mode = BPF_CORE_READ(inode, i_mode);
	fresh->renames = known_renames;
	if (bpf_map_update_elem(&written_files, &key, fresh, BPF_ANY)) {
		count_loss(slot, WIRE_CLASS_file, LOSS_MAP_FULL);
		return NULL;
	}
	counts = bpf_map_lookup_elem(&file_counts, &index);
	if (counts)
		__sync_fetch_and_add(&counts->live, 1);
	return bpf_map_lookup_elem(&written_files, &key);
}

/* A description that may be written to begins, or is met for the first time. */
static __noinline __attribute__((unused)) struct written_file *
begin_entry(struct session_slot *slot, struct file *file, struct opening *opening)
{
	__u64 file_id = new_file_id(slot), known_renames = renames;
	__u32 length = emit_open(slot, file, file_id, opening);

	if (length == 0 || length > REMEMBERED_PATH_MAX)
		known_renames = ~0ull;
	return remember(slot, file, file_id, known_renames);
}
