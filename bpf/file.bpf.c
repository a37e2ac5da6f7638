// SPDX-License-Identifier: GPL-2.0
/*
 * Files: what is opened.
 */
#include "path.h"
#include "syscalls.h"

#define FMODE_WRITE 0x2
#define FMODE_CREATED 0x100000

/* The file behind descriptor @fd of the current task, from its own table. */
static __always_inline struct file *file_of_fd(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

/* A file was opened. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_open, struct pt_regs *regs, long ret)
{
	struct wire_file_open *r;
	struct session_slot *slot;
	struct file *file;
	struct inode *inode;
	__u32 length, flags = 0;

	if (ret < 0)
		return 0;
	slot = session_of_current();
	if (!slot)
		return 0;
	file = file_of_fd(ret);
	if (!file || !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE))
		return 0;
	r = EMIT_BEGIN(slot, file_open);
	if (!r)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	r->file_id = 0;
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->size = BPF_CORE_READ(inode, i_size);
	r->flags = BPF_CORE_READ(file, f_flags);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->created = BPF_CORE_READ(file, f_mode) & FMODE_CREATED;
	length = path_tail(r, &file->f_path, 16384, &flags);
	EMIT_TAIL(r, path, length);
	r->path_flags = flags;
	r->requested_length = 0;
	emit_end(slot, r);
	return 0;
}
