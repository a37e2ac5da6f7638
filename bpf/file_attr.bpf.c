// SPDX-License-Identifier: GPL-2.0
/*
 * Files: attributes and sizes that are set. Calls that have a descriptor give the kernel's own
 * path; of the others fanotify tells user space the name.
 */
#include "file_account.h"
#include "syscalls.h"

#define AT_EMPTY_PATH 0x1000
#define AT_SYMLINK_NOFOLLOW 0x100
#define MODE_BITS 07777

#define FICLONE 0x40049409
#define FICLONERANGE 0x4020940d
#define FS_IOC_SETFLAGS 0x40086602
#define FS_IOC_FSSETXATTR 0x401c5820

static __always_inline const char *text(unsigned long argument)
{
	return (const char *)argument;
}

/* chmod, fchmod, fchmodat, fchmodat2 */
static __always_inline bool read_chmod(struct pt_regs *regs, struct name_call *call)
{
	call->operation = FILE_ATTR_MODE;
	switch (regs->orig_ax) {
	case __NR_chmod:
		call->requested = text(SYSCALL_ARG1(regs));
		call->mode = SYSCALL_ARG2(regs);
		return true;
	case __NR_fchmod:
		call->directory = SYSCALL_ARG1(regs);
		call->mode = SYSCALL_ARG2(regs);
		return true;
	case __NR_fchmodat2:
		call->flags = SYSCALL_ARG4(regs);
		/* fall through */
	case __NR_fchmodat:
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		call->mode = SYSCALL_ARG3(regs);
		return true;
	}
	return false;
}

static __always_inline bool read_chown(struct pt_regs *regs, struct name_call *call)
{
	call->operation = FILE_ATTR_OWNER;
	switch (regs->orig_ax) {
	case __NR_lchown:
		call->flags = AT_SYMLINK_NOFOLLOW;
		/* fall through */
	case __NR_chown:
		call->requested = text(SYSCALL_ARG1(regs));
		call->uid = SYSCALL_ARG2(regs);
		call->gid = SYSCALL_ARG3(regs);
		return true;
	case __NR_fchown:
		call->directory = SYSCALL_ARG1(regs);
		call->uid = SYSCALL_ARG2(regs);
		call->gid = SYSCALL_ARG3(regs);
		return true;
	case __NR_fchownat:
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		call->uid = SYSCALL_ARG3(regs);
		call->gid = SYSCALL_ARG4(regs);
		call->flags = SYSCALL_ARG5(regs);
		return true;
	}
	return false;
}

static __always_inline bool read_xattr(struct pt_regs *regs, struct name_call *call)
{
	call->operation = FILE_ATTR_XATTR;
	switch (regs->orig_ax) {
	case __NR_lremovexattr:
	case __NR_lsetxattr:
		call->flags = AT_SYMLINK_NOFOLLOW;
		/* fall through */
	case __NR_removexattr:
	case __NR_setxattr:
		call->requested = text(SYSCALL_ARG1(regs));
		call->xattr = text(SYSCALL_ARG2(regs));
		return true;
	case __NR_fremovexattr:
	case __NR_fsetxattr:
		call->directory = SYSCALL_ARG1(regs);
		call->xattr = text(SYSCALL_ARG2(regs));
		return true;
	case __NR_removexattrat:
	case __NR_setxattrat:
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		call->flags = SYSCALL_ARG3(regs);
		call->xattr = text(SYSCALL_ARG4(regs));
		return true;
	}
	return false;
}

static __always_inline bool removes_xattr(__u64 call)
{
	return call == __NR_removexattr || call == __NR_lremovexattr || call == __NR_fremovexattr ||
	       call == __NR_removexattrat;
}

static __always_inline bool read_times(struct pt_regs *regs, struct name_call *call)
{
	call->operation = FILE_ATTR_TIMES;
	switch (regs->orig_ax) {
	case __NR_utime:
	case __NR_utimes:
		call->requested = text(SYSCALL_ARG1(regs));
		return true;
	case __NR_utimensat:
		call->flags = SYSCALL_ARG4(regs);
		/* fall through */
	case __NR_futimesat:
		call->directory = SYSCALL_ARG1(regs);
		call->requested = text(SYSCALL_ARG2(regs));
		return true;
	}
	return false;
}

static __always_inline bool read_truncate(struct pt_regs *regs, struct name_call *call)
{
	call->operation = FILE_ATTR_SIZE;
	call->requested = text(SYSCALL_ARG1(regs));
	call->size = SYSCALL_ARG2(regs);
	return regs->orig_ax == __NR_truncate;
}

/* requested NULL: directory is a descriptor of the object itself. */
static __always_inline bool read_call(struct pt_regs *regs, struct name_call *call)
{
	__u64 number = regs->orig_ax;

	__builtin_memset(call, 0, sizeof(*call));
	call->directory = AT_FDCWD;
	if (!read_chmod(regs, call) && !read_chown(regs, call) && !read_xattr(regs, call) &&
	    !read_times(regs, call) && !read_truncate(regs, call))
		return false;
	if (call->flags & AT_SYMLINK_NOFOLLOW)
		call->known |= FILE_NOFOLLOW;
	if (removes_xattr(number))
		call->known |= FILE_REMOVED;
	return true;
}

