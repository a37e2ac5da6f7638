// SPDX-License-Identifier: GPL-2.0
/*
 * Limits that a call ran into. The kernel answers with an error that says so, which is seen at the
 * return of the call and nowhere else: a call that succeeds costs nothing here.
 *
 * A process that hits a limit in a loop does so a million times a second. Its first hit is a record
 * at once; what follows is counted in its note and told twice a second, or at its end
 * (process.bpf.c).
 */
#include "descriptor.h"
#include "entry.h"
#include "notes.h"
#include "syscalls.h"

#define TELL_NS 500000000

#define EAGAIN 11
#define EMFILE 24
#define EFBIG 27
#define ENOSPC 28
#define EDQUOT 122

#define RLIMIT_FSIZE 1
#define RLIMIT_NPROC 6
#define RLIMIT_NOFILE 7

#define OVERLAY_MAGIC 0x794c7630
#define TMPFS_MAGIC 0x01021994
#define OPEN_CREATES 0100 /* O_CREAT */

#define LIMITED(call, kind) [__NR_##call] = LIMITED_##kind,
static const __u8 limited_calls[SYSCALL_NUMBERS] = {LIMITED_CALLS(LIMITED)};
#undef LIMITED

static __always_inline __u64 soft_limit(__u32 resource)
{
	struct signal_struct *signal = BPF_CORE_READ(bpf_get_current_task_btf(), signal);
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value),
			      (void *)signal + bpf_core_field_offset(struct signal_struct, rlim) +
				      resource * sizeof(struct rlimit));
	return value;
}

/* The error of a full file system of the session's own: what is bound to /workspace fills up by
 * what others do too, and /dev/full has no file system. */
static __always_inline bool is_own_file(const struct session_slot *slot, __u32 fd)
{
	struct inode *inode = BPF_CORE_READ(file_of_fd(fd), f_inode);
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return false;
	return (magic == OVERLAY_MAGIC || magic == TMPFS_MAGIC) &&
	       BPF_CORE_READ(inode, i_sb, s_dev) != slot->workspace_dev;
}

/* Which limit the error is of; WIRE_LIMIT_COUNT: of none. Where there is a workspace, a name that
 * could not be made may have been one there: user space looks whether the session's own is full. */
static __always_inline __u32 space_of(const struct session_slot *slot, struct pt_regs *regs,
				      __u8 kind, __u64 call)
{
	switch (kind) {
	case LIMITED_write:
		return is_own_file(slot, SYSCALL_ARG1(regs)) ? WIRE_LIMIT_disk : WIRE_LIMIT_COUNT;
	case LIMITED_copy:
		return is_own_file(slot, SYSCALL_ARG3(regs)) ? WIRE_LIMIT_disk : WIRE_LIMIT_COUNT;
	case LIMITED_open:
	case LIMITED_name:
		if (slot->workspace_dev)
			return WIRE_LIMIT_COUNT;
		if (call == __NR_open && !(SYSCALL_ARG2(regs) & OPEN_CREATES))
			return WIRE_LIMIT_disk;
		if (call == __NR_openat && !(SYSCALL_ARG3(regs) & OPEN_CREATES))
			return WIRE_LIMIT_disk;
		return WIRE_LIMIT_inodes;
	}
	return WIRE_LIMIT_COUNT;
}

/* What is in force for the current process: the command's own, or else the session's. */
static __always_inline __u64 limit_in_force(const struct session_slot *slot,
					    const struct command_slot *command, __u32 limit)
{
	return command && command->limits[limit] ? command->limits[limit] : slot->limits[limit];
}

static __always_inline __u32 limit_of(const struct session_slot *slot, struct pt_regs *regs,
				      long ret)
{
	__u64 in_force;

	__u64 call = regs->orig_ax;
	__u8 kind = call < SYSCALL_NUMBERS ? limited_calls[call] : LIMITED_nothing;

	/* A limit that the session has set itself, below that of its policy, is its own affair. */
	switch (-ret) {
	case EAGAIN:
		if (kind != LIMITED_fork)
			return WIRE_LIMIT_COUNT;
		in_force = limit_in_force(slot, command_of_current(), WIRE_LIMIT_pids);
		return in_force && soft_limit(RLIMIT_NPROC) > in_force ? WIRE_LIMIT_pids
								       : WIRE_LIMIT_COUNT;
	case EMFILE:
		in_force = limit_in_force(slot, command_of_current(), WIRE_LIMIT_files);
		return kind != LIMITED_watch && in_force && soft_limit(RLIMIT_NOFILE) == in_force
			       ? WIRE_LIMIT_files
			       : WIRE_LIMIT_COUNT;
	case EFBIG:
		in_force = limit_in_force(slot, command_of_current(), WIRE_LIMIT_file_size);
		return in_force && soft_limit(RLIMIT_FSIZE) == in_force ? WIRE_LIMIT_file_size
									: WIRE_LIMIT_COUNT;
	case ENOSPC:
	case EDQUOT:
		return space_of(slot, regs, kind, call);
	}
	return WIRE_LIMIT_COUNT;
}

static __always_inline void take_hit(const struct session_slot *slot, __u32 limit)
{
	struct process_note *note = note_of(bpf_get_current_task_btf()->group_leader);
	__u64 now = bpf_ktime_get_ns(), told;
	__u32 count;

	if (limit >= WIRE_LIMIT_COUNT)
		return;
	count_hits(slot, limit, 1);
	if (!note) {
		tell_hits(slot, limit, 1);
		return;
	}
	__sync_fetch_and_add(&note->hits[limit], 1);
	told = note->told_ns[limit];
	if (told && now - told < TELL_NS)
		return;
	if (__sync_val_compare_and_swap(&note->told_ns[limit], told, now) != told)
		return;
	count = __sync_lock_test_and_set(&note->hits[limit], 0);
	if (count)
		tell_hits(slot, limit, count);
}

/* By the dispatcher (syscalls.bpf.c), for errors that a limit gives; then the call's own program
 * has its turn. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_limit, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = session_of_current();
	__u64 call = regs->orig_ax;

	if (!slot || entry_of(call) != ENTRY_NATIVE)
		return 0;
	__u32 limit = limit_of(slot, regs, ret);
	if (limit < WIRE_LIMIT_COUNT)
		take_hit(slot, limit);
	if (call < SYSCALL_NUMBERS)
		bpf_tail_call(ctx, &on_exit_calls, call);
	return 0;
}
