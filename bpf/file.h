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

/* ---- one look at a file ---- */

/* A field of what was copied; should a kernel have it farther behind, it is read by itself. */
#define COPIED(copy, pointer, field)                                                               \
	(bpf_core_field_offset(pointer->field) + sizeof((pointer)->field) <= sizeof(copy)          \
		 ? ((typeof(pointer))(copy))->field                                                \
		 : BPF_CORE_READ(pointer, field))
#define OF_FILE(v, field) COPIED((v)->file_copy, (v)->file, field)
#define OF_INODE(v, field) COPIED((v)->inode_copy, (v)->inode, field)

/* NULL: there is no such file. The view is the CPU's only one. */
static __always_inline struct file_view *view_file(struct file *file)
{
	struct file_work *work = work_of_cpu();
	__u32 size = bpf_core_type_size(struct file);
	struct file_view *view;

	if (!work || !file)
		return NULL;
	view = &work->view;
	view->file = file;
	if (bpf_probe_read_kernel(view->file_copy, size > FILE_COPY ? FILE_COPY : size, file))
		return NULL;
	view->inode = NULL;
	return view;
}

/* The same with the beginning of its inode. */
static __always_inline bool view_inode(struct file_view *view)
{
	struct file *file = view->file;
	struct inode *inode = COPIED(view->file_copy, file, f_inode);

	view->inode = inode;
	return bpf_probe_read_kernel(view->inode_copy, INODE_COPY, inode) == 0;
}

/* References to the file; not positive when it is gone. */
static __always_inline long file_references(const struct file_view *view)
{
	struct file *file = view->file;
	struct file___ref *since_6_13 = (void *)file;

	if (bpf_core_field_exists(file->f_count))
		return COPIED(view->file_copy, file, f_count.counter);
	return COPIED(view->file_copy, since_6_13, f_ref.refcnt.counter) + 1;
}

static __always_inline bool is_internal(const struct file_view *view)
{
	struct vfsmount *mnt = OF_FILE(view, f_path.mnt);

	return BPF_CORE_READ(mnt, mnt_flags) & MNT_INTERNAL;
}

static __always_inline bool is_unnamed(const struct file_view *view)
{
	struct dentry *dentry = OF_FILE(view, f_path.dentry);

	return !BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry;
}

static __always_inline bool is_regular(const struct file_view *view)
{
	return (OF_INODE(view, i_mode) & S_IFMT) == S_IFREG;
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

/* @view NULL: the file is gone already, and the entry is all that is known. */
static __noinline int emit_modify(struct session_slot *slot, struct file_view *view,
				  struct written_file *entry)
{
	__u32 length = 0, index = slot->slot, flags = 0;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);
	struct wire_file_modify *r = EMIT_BEGIN(slot, file_modify);
	bool is_there = view && view_inode(view);

	if (!r)
		return 0;
	r->file_id = entry->file_id;
	r->dev = entry->dev;
	r->ino = entry->ino;
	r->size = is_there ? OF_INODE(view, i_size) : entry->size;
	r->bytes_written = entry->bytes;
	r->methods = entry->methods;
	r->writers = entry->writers;
	r->mode = entry->mode;
	if (is_there && !path_is_remembered(entry, counts))
		length = path_tail(r, &view->file->f_path, PATH_ROOM, &flags);
	else if (is_there && is_unnamed(view))
		flags = PATH_DELETED;
	r->path_flags = flags;
	EMIT_TAIL(r, path, length);
	r->reserved = 0;
	emit_end(slot, r);
	return 0;
}

/* The description ends: report what was written through it, forget it. */
static __noinline __attribute__((unused)) int end_entry(struct session_slot *slot,
							struct file_view *view,
							struct written_key *key,
							struct written_file *entry)
{
	__u32 index = key->slot;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);

	if (entry->methods)
		emit_modify(slot, view, entry);
	if (bpf_map_delete_elem(&written_files, key) == 0 && counts)
		__sync_fetch_and_add(&counts->live, -1);
	return 0;
}

/* Is the struct file of this entry another one by now, or none? */
static __always_inline bool entry_is_stale(const struct file_view *view,
					   const struct written_file *entry)
{
	return !view || file_references(view) <= 0 || (__u64)OF_FILE(view, f_inode) != entry->inode;
}

/* ---- its beginning ---- */

/* How a file came to be known. */
struct opening {
	struct path *directory; /* NULL: not known */
	const char *requested;	/* of user space; NULL: not known */
	__u32 flags;
	__u32 state; /* enum file_open_state */
};