/* The object, where the call had a descriptor of it. */
static __always_inline struct path *object_of(const struct name_call *call)
{
	struct file *file;
	char first = 1;

	if (call->requested && call->flags & AT_EMPTY_PATH)
		bpf_probe_read_user(&first, sizeof(first), call->requested);
	if (call->requested && first)
		return NULL;
	if (call->directory == AT_FDCWD)
		return &bpf_get_current_task_btf()->fs->pwd;
	file = file_of_fd(call->directory);
	return file ? &file->f_path : NULL;
}

static __always_inline void put_object(struct wire_file_attr *r, struct path *path)
{
	struct inode *inode = BPF_CORE_READ(path, dentry, d_inode);
	__u32 length, flags = 0;

	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->size = BPF_CORE_READ(inode, i_size);
	r->known |= FILE_KNOWN_OBJECT;
	length = path_tail(r, path, PATH_ROOM, &flags);
	r->path_flags = flags;
	EMIT_TAIL(r, path, length);
}

static __always_inline void put_request(struct wire_file_attr *r, const struct name_call *call)
{
	struct path *from = NULL;
	__u32 length = 0, flags = 0;

	if (call->requested && !(r->known & FILE_KNOWN_OBJECT))
		from = requested_from(call->directory, call->requested);
	if (from)
		length = path_tail(r, from, PATH_ROOM, &flags);
	EMIT_TAIL(r, directory, length);
	r->directory_flags = flags;
	length = call->requested ? user_tail(r, call->requested) : 0;
	EMIT_TAIL(r, requested, length);
	length = call->xattr ? user_tail(r, call->xattr) : 0;
	EMIT_TAIL(r, xattr, length);
}

/* The size of the call is the one before it where that is known, else the one asked for. */
static __always_inline void emit_attr(struct session_slot *slot, const struct name_call *call)
{
	struct wire_file_attr *r = EMIT_BEGIN(slot, file_attr);
	struct path *object;

	if (!r)
		return;
	object = object_of(call);
	r->dev = 0;
	r->ino = 0;
	r->size = call->size;
	r->old_size = call->size;
	r->change = call->operation;
	r->known = call->known;
	r->mode = call->mode & MODE_BITS;
	r->uid = call->uid;
	r->gid = call->gid;
	r->path_flags = 0;
	r->path_length = 0;
	if (object)
		put_object(r, object);
	put_request(r, call);
	r->reserved = 0;
	emit_end(slot, r);
}

/* chmod, chown, setxattr, removexattr, utimensat, truncate and their relatives. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_attr, struct pt_regs *regs, long ret)
{
	struct session_slot *slot;
	struct file_work *work;

	if (ret)
		return 0;
	slot = session_of_current();
	work = work_of_cpu();
	if (slot && work && read_call(regs, &work->call))
		emit_attr(slot, &work->call);
	return 0;
}

static __always_inline struct name_call *call_of_descriptor(__u32 fd, __u32 change)
{
	struct file_work *work = work_of_cpu();

	if (!work)
		return NULL;
	__builtin_memset(&work->call, 0, sizeof(work->call));
	work->call.directory = fd;
	work->call.operation = change;
	return &work->call;
}

/* The size before the call is known only before it. */
SEC("tp/syscalls/sys_enter_ftruncate")
int on_enter_ftruncate(struct trace_event_raw_sys_enter *enter)
{
	struct session_slot *slot = session_of_current();
	struct file *file = slot ? file_of_fd(enter->args[0]) : NULL;
	struct written_file *entry;
	struct written_key key;

	if (!file)
		return 0;
	key = key_of(slot, file);
	entry = bpf_map_lookup_elem(&written_files, &key);
	if (entry)
		entry->size = BPF_CORE_READ(file, f_inode, i_size);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_ftruncate, struct pt_regs *regs, long ret)
{
	struct written_file *entry;
	struct session_slot *slot;
	struct written_key key;
	struct name_call *call;
	struct file *file;

	if (ret)
		return 0;
	slot = session_of_current();
	call = call_of_descriptor(SYSCALL_ARG1(regs), FILE_ATTR_SIZE);
	if (!slot || !call)
		return 0;
	file = file_of_fd(SYSCALL_ARG1(regs));
	key = key_of(slot, file);
	entry = bpf_map_lookup_elem(&written_files, &key);
	if (entry) {
		call->known |= FILE_KNOWN_OLD_SIZE;
		call->size = entry->size;
	}
	if (account(slot, file, 0, FILE_METHOD_truncate))
		emit_attr(slot, call);
	return 0;
}

/* Contents shared with another file, and attributes that chattr sets. FIDEDUPERANGE is not here: it
 * shares what is equal already and changes no file's content. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_ioctl, struct pt_regs *regs, long ret)
{
	__u32 request = SYSCALL_ARG2(regs);
	struct session_slot *slot;
	struct name_call *call;

	if (ret || (request != FICLONE && request != FICLONERANGE && request != FS_IOC_SETFLAGS &&
		    request != FS_IOC_FSSETXATTR))
		return 0;
	slot = session_of_current();
	call = call_of_descriptor(SYSCALL_ARG1(regs), FILE_ATTR_FLAGS);
	if (!slot || !call)
		return 0;
	if (request == FICLONE || request == FICLONERANGE)
		account(slot, file_of_fd(SYSCALL_ARG1(regs)), 0, FILE_METHOD_clone);
	else
		emit_attr(slot, call);
	return 0;
}
