// SPDX-License-Identifier: GPL-2.0
/*
 * Files: what is opened. The path comes from the kernel's own file object, once per open file.
 */
#include "file.h"
#include "syscalls.h"

/* ---- which reads may be watched ---- */

#define TOP(a, b, c, d, e, f)                                                                      \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40)

/* Where programs and kernel interfaces lie: reads below are too many to look at each, and are
 * watched only where the session's policy names them (SESSION_READS_EVERYWHERE). */
static __always_inline bool is_unwatched_top(__u64 name)
{
	switch (name) {
	case TOP('u', 's', 'r', 0, 0, 0):
	case TOP('l', 'i', 'b', 0, 0, 0):
	case TOP('l', 'i', 'b', '3', '2', 0):
	case TOP('l', 'i', 'b', '6', '4', 0):
	case TOP('l', 'i', 'b', 'x', '3', '2'):
	case TOP('b', 'i', 'n', 0, 0, 0):
	case TOP('s', 'b', 'i', 'n', 0, 0):
	case TOP('p', 'r', 'o', 'c', 0, 0):
	case TOP('s', 'y', 's', 0, 0, 0):
	case TOP('d', 'e', 'v', 0, 0, 0):
		return true;
	}
	return false;
}

static long top_step(__u32 index, void *context)
{
	struct file_work *w = work_of_cpu();
	struct dentry *dentry, *parent;

	if (!w)
		return 1;
	dentry = w->dentry;
	if (dentry == w->root) {
		struct mount *mount = w->mount, *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount)
			return 1;
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = above;
		w->root = BPF_CORE_READ(above, mnt.mnt_root);
		return 0;
	}
	parent = BPF_CORE_READ(dentry, d_parent);
	if (parent == dentry)
		return 1;
	w->top = (__u64)dentry;
	w->dentry = parent;
	return 0;
}

static __always_inline bool may_be_watched(const struct file_view *view)
{
	struct vfsmount *mnt = OF_FILE(view, f_path.mnt);
	struct file_work *w = work_of_cpu();
	struct dentry *top;
	__u64 name = 0;

	if (!w)
		return true;
	w->dentry = OF_FILE(view, f_path.dentry);
	w->root = BPF_CORE_READ(mnt, mnt_root);
	w->mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	w->top = 0;
	bpf_loop(PATH_STEPS, top_step, NULL, 0);
	top = (struct dentry *)w->top;
	if (!top || BPF_CORE_READ(top, d_name.len) >= sizeof(name))
		return true;
	bpf_probe_read_kernel_str(&name, sizeof(name), BPF_CORE_READ(top, d_name.name));
	return !is_unwatched_top(name);
}

/* ---- the open itself ---- */

/* What the caller asked for, by call; struct open_how begins with the flags. */
static __always_inline void read_call(struct pt_regs *regs, struct name_call *call)
{
	__u64 flags = 0;

	call->directory = AT_FDCWD;
	switch (regs->orig_ax) {
	case __NR_creat:
		call->requested = (const char *)SYSCALL_ARG1(regs);
		call->flags = 1 | O_CREAT | O_TRUNC;
		return;
	case __NR_open:
		call->requested = (const char *)SYSCALL_ARG1(regs);
		call->flags = SYSCALL_ARG2(regs);
		return;
	case __NR_openat:
		call->directory = SYSCALL_ARG1(regs);
		call->requested = (const char *)SYSCALL_ARG2(regs);
		call->flags = SYSCALL_ARG3(regs);
		return;
	case __NR_openat2:
		bpf_probe_read_user(&flags, sizeof(flags), (const void *)SYSCALL_ARG3(regs));
		call->directory = SYSCALL_ARG1(regs);
		call->requested = (const char *)SYSCALL_ARG2(regs);
		call->flags = flags;
		return;
	default: /* open_by_handle_at */
		call->requested = NULL;
		call->flags = SYSCALL_ARG3(regs);
	}
}

/* Another thread gave the descriptor to another file meanwhile: then what the caller passed is all
 * that is known of the one that was opened. */
static __always_inline void emit_unseen(struct session_slot *slot, const struct name_call *call)
{
	struct opening opening = {
		.directory = requested_from(call->directory, call->requested),
		.requested = call->requested,
		.flags = call->flags,
		.state = FILE_OPEN_UNSEEN | (call->flags & O_CREAT ? FILE_OPEN_CREATED : 0),
	};

	emit_open(slot, NULL, 0, &opening);
}

/* An open for reading that cuts the file to nothing has no write to wait for. */
static __always_inline void truncated_for_reading(struct session_slot *slot, struct file_view *view)
{
	struct written_key key = key_of(slot, view->file);
	struct written_file *entry = bpf_map_lookup_elem(&written_files, &key);

	if (entry)
		end_entry(slot, view, &key, entry);
}

static __always_inline void opened_for_writing(struct session_slot *slot, struct file_view *view,
					       struct opening *opening)
{
	bool truncates = opening->flags & O_TRUNC && !(opening->state & FILE_OPEN_CREATED);
	struct written_key key = key_of(slot, view->file);
	__u32 type = OF_INODE(view, i_mode) & S_IFMT;
	struct written_file *entry;

	if (type != S_IFREG) {
		if (type == S_IFIFO || type == S_IFBLK)
			emit_open(slot, view, 0, opening);
		return;
	}
	entry = bpf_map_lookup_elem(&written_files, &key);
	if (entry) /* of a file whose end was not seen and whose memory this one has */
		end_entry(slot, NULL, &key, entry);
	if (begin_entry(slot, view, opening, truncates ? FILE_METHOD_truncate : 0) &&
	    !(OF_FILE(view, f_mode) & FMODE_WRITE))
		truncated_for_reading(slot, view);
}

static __always_inline bool is_recorded_read(const struct session_slot *slot,
					     const struct file_view *view)
{
	return is_regular(view) && (slot->flags & SESSION_READS_EVERYWHERE || may_be_watched(view));
}

static __always_inline void opened(struct session_slot *slot, struct file_view *view,
				   const struct name_call *call)
{
	struct opening opening = {.requested = call->requested};
	__u32 mode = OF_FILE(view, f_mode);

	if (!view_inode(view) || is_internal(view))
		return;
	opening.flags = OF_FILE(view, f_flags) | (call->flags & O_AT_OPEN);
	if (mode & FMODE_CREATED || opening.flags & O_TMPFILE_BIT)
		opening.state = FILE_OPEN_CREATED;

	if (mode & FMODE_WRITE || (opening.flags & O_TRUNC && is_regular(view)))
		opened_for_writing(slot, view, &opening);
	else if (opening.state & FILE_OPEN_CREATED || is_recorded_read(slot, view))
		emit_open(slot, view, 0, &opening);
}

/* A file was opened. Its object is taken from the caller's table when the call returns. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_open, struct pt_regs *regs, long ret)
{
	struct session_slot *slot;
	struct file_view *view;
	struct file_work *work;

	if (ret < 0)
		return 0;
	slot = session_of_current();
	work = work_of_cpu();
	if (!slot || !work)
		return 0;
	read_call(regs, &work->call);
	view = view_file(file_of_fd(ret));
	if (view && OF_FILE(view, f_mode) & FMODE_PATH)
		return 0;
	if (view && (OF_FILE(view, f_flags) & O_ACCMODE) == (work->call.flags & O_ACCMODE))
		opened(slot, view, &work->call);
	else if (work->call.flags & (O_ACCMODE | O_CREAT | O_TRUNC))
		emit_unseen(slot, &work->call);
	return 0;
}
