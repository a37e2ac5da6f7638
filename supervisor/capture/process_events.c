/*
 * Wire records of processes as events.
 */
#include "processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define ANCESTORS_MAX 32
#define KEY_ROOM 32 /* "<pid>-<start time, hex>" and its NUL */

/* The places of tails, in the order of the rows. */
enum { EXEC_EXE, EXEC_CWD, EXEC_REQUESTED, EXEC_INTERPRETER, EXEC_ARGV, EXEC_STDIN };
enum { FAILED_CWD, FAILED_REQUESTED, FAILED_ARGV };

static struct process_key key_of(const struct wire_head *head)
{
	return (struct process_key){head->pid, head->start_ns};
}

/* A host id, as the session has it; absent if it is none of the session's. */
static void put_session_id(struct capture *c, enum event_field field, uint32_t host_id)
{
	uint64_t id = capture_session_id(c, host_id);

	if (id != UINT64_MAX)
		event_put_u64(&c->event, field, id);
}

static void put_string(struct capture *c, enum event_field field, struct bytes text)
{
	if (text.size > 0)
		event_put_bytes(&c->event, field, text.data, text.size);
}

/* A path that the session cannot reach from its root is not one of its paths. */
static void put_path(struct capture *c, enum event_field field, struct bytes components,
		     uint32_t flags)
{
	if (!(flags & (PATH_DETACHED | PATH_PSEUDO)))
		capture_put_path(c, field, components, flags & PATH_CUT ? 1 : 0);
}

/* The argument area as an array. Its length is known even where not all of it came. */
static void put_argv(struct capture *c, struct bytes argv, uint64_t argv_bytes)
{
	if (argv.size == 0)
		return;
	event_put_bytes(&c->event, FIELD_argv, argv.data, argv.size);
	if (argv.size < argv_bytes)
		event_mark_cut(&c->event, FIELD_argv, argv_bytes, NULL);
}

/* ---- fork ---- */

int translate_process_fork(struct capture *c, const struct wire_record *record)
{
	const struct wire_process_fork *wire = (const void *)record->head;
	struct process_key child = {wire->child_pid, wire->child_start_ns};
	struct event *e = capture_begin(c, record, EVENT_process_fork);

	processes_add(c->processes, child, key_of(record->head));
	event_put_text(e, FIELD_child_proc, capture_proc_key(c, child.pid, child.start_ns));
	if (wire->child_ns_pid)
		event_put_u64(e, FIELD_child_pid, wire->child_ns_pid);
	event_put_u64(e, FIELD_child_host_pid, wire->child_pid);
	if (!event_get(e, FIELD_exec) && capture_exec_of(c, wire->child_cgroup))
		event_put_u64(e, FIELD_exec, capture_exec_of(c, wire->child_cgroup));
	return capture_send(c);
}

/* ---- exec ---- */

static void put_exe(struct capture *c, const struct wire_process_exec *wire, struct bytes exe)
{
	static const char prefix[] = "memfd:";
	size_t length = sizeof(prefix) - 1;
	bool memfd = wire->exe_flags & PATH_PSEUDO && exe.size > length &&
		     memcmp(exe.data, prefix, length) == 0;

	if (memfd)
		event_put_bytes(&c->event, FIELD_exe_path, exe.data, exe.size - 1);
	else
		put_path(c, FIELD_exe_path, exe, wire->exe_flags);
	event_put_u64(&c->event, FIELD_exe_dev, capture_dev(wire->exe_dev));
	event_put_u64(&c->event, FIELD_exe_ino, wire->exe_ino);
	if (memfd)
		event_put_bool(&c->event, FIELD_exe_memfd, true);
	else if (wire->exe_nlink == 0 || wire->exe_flags & PATH_DELETED)
		event_put_bool(&c->event, FIELD_exe_deleted, true);
}

static bool is_terminal(uint32_t kernel_dev)
{
	uint64_t dev = capture_dev(kernel_dev);

	return major(dev) == 4 || major(dev) == 5 || (major(dev) >= 136 && major(dev) <= 143);
}

