/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How what a call wrote is added to the entry of the open file description.
 */
#pragma once

#include "file.h"

/* Count the current process among those that wrote. */
static __always_inline void note_writer(struct session_slot *slot, struct written_file *entry)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader = task->group_leader;
	struct writer_key key = {.file_id = entry->file_id, .slot = slot->slot};
	__u32 pid = task->tgid;
	__u8 seen = 1;

	if (entry->pid == pid)
		return;
	entry->pid = pid;
	entry->ns_pid = ns_pid_of(slot, leader);
	entry->start_ns = leader->start_boottime;
	entry->cgroup = bpf_get_current_ancestor_cgroup_id(session_level + 1);
	for (int i = 0; i < WRITERS_LISTED; i++) {
		__u32 before = __sync_val_compare_and_swap(&entry->writer[i], 0, pid);

		if (before == 0)
			__sync_fetch_and_add(&entry->writers, 1);
		if (before == 0 || before == pid)
			return;
	}
	key.pid = pid;
	if (bpf_map_update_elem(&more_writers, &key, &seen, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&entry->writers, 1);
}

/* The entry of the file in view, made now if the file was opened where nobody looked. */
static __noinline __attribute__((unused)) struct written_file *entry_of(struct session_slot *slot,
									struct file_view *view)
{
	struct opening opening = {.state = FILE_OPEN_LATE};
	struct written_key key = key_of(slot, view->file);
	struct written_file *entry = bpf_map_lookup_elem(&written_files, &key);

	if (entry && entry->inode == (__u64)view->inode)
		return entry;
	if (entry)
		end_entry(slot, NULL, &key, entry);
	view = view_file(view->file);
	if (!view || !view_inode(view) || is_internal(view))
		return NULL;
	opening.flags = OF_FILE(view, f_flags);
	if (!begin_late_entry(slot, view, &opening))
		return NULL;
	return bpf_map_lookup_elem(&written_files, &key);
}

/* @bytes: 0 where the call does not say how many. */
static __always_inline void add_to_entry(struct session_slot *slot, struct written_file *entry,
					 __u64 bytes, __u32 method)
{
	if (bytes)
		__sync_fetch_and_add(&entry->bytes, bytes);
	if (!(entry->methods & method))
		__sync_fetch_and_or(&entry->methods, method);
	note_writer(slot, entry);
}

/* Only what a write needs of a file: its inode. NULL: none, or none that is recorded. */
static __always_inline struct file_view *view_written(struct file *file)
{
	struct file_work *work = work_of_cpu();
	struct file_view *view;

	if (!work || !file)
		return NULL;
	view = &work->view;
	view->file = file;
	view->inode = BPF_CORE_READ(file, f_inode);
	if (bpf_probe_read_kernel(view->inode_copy, INODE_COPY, view->inode))
		return NULL;
	return is_regular(view) ? view : NULL;
}

/* Something was written through @file. NULL: it is none that is recorded. */
static __always_inline struct written_file *account(struct session_slot *slot, struct file *file,
						    __u64 bytes, __u32 method)
{
	struct file_view *view = view_written(file);
	struct written_file *entry = view ? entry_of(slot, view) : NULL;

	if (!entry)
		return NULL;
	add_to_entry(slot, entry, bytes, method);
	entry->size = OF_INODE(view, i_size);
	return entry;
}
