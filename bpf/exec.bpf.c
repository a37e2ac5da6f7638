// SPDX-License-Identifier: GPL-2.0
/*
 * Exec, and exec that failed. An argument vector may be megabytes long: its first piece goes with
 * the record, the rest in chunks that follow at once on the same CPU.
 */
#include "exec_room.h"
#include "notes.h"
#include "path.h"
#include "syscalls.h"

#define EXE_ROOM 8192
#define CWD_ROOM 12288
#define REQUESTED_ROOM 4608 /* PATH_MAX behind /dev/fd/N/ */
#define INTERPRETER_ROOM 512
#define STDIN_ROOM 4096
_Static_assert(sizeof(struct wire_process_exec) + EXE_ROOM + CWD_ROOM + REQUESTED_ROOM +
			       INTERPRETER_ROOM + WIRE_PIECE_MAX + STDIN_ROOM <=
		       WIRE_LENGTH_MAX,
	       "an exec fits one record and chunks");

#define AREA_CHUNKS_MAX 256 /* 8 MiB: the kernel takes at most 6 */

/* Of a vector that no exec has copied, and that may be of any size: what is sent, what is counted,
 * and the steps to both, at some 130 ns without preemption each. */
#define VECTOR_CHUNKS_MAX 64
#define VECTOR_BYTES_MAX (8ull << 20)
#define VECTOR_STEPS_MAX (1 << 17)

/* The tails' places in their records, for the chunks. */
#define NOT_A_TAIL(name)
#define EXEC_TAIL(name) EXEC_TAIL_##name,
#define EXEC_FAILED_TAIL(name) EXEC_FAILED_TAIL_##name,
enum { WIRE_process_exec(NOT_A_TAIL, NOT_A_TAIL, EXEC_TAIL) };
enum { WIRE_process_exec_failed(NOT_A_TAIL, NOT_A_TAIL, EXEC_FAILED_TAIL) };

/* ---- exec ---- */

static __always_inline void fill_exe(struct wire_process_exec *r, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 flags = 0, length = path_tail(r, &file->f_path, EXE_ROOM, &flags);

	EMIT_TAIL(r, exe, length);
	r->exe_flags = flags;
	r->exe_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->exe_ino = BPF_CORE_READ(inode, i_ino);
	r->exe_nlink = BPF_CORE_READ(inode, i_nlink);
}

static __always_inline void fill_names(struct wire_process_exec *r, struct linux_binprm *bprm)
{
	const char *filename = BPF_CORE_READ(bprm, filename), *interp = BPF_CORE_READ(bprm, interp);
	long length = bpf_probe_read_kernel_str(emit_tail_room(r), REQUESTED_ROOM, filename);

	EMIT_TAIL(r, requested, length > 0 ? length - 1 : 0);
	length = 0;
	if (interp != filename)
		length = bpf_probe_read_kernel_str(emit_tail_room(r), INTERPRETER_ROOM, interp);
	EMIT_TAIL(r, interpreter, length > 0 ? length - 1 : 0);
}

/* The first piece of the argument area. At this hook the memory has one thread, which is here: what
 * is read is what the program will find. */
static __always_inline void fill_arguments(struct wire_process_exec *r, struct mm_struct *mm,
					   struct argument_walk *w)
{
	__u64 start = BPF_CORE_READ(mm, arg_start), left = BPF_CORE_READ(mm, arg_end) - start;
	__u32 size = left > WIRE_PIECE_MAX ? WIRE_PIECE_MAX : left;

	r->argv_bytes = left;
	w->number = r->head.number;
	w->offset = size;
	w->at = start + size;
	w->end = start + left;
	if (left > size)
		r->head.flags |= WIRE_FLAG_CONTINUED;
	if (bpf_probe_read_user(emit_tail_room(r), size, (void *)start)) {
		r->head.flags |= WIRE_FLAG_FAULT;
		size = 0;
	}
	EMIT_TAIL(r, argv, size);
}

static __always_inline void fill_stdin(struct wire_process_exec *r, struct task_struct *task)
{
	__u32 flags = 0, length = 0;
	struct file **table = BPF_CORE_READ(task, files, fdt, fd), *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file), table);
	r->stdin_mode = BPF_CORE_READ(file, f_inode, i_mode);
	r->stdin_rdev = BPF_CORE_READ(file, f_inode, i_rdev);
	if (file)
		length = path_tail(r, &file->f_path, STDIN_ROOM, &flags);
	EMIT_TAIL(r, stdin_path, length);
	r->stdin_flags = flags;
}

static __always_inline void fill_who(struct wire_process_exec *r, const struct session_slot *slot,
				     struct task_struct *task)
{
	struct task_struct *parent = BPF_CORE_READ(task, real_parent, group_leader);
	struct pid *pid = BPF_CORE_READ(parent, thread_pid);
	struct credentials now;