static const char *stdin_kind(const struct wire_process_exec *wire)
{
	switch (wire->stdin_mode & S_IFMT) {
	case 0:
		return "closed";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		if (capture_dev(wire->stdin_rdev) == makedev(1, 3))
			return "null";
		return is_terminal(wire->stdin_rdev) ? "tty" : "file";
	default:
		return "file";
	}
}

/* Keys of the ancestors, nearest first, back to back. */
static void put_ancestors(struct capture *c, struct process_key key)
{
	struct process_key ancestors[ANCESTORS_MAX];
	size_t count = processes_ancestors(c->processes, key, ancestors, ANCESTORS_MAX), used = 0;
	char *keys = capture_room(c, count * KEY_ROOM);

	if (!keys || count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(keys + used, KEY_ROOM, "%u-%llx", ancestors[i].pid,
					 (unsigned long long)ancestors[i].start_ns) +
			1;
	event_put_bytes(&c->event, FIELD_ancestors, keys, used);
}

static void put_parent(struct capture *c, const struct wire_process_exec *wire)
{
	struct process_key key = key_of(&wire->head);
	struct process_key parent = processes_parent(c->processes, key);

	if (wire->parent_ns_pid)
		event_put_u64(&c->event, FIELD_ppid, wire->parent_ns_pid);
	if (parent.pid)
		event_put_text(&c->event, FIELD_parent_proc,
			       capture_proc_key(c, parent.pid, parent.start_ns));
	put_ancestors(c, key);
}

static void put_exec_ids(struct capture *c, const struct wire_process_exec *wire)
{
	put_session_id(c, FIELD_uid, wire->uid);
	put_session_id(c, FIELD_gid, wire->gid);
	put_session_id(c, FIELD_euid, wire->euid);
	put_session_id(c, FIELD_egid, wire->egid);
	event_put_u64(&c->event, FIELD_host_uid, wire->uid);
	event_put_u64(&c->event, FIELD_host_gid, wire->gid);
	event_put_u64(&c->event, FIELD_caps, wire->caps);
}

int translate_process_exec(struct capture *c, const struct wire_record *record)
{
	const struct wire_process_exec *wire = (const void *)record->head;
	const struct bytes *tails = record->tails;
	struct event *e = capture_begin(c, record, EVENT_process_exec);

	put_argv(c, tails[EXEC_ARGV], wire->argv_bytes);
	event_put_u64(e, FIELD_argv_bytes, wire->argv_bytes);
	event_put_text(e, FIELD_argv_source, "kernel");
	put_exe(c, wire, tails[EXEC_EXE]);
	put_string(c, FIELD_requested, tails[EXEC_REQUESTED]);
	put_string(c, FIELD_interpreter, tails[EXEC_INTERPRETER]);
	put_path(c, FIELD_cwd, tails[EXEC_CWD], wire->cwd_flags);
	put_parent(c, wire);
	put_exec_ids(c, wire);
	event_put_text(e, FIELD_stdin_kind, stdin_kind(wire));
	put_path(c, FIELD_stdin_path, tails[EXEC_STDIN], wire->stdin_flags);
	return capture_send(c);
}

int translate_process_exec_failed(struct capture *c, const struct wire_record *record)
{
	const struct wire_process_exec_failed *wire = (const void *)record->head;
	bool complete = !(wire->head.flags & WIRE_FLAG_FAULT);
	struct event *e = capture_begin(c, record, EVENT_process_exec_failed);
	struct bytes argv = record->tails[FAILED_ARGV];
	uint64_t seen = argv.size > wire->argv_bytes ? argv.size : wire->argv_bytes;
	int64_t result = (int32_t)wire->result;

	/* Where not all of it could be read, it is longer than what was seen. */
	put_argv(c, argv, complete ? wire->argv_bytes : seen + 1);
	if (complete)
		event_put_u64(e, FIELD_argv_bytes, wire->argv_bytes);
	event_put_text(e, FIELD_argv_source, "memory");
	put_string(c, FIELD_requested, record->tails[FAILED_REQUESTED]);
	put_path(c, FIELD_cwd, record->tails[FAILED_CWD], wire->cwd_flags);
	event_put_i64(e, FIELD_result, result);
	event_put_text(e, FIELD_error, capture_errno_name((int)-result));
	return capture_send(c);
}

/* ---- exit, credentials, cgroup ---- */

/* Who sent the signal that ended it; absent where that is not known. */
static void put_sender(struct capture *c, const struct wire_process_exit *wire)
{
	static const char *const senders[] = {
		[SENDER_PROCESS] = "process", [SENDER_SUPERVISOR] = "supervisor",
		[SENDER_OUTSIDE] = "outside", [SENDER_KERNEL] = "kernel",
		[SENDER_OOM] = "oom",
	};

	if (wire->sender == SENDER_UNKNOWN || wire->sender > SENDER_OOM)
		return;
	event_put_text(&c->event, FIELD_by, senders[wire->sender]);
	if (!wire->sender_pid)
		return;
	event_put_text(&c->event, FIELD_sender_proc,
		       capture_proc_key(c, wire->sender_pid, wire->sender_start_ns));
	if (wire->sender_ns_pid)
		event_put_u64(&c->event, FIELD_sender_pid, wire->sender_ns_pid);
	event_put_u64(&c->event, FIELD_sender_host_pid, wire->sender_pid);
}

int translate_process_exit(struct capture *c, const struct wire_record *record)
{
	const struct wire_process_exit *wire = (const void *)record->head;
	struct event *e = capture_begin(c, record, EVENT_process_exit);
	uint32_t signal = wire->exit_code & 0x7f;

	processes_end(c->processes, key_of(record->head));
	if (signal)
		event_put_u64(e, FIELD_signal, signal);
	else
		event_put_u64(e, FIELD_exit_code, wire->exit_code >> 8 & 0xff);
	if (signal && wire->exit_code & 0x80)
		event_put_bool(e, FIELD_core_dumped, true);
	if (signal)
		put_sender(c, wire);
	if (wire->cpu_ns) /* 0: it ran less than the scheduler has counted yet */
		event_put_u64(e, FIELD_usage_cpu_ns, wire->cpu_ns);
	if (wire->memory_peak)
		event_put_u64(e, FIELD_usage_memory_peak, wire->memory_peak);
	if (wire->head.boot_ns >= wire->head.start_ns)
		event_put_u64(e, FIELD_usage_wall_ns, wire->head.boot_ns - wire->head.start_ns);
	return capture_send(c);
}

int translate_process_cred(struct capture *c, const struct wire_record *record)
{
	const struct wire_process_cred *wire = (const void *)record->head;
	struct event *e = capture_begin(c, record, EVENT_process_cred);

	put_session_id(c, FIELD_uid, wire->uid);
	put_session_id(c, FIELD_gid, wire->gid);
	put_session_id(c, FIELD_euid, wire->euid);
	put_session_id(c, FIELD_egid, wire->egid);
	event_put_u64(e, FIELD_host_uid, wire->uid);
	event_put_u64(e, FIELD_host_gid, wire->gid);
	event_put_u64(e, FIELD_caps, wire->caps);
	if (wire->head.flags & WIRE_FLAG_FAULT)
		return capture_send(c);
	put_session_id(c, FIELD_old_uid, wire->old_uid);
	put_session_id(c, FIELD_old_gid, wire->old_gid);
	put_session_id(c, FIELD_old_euid, wire->old_euid);
	put_session_id(c, FIELD_old_egid, wire->old_egid);
	event_put_u64(e, FIELD_old_caps, wire->old_caps);
	return capture_send(c);
}

/* Behind the component that names the session; the whole path if it is not there. */
static struct bytes below_session(const struct capture *c, struct bytes path)
{
	const char *session = c->options.session, *at = path.data, *end = at + path.size;
	size_t length = strlen(session);

	while (at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t size = (size_t)((slash ? slash : end) - at);

		if (size == length && memcmp(at, session, size) == 0)
			return slash ? (struct bytes){slash + 1, (size_t)(end - slash) - 1}
				     : (struct bytes){".", 1};
		at += size + 1;
	}
	return path;
}

int translate_process_cgroup(struct capture *c, const struct wire_record *record)
{
	const struct wire_process_cgroup *wire = (const void *)record->head;
	struct bytes path = record->tails[0];

	capture_begin(c, record, EVENT_process_cgroup);
	put_string(c, FIELD_cgroup_path, wire->inside ? below_session(c, path) : path);
	return capture_send(c);
}
