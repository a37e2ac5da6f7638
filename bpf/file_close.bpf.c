// SPDX-License-Identifier: GPL-2.0
/*
 * Files: the last close. A description ends when its last reference goes, and that is looked for
 * before the call, while the file can still be asked: in close, dup2, dup3 and close_range by the
 * count of references, at the end of a process by counting those in its table.
 *
 * What ends elsewhere (a descriptor closed by exec, a mapping, a reference that another thread held
 * for the moment) is put on the process's list of suspects and looked at again at its next exec
 * and at its end. What is left, such as a descriptor that went through a socket and was never
 * received, is reported when the kernel uses the same struct file again, or at the end of the
 * session by user space.
 */
#include "exec_room.h"
#include "file.h"

#define CLOSE_RANGE_UNSHARE 2
#define CLOSE_RANGE_CLOEXEC 4
#define WALK_STEPS (1 << 21) /* more than the words and descriptors of the largest table */

static __always_inline void suspect(struct file *file)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct suspects *suspects = bpf_map_lookup_elem(&suspects_of, &pid);
	struct suspects none = {};
	__u32 count;

	if (!suspects) {
		bpf_map_update_elem(&suspects_of, &pid, &none, BPF_NOEXIST);
		suspects = bpf_map_lookup_elem(&suspects_of, &pid);
	}
	if (!suspects)
		return;
	for (int i = 0; i < SUSPECTS_MAX; i++)
		if (suspects->files[i] == (__u64)file)
			return;
	count = suspects->count;
	if (count >= SUSPECTS_MAX)
		return;
	suspects->files[count] = (__u64)file;
	suspects->count = count + 1;
}

static __always_inline bool table_is_shared(void)
{
	return bpf_get_current_task_btf()->files->count.counter > 1;
}

/* One descriptor is about to be closed. */
static __always_inline void closing(struct session_slot *slot, __u32 fd)
{
	struct file *file = file_of_fd(fd);
	struct written_file *entry;
	struct file_view *view;
	struct written_key key;

	if (!file || !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE))
		return;
	key = key_of(slot, file);
	entry = bpf_map_lookup_elem(&written_files, &key);
	view = view_file(file);
	if (!entry || !view)
		return;
	if (file_references(view) == 1)
		end_entry(slot, view, &key, entry);
	else if (entry->methods & FILE_METHOD_mmap || table_is_shared())
		suspect(file);
}

/* Before the call, because afterwards the file is gone. tp/syscalls rather than a raw sys_enter
 * program, which would tax every call. */
SEC("tp/syscalls/sys_enter_close")
int on_enter_close(struct trace_event_raw_sys_enter *call)
{
	struct session_slot *slot = session_of_current();

	if (slot)
		closing(slot, call->args[0]);
	return 0;
}

static __always_inline void replacing(__u32 from, __u32 to)
{
	struct session_slot *slot = session_of_current();

	if (slot && from != to && file_of_fd(from))
		closing(slot, to);
}

SEC("tp/syscalls/sys_enter_dup2")
int on_enter_dup2(struct trace_event_raw_sys_enter *call)
{
	replacing(call->args[0], call->args[1]);
	return 0;
}

SEC("tp/syscalls/sys_enter_dup3")
int on_enter_dup3(struct trace_event_raw_sys_enter *call)
{
	if (!((__u32)call->args[2] & ~O_CLOEXEC))
		replacing(call->args[0], call->args[1]);
	return 0;
}

/* ---- tables of descriptors ---- */

static __always_inline __u32 lowest_bit(__u64 bits)
{
	__u32 place = 0;

	bits &= -bits;
	if (bits & 0xffffffff00000000)
		place += 32;
	if (bits & 0xffff0000ffff0000)
		place += 16;
	if (bits & 0xff00ff00ff00ff00)
		place += 8;
	if (bits & 0xf0f0f0f0f0f0f0f0)
		place += 4;
	if (bits & 0xcccccccccccccccc)
		place += 2;
	if (bits & 0xaaaaaaaaaaaaaaaa)
		place += 1;
	return place;
}

/* The next open descriptor of the walk in *ret_file, or nothing yet. false: the walk is over. */
static __always_inline bool next_file(struct table_walk *w, struct file **ret_file)
{
	__u32 fd;

	*ret_file = NULL;
	if (!w->bits) {
		if (w->next >= w->end || w->next > w->last)
			return false;
		bpf_probe_read_kernel(&w->bits, sizeof(w->bits), w->bitmap + w->next / 64);
		w->next += 64;
		return true;
	}
	fd = w->next - 64 + lowest_bit(w->bits);
	w->bits &= w->bits - 1;
	if (fd >= w->first && fd <= w->last)
		bpf_probe_read_kernel(ret_file, sizeof(*ret_file), w->files + fd);
	return true;
}

static __always_inline struct table_walk *start_walk(__u32 first, __u32 last, bool close_on_exec)
{
	struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
	struct file_work *work = work_of_cpu();
	struct table_walk *w;

	if (!work)
		return NULL;
	w = &work->walk;
	w->files = table->fd;
	w->bitmap = close_on_exec ? table->close_on_exec : table->open_fds;
	w->bits = 0;
	w->id = bpf_ktime_get_ns();
	w->first = first;
	w->last = last;
	w->next = first & ~63u;
	w->end = table->max_fds;
	return w;
}

