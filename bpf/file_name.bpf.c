// SPDX-License-Identifier: GPL-2.0
/*
 * Files: names that are made, removed and moved. This source sees that a call succeeded, who made
 * it and what it was given; which name it really was, fanotify tells user space, which joins the
 * two.
 */
#include "file.h"
#include "syscalls.h"

#define AT_REMOVEDIR 0x200
#define AT_EMPTY_PATH 0x1000

static __always_inline const char *text(unsigned long argument)
{
	return (const char *)argument;
}

static __always_inline void read_mode(struct name_call *call, __u32 mode)
{
	call->mode = mode & ~bpf_get_current_task_btf()->fs->umask;
}

/* What removes a name, or moves it. */
static __always_inline bool read_removal(struct pt_regs *regs, struct name_call *call)
{
	switch (regs->orig_ax) {
	case __NR_unlink:
		call->operation = FILE_NAME_UNLINK;
		call->requested = text(SYSCALL_ARG1(regs));
		return true;
	case __NR_rmdir:
		call->operation = FILE_NAME_RMDIR;
		call->requested = text(SYSCALL_ARG1(regs));
		return true;
	case __NR_unlinkat:
		call->operation =
			SYSCALL_ARG3(regs) & AT_REMOVEDIR ? FILE_NAME_RMDIR : FILE_NAME_UNLINK;
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		return true;
	case __NR_rename:
		call->operation = FILE_NAME_RENAME;
		call->requested = text(SYSCALL_ARG1(regs));
		call->new_requested = text(SYSCALL_ARG2(regs));
		return true;
	case __NR_renameat2:
		call->flags = SYSCALL_ARG5(regs);
		/* fall through */
	case __NR_renameat:
		call->operation = FILE_NAME_RENAME;
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		call->new_directory = SYSCALL_ARG3(regs);
		call->new_requested = text(SYSCALL_ARG4(regs));
		return true;
	}
	return false;
}

/* What makes another name for something that is there, or a symbolic link; its text is the
 * new_requested. */
static __always_inline bool read_link(struct pt_regs *regs, struct name_call *call)
{
	switch (regs->orig_ax) {
	case __NR_link:
		call->operation = FILE_NAME_LINK;
		call->requested = text(SYSCALL_ARG1(regs));
		call->new_requested = text(SYSCALL_ARG2(regs));
		return true;
	case __NR_linkat:
		call->operation = FILE_NAME_LINK;
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		call->new_directory = SYSCALL_ARG3(regs);
		call->new_requested = text(SYSCALL_ARG4(regs));
		call->flags = SYSCALL_ARG5(regs);
		return true;
	case __NR_symlink:
		call->operation = FILE_NAME_SYMLINK;
		call->new_requested = text(SYSCALL_ARG1(regs));
		call->requested = text(SYSCALL_ARG2(regs));
		return true;
	case __NR_symlinkat:
		call->operation = FILE_NAME_SYMLINK;
		call->new_requested = text(SYSCALL_ARG1(regs));
		call->directory = SYSCALL_ARG2(regs);
		call->requested = text(SYSCALL_ARG3(regs));
		return true;
	}
	return false;
}

/* What makes a directory or a node. */
static __always_inline void read_make(struct pt_regs *regs, struct name_call *call)
{
	switch (regs->orig_ax) {
	case __NR_mkdir:
		call->operation = FILE_NAME_MKDIR;
		call->requested = text(SYSCALL_ARG1(regs));
		read_mode(call, SYSCALL_ARG2(regs));
		return;
	case __NR_mkdirat:
		call->operation = FILE_NAME_MKDIR;
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		read_mode(call, SYSCALL_ARG3(regs));
		return;
	case __NR_mknod:
		call->operation = FILE_NAME_MKNOD;
		call->requested = text(SYSCALL_ARG1(regs));
		read_mode(call, SYSCALL_ARG2(regs));
		return;
	default: /* mknodat */
		call->operation = FILE_NAME_MKNOD;
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		read_mode(call, SYSCALL_ARG3(regs));
	}
}

static __always_inline void read_call(struct pt_regs *regs, struct name_call *call)
{
	__builtin_memset(call, 0, sizeof(*call));
	call->directory = AT_FDCWD;
	call->new_directory = AT_FDCWD;
	if (!read_removal(regs, call) && !read_link(regs, call))
		read_make(regs, call);
}

/* The number of this act among the thread's removals and moves. */
static __always_inline __u32 count_act(__u32 operation)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), first = 1, *acts;

	if (operation > FILE_NAME_RENAME)
		return 0;
	acts = bpf_map_lookup_elem(&name_acts, &tid);
	if (acts)
		return ++*acts;
	bpf_map_update_elem(&name_acts, &tid, &first, BPF_ANY);
	return first;
}

/* linkat with AT_EMPTY_PATH gives a descriptor of the object itself. */
static __always_inline bool is_of_descriptor(const struct name_call *call)
{
	char first = 1;

	if (call->operation != FILE_NAME_LINK || !(call->flags & AT_EMPTY_PATH))
		return false;
	bpf_probe_read_user(&first, sizeof(first), call->requested);
	return first == 0 && call->directory != AT_FDCWD;
}

static __always_inline void put_object(struct wire_file_name *r, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->known = FILE_KNOWN_OBJECT;
}

static __always_inline void put_first_name(struct wire_file_name *r, const struct name_call *call)
{
	struct path *from = requested_from(call->directory, call->requested);
	__u32 length = 0, flags = 0;

	if (is_of_descriptor(call) && file_of_fd(call->directory))
		put_object(r, file_of_fd(call->directory));
	if (from)
		length = path_tail(r, from, PATH_ROOM, &flags);
	EMIT_TAIL(r, directory, length);
	r->directory_flags = flags;
	length = user_tail(r, call->requested);
	EMIT_TAIL(r, requested, length);
}

static __always_inline void put_second_name(struct wire_file_name *r, const struct name_call *call)
{
	bool is_path = call->operation == FILE_NAME_RENAME || call->operation == FILE_NAME_LINK;
	struct path *from = NULL;
	__u32 length = 0, flags = 0;

	if (is_path)
		from = requested_from(call->new_directory, call->new_requested);
	if (from)
		length = path_tail(r, from, PATH_ROOM, &flags);
	EMIT_TAIL(r, new_directory, length);
	r->new_directory_flags = flags;
	length = call->new_requested ? user_tail(r, call->new_requested) : 0;
	EMIT_TAIL(r, new_requested, length);
}

static __always_inline bool is_rename(__u64 call)
{
	return call == __NR_rename || call == __NR_renameat || call == __NR_renameat2;
}

/* unlink, rename, link, symlink, mkdir, mknod and their relatives that take directories. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_name, struct pt_regs *regs, long ret)
{
	struct session_slot *slot;
	struct wire_file_name *r;
	struct file_work *work;
	struct name_call *call;

	if (ret)
		return 0;
	if (is_rename(regs->orig_ax)) /* anybody's: it may change the path of any open file */
		__sync_fetch_and_add(&renames, 1);
	slot = session_of_current();
	work = work_of_cpu();
	if (!slot || !work)
		return 0;
	call = &work->call;
	read_call(regs, call);
	r = EMIT_BEGIN(slot, file_name);
	if (!r) {
		count_act(call->operation);
		return 0;
	}
	r->dev = 0;
	r->ino = 0;
	r->operation = call->operation;
	r->flags = call->flags;
	r->mode = call->mode;
	r->known = 0;
	r->act = count_act(call->operation);
	put_first_name(r, call);
	put_second_name(r, call);
	r->reserved = 0;
	emit_end(slot, r);
	return 0;
}