	read_credentials(task, &now);
	r->caps = now.caps;
	r->uid = now.uid;
	r->gid = now.gid;
	r->euid = now.euid;
	r->egid = now.egid;
	r->parent_start_ns = BPF_CORE_READ(parent, start_boottime);
	r->parent_pid = BPF_CORE_READ(parent, tgid);
	r->parent_ns_pid = 0;
	if (BPF_CORE_READ(pid, level) >= slot->pid_level)
		r->parent_ns_pid = pid_number(pid, slot->pid_level);
	r->reserved = 0;
}

static long emit_area_chunk(__u32 index, void *context)
{
	struct session_slot *slot = session_of_current_or_setup();
	struct scratch *scratch = scratch_of_cpu();
	struct argument_walk *w;
	struct wire_chunk *r;
	__u64 left;
	__u32 size;

	if (!slot || !scratch)
		return 1;
	r = EMIT_BEGIN(slot, chunk);
	if (!r)
		return 1;
	w = &scratch->arguments;
	left = w->end - w->at;
	size = left > WIRE_PIECE_MAX ? WIRE_PIECE_MAX : left;
	r->of = w->number;
	r->offset = w->offset;
	r->tail = EXEC_TAIL_argv;
	if (left > size)
		r->head.flags |= WIRE_FLAG_CONTINUED;
	w->offset += size;
	w->at += size;
	if (bpf_probe_read_user(emit_tail_room(r), size, (void *)(w->at - size))) {
		r->head.flags |= WIRE_FLAG_FAULT;
		size = 0;
	}
	EMIT_TAIL(r, data, size);
	emit_end(slot, r);
	return left <= WIRE_PIECE_MAX;
}

/* A child of vitrine-init that comes to its exec is the first process of a command. */
static __always_inline void begin_command(__u32 pid)
{
	struct death death = {.pid = pid};
	__u64 command = bpf_get_current_ancestor_cgroup_id(session_level + 1);

	if (!bpf_map_lookup_elem(&starting, &pid))
		return;
	bpf_map_delete_elem(&starting, &pid);
	bpf_map_update_elem(&deaths, &command, &death, BPF_ANY);
}

static __always_inline void tell_exec(const struct session_slot *slot, struct task_struct *task,
				      int old_tid, struct linux_binprm *bprm)
{
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	struct scratch *scratch = scratch_of_cpu();
	__u32 flags = 0, length;
	struct wire_process_exec *r;
	bool more;

	if (!scratch)
		return;
	r = EMIT_BEGIN(slot, process_exec);
	if (!r)
		return;
	r->head.tid = old_tid;
	r->argc = bprm->argc;
	fill_exe(r, BPF_CORE_READ(bprm, file));
	length = path_tail(r, &fs->pwd, CWD_ROOM, &flags);
	EMIT_TAIL(r, cwd, length);
	r->cwd_flags = flags;
	fill_names(r, bprm);
	fill_arguments(r, BPF_CORE_READ(task, mm), &scratch->arguments);
	fill_stdin(r, task);
	fill_who(r, slot, task);
	more = r->head.flags & WIRE_FLAG_CONTINUED;
	if (!emit_end(slot, r) && more)
		bpf_loop(AREA_CHUNKS_MAX, emit_area_chunk, NULL, 0);
}

/* A process runs another program. tp_btf since 5.5: behind the point of no return, before the first
 * instruction; the kernel's own objects say which file it is and by which names it was found. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	struct session_slot *slot = session_of_current();

	if (!slot)
		return 0;
	begin_command(task->tgid);
	remember_credentials(task);
	tell_exec(slot, task, old_tid, bprm);
	end_announcement(task);
	return 0;
}

/* ---- failed exec ---- */

enum argument_state {
	ARGUMENTS_MORE,	  /* there is more than fitted */
	ARGUMENTS_DONE,	  /* the vector's end was seen */
	ARGUMENTS_FAULT,  /* memory that is not there, or absurdly much of it */
	ARGUMENTS_COUNTED /* as MORE, but only count: what is read is thrown away */
};

/* One argument, or a piece of one. */
static long argument_step(__u32 index, void *context)
{
	struct scratch *scratch = scratch_of_cpu();
	__u32 offset, room;
	struct argument_walk *w;
	bool counting;
	long size;

	if (!scratch)
		return 1;
	w = &scratch->arguments;
	if (w->steps == 0) {
		w->state = ARGUMENTS_FAULT;
		return 1;
	}
	w->steps--;
	counting = w->state == ARGUMENTS_COUNTED;
	if (!w->at) {
		__u64 next = 0;

		if (bpf_probe_read_user(&next, sizeof(next), (void *)w->pointers)) {
			w->state = ARGUMENTS_FAULT;
			return 1;
		}
		if (!next) {
			w->state = ARGUMENTS_DONE;
			return 1;
		}
		w->at = next;
		w->pointers += sizeof(next);
		w->count++;
	}
	offset = counting ? WIRE_LENGTH_MAX : w->fill & (WIRE_LENGTH_MAX - 1);
	room = counting ? WIRE_PIECE_MAX : w->limit - w->fill;
	if (room > WIRE_PIECE_MAX)
		room = WIRE_PIECE_MAX;
	if (room < 2)
		return 1;
	BARRIER_VAR(offset);
	size = bpf_probe_read_user_str(scratch->data + offset, room, (void *)w->at);
	if (size < 0 || w->bytes > VECTOR_BYTES_MAX) {
		w->state = ARGUMENTS_FAULT;
		return 1;
	}
	if (size == 0) /* an empty string, in old kernels: its NUL is not counted */
		size = 1;
	if (size == room) {
		size--; /* the NUL is the helper's, not the argument's */
		w->at += size;
	} else {
		w->at = 0;
	}
	w->bytes += size;
	if (!counting)
		w->fill += size;
	return 0;
}

