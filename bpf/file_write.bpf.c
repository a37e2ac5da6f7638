// SPDX-License-Identifier: GPL-2.0
/*
 * Files: what is written through an open file. Each call adds to the entry of the open file
 * description; the record is made when the description ends (file_close.bpf.c).
 */
#include "file_account.h"
#include "syscalls.h"

#define PROT_WRITE 2
#define MAP_SHARED 1
#define VM_WRITE 2
#define VM_SHARED 8

static __always_inline void account_call(__u32 fd, long bytes, __u32 method)
{
	struct written_file *entry;
	struct session_slot *slot;
	struct file *file;

	slot = session_of_current();
	if (!slot)
		return;
	file = file_of_fd(fd);
	entry = account(slot, file, bytes, method);
	if (entry)
		entry->size = BPF_CORE_READ(file, f_inode, i_size);
}

/* write, pwrite64, writev, pwritev, pwritev2, sendfile: the result is the number of bytes. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_write, struct pt_regs *regs, long ret)
{
	bool is_sendfile = regs->orig_ax == __NR_sendfile;

	if (ret > 0)
		account_call(SYSCALL_ARG1(regs), ret,
			     is_sendfile ? FILE_METHOD_sendfile : FILE_METHOD_write);
	return 0;
}

/* splice, copy_file_range: the file written to is the third argument. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_splice, struct pt_regs *regs, long ret)
{
	bool is_splice = regs->orig_ax == __NR_splice;

	if (ret > 0)
		account_call(SYSCALL_ARG3(regs), ret,
			     is_splice ? FILE_METHOD_splice : FILE_METHOD_copy_file_range);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_fallocate, struct pt_regs *regs, long ret)
{
	if (ret == 0)
		account_call(SYSCALL_ARG1(regs), 0, FILE_METHOD_fallocate);
	return 0;
}

/* ---- mappings ---- */

static __always_inline void mapped(struct session_slot *slot, struct file *file)
{
	struct written_file *entry = account(slot, file, 0, FILE_METHOD_mmap);
	struct wire_file_mmap *r;
	__u32 length, flags = 0;

	if (!entry)
		return;
	r = EMIT_BEGIN(slot, file_mmap);
	if (!r)
		return;
	r->file_id = entry->file_id;
	r->dev = entry->dev;
	r->ino = entry->ino;
	r->size = BPF_CORE_READ(file, f_inode, i_size);
	r->mode = entry->mode;
	length = path_tail(r, &file->f_path, PATH_ROOM, &flags);
	r->path_flags = flags;
	EMIT_TAIL(r, path, length);
	r->reserved = 0;
	emit_end(slot, r);
}

/* A file is mapped shared and writable: from here on what is written to it is not seen call by
 * call. MAP_SHARED_VALIDATE has the bit of MAP_SHARED. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_mmap, struct pt_regs *regs, long ret)
{
	struct session_slot *slot;
	struct file *file;

	if ((unsigned long)ret >= -4095ul || (__s32)SYSCALL_ARG5(regs) < 0 ||
	    !(SYSCALL_ARG4(regs) & MAP_SHARED) || !(SYSCALL_ARG3(regs) & PROT_WRITE))
		return 0;
	slot = session_of_current();
	if (!slot)
		return 0;
	file = file_of_fd(SYSCALL_ARG5(regs));
	if (file && BPF_CORE_READ(file, f_mode) & FMODE_WRITE)
		mapped(slot, file);
	return 0;
}

static long find_mapped_file(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	struct file **file = context;

	if ((vma->vm_flags & (VM_SHARED | VM_WRITE)) == (VM_SHARED | VM_WRITE))
		*file = vma->vm_file;
	return 0;
}

/*
 * A shared mapping became writable afterwards. Best effort: the area at the first address counts,
 * and while another thread changes the address space there is no look-up (-EBUSY).
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_mprotect, struct pt_regs *regs, long ret)
{
	struct session_slot *slot;
	struct file *file = NULL;

	if (ret || !(SYSCALL_ARG3(regs) & PROT_WRITE))
		return 0;
	slot = session_of_current();
	if (!slot)
		return 0;
	bpf_find_vma(bpf_get_current_task_btf(), SYSCALL_ARG1(regs), find_mapped_file, &file, 0);
	if (file)
		mapped(slot, file);
	return 0;
}