/* All of these descriptors go: one description may have several of them. */
static long close_step(__u32 index, void *context)
{
	struct session_slot *slot = session_of_current();
	struct file_work *work = work_of_cpu();
	struct written_file *entry;
	struct file_view *view;
	struct written_key key;
	struct file *file;

	if (!slot || !work || !next_file(&work->walk, &file))
		return 1;
	if (!file || !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE))
		return 0;
	key = key_of(slot, file);
	entry = bpf_map_lookup_elem(&written_files, &key);
	view = view_file(file);
	if (!entry || !view)
		return 0;
	if (entry->walk != work->walk.id) {
		entry->walk = work->walk.id;
		entry->walk_seen = 0;
	}
	if (++entry->walk_seen == file_references(view))
		end_entry(slot, view, &key, entry);
	else if (entry->methods & FILE_METHOD_mmap || table_is_shared())
		suspect(file);
	return 0;
}

static __always_inline bool has_entries(const struct session_slot *slot)
{
	__u32 index = slot->slot;
	struct file_counts *counts = bpf_map_lookup_elem(&file_counts, &index);

	return counts && counts->live > 0;
}

SEC("tp/syscalls/sys_enter_close_range")
int on_enter_close_range(struct trace_event_raw_sys_enter *call)
{
	struct session_slot *slot = session_of_current();
	__u32 flags = call->args[2];

	if (!slot || !has_entries(slot) || flags & CLOSE_RANGE_CLOEXEC)
		return 0;
	if (flags & CLOSE_RANGE_UNSHARE && table_is_shared())
		return 0; /* they stay open in the table that the others keep */
	if (start_walk(call->args[0], call->args[1], false))
		bpf_loop(WALK_STEPS, close_step, NULL, 0);
	return 0;
}

/* ---- exec and exit ---- */

static long suspect_step(__u32 index, void *context)
{
	struct session_slot *slot = session_of_current();
	struct file_work *work = work_of_cpu();
	struct written_key key;
	struct file *file;

	if (!slot || !work || !next_file(&work->walk, &file))
		return 1;
	if (!file || !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE))
		return 0;
	key = key_of(slot, file);
	if (bpf_map_lookup_elem(&written_files, &key))
		suspect(file);
	return 0;
}

/* Descriptors that an exec closes are closed before any program sees that it succeeded. */
static __always_inline void suspect_close_on_exec(void)
{
	struct session_slot *slot = session_of_current();

	if (slot && has_entries(slot) && start_walk(0, ~0u, true))
		bpf_loop(WALK_STEPS, suspect_step, NULL, 0);
}

SEC("tp/syscalls/sys_enter_execve")
int on_enter_execve(struct trace_event_raw_sys_enter *call)
{
	suspect_close_on_exec();
	announce_exec(call->args[1]);
	return 0;
}

SEC("tp/syscalls/sys_enter_execveat")
int on_enter_execveat(struct trace_event_raw_sys_enter *call)
{
	suspect_close_on_exec();
	announce_exec(call->args[2]);
	return 0;
}

/* Report those of the process's suspects that are gone; at its end, those too that only its
 * mappings hold, because these go with it. */
static __always_inline void look_at_suspects(struct session_slot *slot, bool at_end)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct suspects *suspects = bpf_map_lookup_elem(&suspects_of, &pid);

	if (!suspects)
		return;
	for (int i = 0; i < SUSPECTS_MAX; i++) {
		struct written_key key = {.file = suspects->files[i], .slot = slot->slot};
		struct written_file *entry;
		struct file_view *view;

		if (!key.file)
			break;
		entry = bpf_map_lookup_elem(&written_files, &key);
		if (!entry)
			continue;
		view = view_file((struct file *)key.file);
		if (entry_is_stale(view, entry))
			end_entry(slot, NULL, &key, entry);
		else if (at_end && entry->methods & FILE_METHOD_mmap)
			end_entry(slot, view, &key, entry);
	}
	bpf_map_delete_elem(&suspects_of, &pid);
}

SEC("tp_btf/sched_process_exec")
int on_exec_files(__u64 *ctx)
{
	struct session_slot *slot = session_of_current();

	if (slot)
		look_at_suspects(slot, false);
	return 0;
}

/*
 * The last thread of a process ends; it has its table still. Threads that ended with it may hold it
 * too, so only a count beyond their number means that another process shares it.
 */
SEC("tp_btf/sched_process_exit")
int on_exit_files(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct signal_struct *signal = task->signal;
	struct session_slot *slot;

	if (signal->live.counter > 0)
		return 0;
	slot = session_of_current();
	if (!slot || !has_entries(slot))
		return 0;
	if (task->files && task->files->count.counter <= signal->nr_threads &&
	    start_walk(0, ~0u, false))
		bpf_loop(WALK_STEPS, close_step, NULL, 0);
	look_at_suspects(slot, true);
	return 0;
}

/* ---- what is left ---- */

static long mark_gone(void *map, const struct written_key *key, struct written_file *entry,
		      const __u32 *slot)
{
	if (key->slot == *slot && entry_is_stale(view_file((struct file *)key->file), entry))
		entry->is_gone = 1;
	return 0;
}

/* The session's last process has ended: tell what ended unseen from what somebody outside holds.
 * User space reports both. */
SEC("tp_btf/cgroup_notify_populated")
int BPF_PROG(on_populated, struct cgroup *cgroup, const char *path, int populated)
{
	__u64 id = cgroup->kn->id;
	struct session_slot *session;
	__u32 slot;

	if (populated)
		return 0;
	session = bpf_map_lookup_elem(&sessions, &id);
	if (!session || !has_entries(session))
		return 0;
	slot = session->slot;
	bpf_for_each_map_elem(&written_files, mark_gone, &slot, 0);
	return 0;
}