/* Fill a tail with as much of the vector as fits. Returns its length. */
static __always_inline __u32 argument_tail(void *record, struct argument_walk *w)
{
	struct wire_head *head = record;

	w->state = ARGUMENTS_MORE;
	w->fill = head->length;
	w->limit = w->fill + WIRE_PIECE_MAX;
	bpf_loop(VECTOR_STEPS_MAX, argument_step, NULL, 0);
	return w->fill - head->length;
}

/* How long is what did not fit? */
static __always_inline void count_rest(struct argument_walk *w, bool *ret_complete)
{
	__u64 at = w->at, pointers = w->pointers;

	w->state = ARGUMENTS_COUNTED;
	bpf_loop(VECTOR_STEPS_MAX, argument_step, NULL, 0);
	*ret_complete = w->state == ARGUMENTS_DONE;
	w->at = at;
	w->pointers = pointers;
}

static long emit_vector_chunk(__u32 index, void *context)
{
	struct session_slot *slot = session_of_current_or_setup();
	struct scratch *scratch = scratch_of_cpu();
	struct argument_walk *w;
	struct wire_chunk *r;
	__u32 length, more;

	if (!slot || !scratch)
		return 1;
	r = EMIT_BEGIN(slot, chunk);
	if (!r)
		return 1;
	w = &scratch->arguments;
	r->of = w->number;
	r->offset = w->offset;
	r->tail = EXEC_FAILED_TAIL_argv;
	length = argument_tail(r, w);
	w->offset += length;
	EMIT_TAIL(r, data, length);
	more = w->state == ARGUMENTS_MORE && index < VECTOR_CHUNKS_MAX - 1;
	if (more)
		r->head.flags |= WIRE_FLAG_CONTINUED;
	emit_end(slot, r);
	return !more;
}

static __always_inline void tell_exec_failed(const struct session_slot *slot,
					     struct task_struct *task, struct pt_regs *regs,
					     long ret)
{
	bool at = regs->orig_ax == __NR_execveat, complete, more;
	struct wire_process_exec_failed *r;
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	struct scratch *scratch = scratch_of_cpu();
	struct argument_walk *w;
	__u32 flags = 0, length;
	const void *name;
	long size;

	if (!scratch)
		return;
	r = EMIT_BEGIN(slot, process_exec_failed);
	if (!r)
		return;
	r->result = ret;
	length = path_tail(r, &fs->pwd, CWD_ROOM, &flags);
	EMIT_TAIL(r, cwd, length);
	r->cwd_flags = flags;
	name = (void *)(at ? SYSCALL_ARG2(regs) : SYSCALL_ARG1(regs));
	size = bpf_probe_read_user_str(emit_tail_room(r), REQUESTED_ROOM, name);
	EMIT_TAIL(r, requested, size > 0 ? size - 1 : 0);

	w = &scratch->arguments;
	w->number = r->head.number;
	w->pointers = at ? SYSCALL_ARG3(regs) : SYSCALL_ARG2(regs);
	w->at = w->bytes = w->count = 0;
	w->steps = VECTOR_STEPS_MAX / 2;
	if (w->pointers) {
		length = argument_tail(r, w);
	} else {
		length = 0;
		w->state = ARGUMENTS_DONE;
	}
	EMIT_TAIL(r, argv, length);
	w->offset = length;
	more = w->state == ARGUMENTS_MORE;
	complete = w->state == ARGUMENTS_DONE;
	if (more) {
		r->head.flags |= WIRE_FLAG_CONTINUED;
		count_rest(w, &complete);
	}
	if (!complete)
		r->head.flags |= WIRE_FLAG_FAULT;
	r->argv_bytes = w->bytes;
	r->argc = w->count;
	w->bytes = 0;
	w->steps = VECTOR_STEPS_MAX / 2;
	if (!emit_end(slot, r) && more)
		bpf_loop(VECTOR_CHUNKS_MAX, emit_vector_chunk, NULL, 0);
}

/* execve or execveat has returned, so it failed. Also of vitrine-init's child: that is the command
 * that could not be run. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_exec, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct session_slot *slot;

	if (ret >= 0)
		return 0;
	slot = session_of_current_or_setup();
	if (!slot || (__u32)task->tgid == slot->init_pid)
		return 0;
	tell_exec_failed(slot, task, regs, ret);
	end_announcement(task);
	return 0;
}