static __always_inline __u32 dev_of(const struct file_view *view)
{
	struct super_block *sb = OF_INODE(view, i_sb);

	return BPF_CORE_READ(sb, s_dev);
}

static __always_inline void put_opened(struct wire_file_open *r, const struct file_view *view)
{
	r->dev = view ? dev_of(view) : 0;
	r->ino = view ? OF_INODE(view, i_ino) : 0;
	r->size = view ? OF_INODE(view, i_size) : 0;
	r->mode = view ? OF_INODE(view, i_mode) : 0;
}

/* @view NULL: the descriptor led to another file when the call returned. Returns the length of the
 * path that was sent. */
static __noinline __attribute__((unused)) __u32
emit_open(struct session_slot *slot, struct file_view *view, __u64 file_id, struct opening *opening)
{
	struct wire_file_open *r = EMIT_BEGIN(slot, file_open);
	__u32 length = 0, flags = 0, path_length;

	if (!r)
		return 0;
	r->file_id = file_id;
	put_opened(r, view);
	r->flags = opening->flags;
	r->state = opening->state;
	if (view)
		length = path_tail(r, &view->file->f_path, PATH_ROOM, &flags);
	EMIT_TAIL(r, path, length);
	r->path_flags = flags;
	path_length = length;

	length = 0;
	flags = 0;
	if (!view && opening->directory)
		length = path_tail(r, opening->directory, PATH_ROOM, &flags);
	EMIT_TAIL(r, directory, length);
	r->directory_flags = flags;

	length = opening->requested ? user_tail(r, opening->requested) : 0;
	EMIT_TAIL(r, requested, length);
	return emit_end(slot, r) == 0 ? path_length : 0;
}

static __always_inline struct written_key key_of(const struct session_slot *slot, struct file *file)
{
	return (struct written_key){.file = (__u64)file, .slot = slot->slot};
}

/* What is known of the file in view before its record is out; NULL: the session has too many. */
static __always_inline struct written_file *fresh_entry(struct file_counts *counts,
							const struct file_view *view)
{
	struct file_work *work = work_of_cpu();
	struct written_file *fresh;

	if (!work || !counts || counts->live >= WRITTEN_FILES_OF_SESSION)
		return NULL;
	fresh = &work->fresh;
	__builtin_memset(fresh, 0, sizeof(*fresh));
	fresh->file_id = __sync_fetch_and_add(&counts->opens, 1) + 1;
	fresh->renames = ~0ull;
	fresh->inode = (__u64)view->inode;
	fresh->dev = dev_of(view);
	fresh->ino = OF_INODE(view, i_ino);
	fresh->size = OF_INODE(view, i_size);
	fresh->mode = OF_INODE(view, i_mode);
	return fresh;
}

static __always_inline bool keep_entry(struct session_slot *slot, struct file_counts *counts,
				       const struct written_key *key,
				       const struct written_file *fresh)
{
	if (!counts || !fresh || bpf_map_update_elem(&written_files, key, fresh, BPF_ANY)) {
		count_loss(slot, WIRE_CLASS_file, LOSS_MAP_FULL);
		return false;
	}
	__sync_fetch_and_add(&counts->live, 1);
	return true;
}

/* A description that may be written to begins: its record, then its entry. false: no entry. */
static __noinline __attribute__((unused)) bool begin_entry(struct session_slot *slot,
							   struct file_view *view,
							   struct opening *opening, __u32 methods)
{
	struct written_key key = key_of(slot, view->file);
	__u32 index = slot->slot, length;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);
	struct written_file *fresh = fresh_entry(counts, view);
	__u64 known_renames = renames;

	length = emit_open(slot, view, fresh ? fresh->file_id : 0, opening);
	if (fresh && length > 0 && length <= REMEMBERED_PATH_MAX)
		fresh->renames = known_renames;
	if (fresh)
		fresh->methods = methods;
	return keep_entry(slot, counts, &key, fresh);
}

/* A description is met that nobody saw beginning: the entry first, so that there is one record of
 * it and not one of each call where there is no room. */
static __noinline __attribute__((unused)) bool
begin_late_entry(struct session_slot *slot, struct file_view *view, struct opening *opening)
{
	struct written_key key = key_of(slot, view->file);
	__u32 index = slot->slot;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);
	struct written_file *fresh = fresh_entry(counts, view);

	if (!keep_entry(slot, counts, &key, fresh) || !fresh)
		return false;
	emit_open(slot, view, fresh->file_id, opening);
	return true;
}
