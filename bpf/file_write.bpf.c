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
	struct session_slot *slot = session_of_current();

	if (slot)
		account(slot, file_of_fd(fd), bytes, method);
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

/* @opened NULL: the file was closed since it was mapped. */
static __always_inline void emit_mmap(struct session_slot *slot, struct file *opened,
				      const struct mapping *mapping)
{
	struct wire_file_mmap *r = EMIT_BEGIN(slot, file_mmap);
	__u32 length = 0, flags = 0;

	if (!r)
		return;
	r->file_id = mapping->file_id;
	r->dev = mapping->dev;
	r->ino = mapping->ino;
	r->size = mapping->size;
	r->mode = mapping->mode;
	if (opened)
		length = path_tail(r, &opened->f_path, PATH_ROOM, &flags);
	r->path_flags = flags;
	EMIT_TAIL(r, path, length);
	r->reserved = 0;
	emit_end(slot, r);
}

static __always_inline void fill_mapping(struct mapping *mapping, struct file *opened,
					 const struct written_file *entry)
{
	mapping->opened = (__u64)opened;
	mapping->inode = entry->inode;
	mapping->file_id = entry->file_id;
	mapping->dev = entry->dev;
	mapping->ino = entry->ino;
	mapping->size = BPF_CORE_READ(opened, f_inode, i_size);
	mapping->mode = entry->mode;
}

static long find_mapped(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	struct mapping_key *key = context;

	if (vma->vm_flags & VM_SHARED)
		key->mapped = (__u64)vma->vm_file;
	return 0;
}

/* It may become writable. */
static __always_inline void mapped_readable(struct session_slot *slot, struct file *opened,
					    unsigned long address)
{
	struct mapping_key key = {.slot = slot->slot};
	struct file_view *view = view_written(opened);
	struct mapping mapping = {};
	struct written_file *entry = view ? entry_of(slot, view) : NULL;

	bpf_find_vma(bpf_get_current_task_btf(), address, find_mapped, &key, 0);
	if (!entry || !key.mapped)
		return;
	fill_mapping(&mapping, opened, entry);
	bpf_map_update_elem(&mappings, &key, &mapping, BPF_ANY);
}

/* A file is mapped shared: where that is writable, what is written from here on is not seen call by
 * call. MAP_SHARED_VALIDATE has the bit of MAP_SHARED. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_mmap, struct pt_regs *regs, long ret)
{
	struct mapping mapping = {};
	struct written_file *entry;
	struct session_slot *slot;
	struct file *file;

	if ((unsigned long)ret >= -4095ul || (__s32)SYSCALL_ARG5(regs) < 0 ||
	    !(SYSCALL_ARG4(regs) & MAP_SHARED))
		return 0;
	slot = session_of_current();
	if (!slot)
		return 0;
	file = file_of_fd(SYSCALL_ARG5(regs));
	if (!file || !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE))
		return 0;
	if (!(SYSCALL_ARG3(regs) & PROT_WRITE)) {
		mapped_readable(slot, file, ret);
		return 0;
	}
	entry = account(slot, file, 0, FILE_METHOD_mmap);
	if (!entry)
		return 0;
	fill_mapping(&mapping, file, entry);
	emit_mmap(slot, file, &mapping);
	return 0;
}

static long find_writable(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	struct mapping_key *key = context;

	if ((vma->vm_flags & (VM_SHARED | VM_WRITE)) == (VM_SHARED | VM_WRITE))
		key->mapped = (__u64)vma->vm_file;
	return 0;
}

/*
 * A shared mapping became writable afterwards. Best effort: the area at the first address counts,
 * and while another thread changes the address space there is no look-up (-EBUSY).
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_mprotect, struct pt_regs *regs, long ret)
{
	struct mapping_key key = {};
	struct written_key opened = {};
	struct written_file *entry;
	struct session_slot *slot;
	struct mapping *mapping;

	if (ret || !(SYSCALL_ARG3(regs) & PROT_WRITE))
		return 0;
	slot = session_of_current();
	if (!slot)
		return 0;
	key.slot = opened.slot = slot->slot;
	bpf_find_vma(bpf_get_current_task_btf(), SYSCALL_ARG1(regs), find_writable, &key, 0);
	mapping = key.mapped ? bpf_map_lookup_elem(&mappings, &key) : NULL;
	if (!mapping)
		return 0;
	opened.file = mapping->opened;
	entry = bpf_map_lookup_elem(&written_files, &opened);
	if (entry && entry->file_id != mapping->file_id)
		entry = NULL;
	if (entry)
		add_to_entry(slot, entry, 0, FILE_METHOD_mmap);
	emit_mmap(slot, entry ? (struct file *)opened.file : NULL, mapping);
	return 0;
}
