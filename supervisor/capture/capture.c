/*
 * What every translate function needs, and the table that calls them. The event being made and the
 * scratch that its values point to are part of the capture, so that a record allocates nothing.
 */
#include "capture.h"

#include "clock.h"
#include "mapping.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int translate(struct capture *c, const struct wire_record *record);

static translate *const translators[WIRE_KIND_COUNT] = {
#define RECORD(name, class) [WIRE_KIND_##name] = translate_##name,
	WIRE_RECORDS(RECORD)
#undef RECORD
};

int capture_new(const struct capture_options *options, struct capture **ret_capture)
{
	struct capture *c = mapping_new(sizeof(*c));
	if (!c)
		return -ENOMEM;

	c->options = *options;
	int r = processes_new(&c->processes);
	if (r == 0)
		r = files_new(&c->files);
	if (r == 0)
		r = sockets_new(&c->sockets);
	if (r == 0)
		r = dns_streams_new(&c->dns);
	if (r < 0) {
		capture_free(c);
		return r;
	}
	*ret_capture = c;
	return 0;
}

void capture_ask(struct capture *c, const char *const *watch_reads,
		 const struct syscall_changes *syscalls)
{
	c->options.watch_reads = watch_reads;
	c->options.syscalls = *syscalls;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	processes_free(c->processes);
	files_free(c->files);
	sockets_free(c->sockets);
	dns_streams_free(c->dns);
	mapping_free(c, sizeof(*c));
}

int capture_add_exec(struct capture *c, uint64_t cgroup, uint32_t exec)
{
	size_t count = sizeof(c->execs) / sizeof(c->execs[0]), used = 0, oldest = 0;

	while (used < count && c->execs[used].cgroup != 0 && c->execs[used].cgroup != cgroup)
		used++;
	while (used == count && oldest < count - 1 && !c->execs[oldest].has_ended)
		oldest++;
	if (used == count && !c->execs[oldest].has_ended)
		oldest = 0;
	if (used == count)
		memmove(c->execs + oldest, c->execs + oldest + 1,
			(count - oldest - 1) * sizeof(c->execs[0]));
	size_t place = used == count ? count - 1 : used;
	c->execs[place] = (struct capture_exec){.cgroup = cgroup, .exec = exec};
	return used == count ? -ENOSPC : 0;
}

void capture_end_exec(struct capture *c, uint32_t exec)
{
	for (size_t i = 0; i < sizeof(c->execs) / sizeof(c->execs[0]); i++)
		if (c->execs[i].cgroup && c->execs[i].exec == exec)
			c->execs[i].has_ended = true;
}

int capture_take_names(struct capture *c)
{
	return c->options.fanotify_fd < 0 ? 0 : files_take_names(c);
}

int capture_record(struct capture *c, const struct wire_record *record)
{
	return translators[record->head->kind](c, record);
}

int translate_chunk(struct capture *c, const struct wire_record *record)
{
	(void)c;
	(void)record;
	return -EBADMSG; /* chunks are joined before they come here */
}

int capture_finish(struct capture *c, int written_files_map_fd)
{
	int r = files_finish(c, written_files_map_fd);
	if (r == 0)
		r = dns_streams_finish(c);
	if (r == 0)
		r = sockets_finish(c);
	return r;
}

/* ---- an event ---- */

uint32_t capture_exec_of(const struct capture *c, uint64_t cgroup)
{
	size_t count = sizeof(c->execs) / sizeof(c->execs[0]);

	for (size_t i = 0; i < count && c->execs[i].cgroup != 0; i++)
		if (c->execs[i].cgroup == cgroup)
			return c->execs[i].exec;
	return 0;
}

static void put_who(struct capture *c, const struct wire_head *head)
{
	uint32_t exec = head->cgroup ? capture_exec_of(c, head->cgroup) : 0;

	if (exec)
		event_put_u64(&c->event, FIELD_exec, exec);
	if (head->pid == 0)
		return;
	event_put_text(&c->event, FIELD_proc, capture_proc_key(c, head->pid, head->start_ns));
	if (head->ns_pid)
		event_put_u64(&c->event, FIELD_pid, head->ns_pid);
	event_put_u64(&c->event, FIELD_host_pid, head->pid);
	if (head->tid && head->tid != head->pid)
		event_put_u64(&c->event, FIELD_tid, head->tid);
}

struct event *capture_begin(struct capture *c, const struct wire_record *record,
			    enum event_kind kind)
{
	uint64_t boot_ns = record ? record->head->boot_ns : clock_ns(CLOCK_BOOTTIME);

	c->scratch_used = 0;
	event_init(&c->event, kind, boot_ns + c->wall_minus_boot_ns, boot_ns);
	if (record)
		put_who(c, record->head);
	return &c->event;
}

int capture_send(struct capture *c)
{
	return c->options.emit(c->options.emit_context, &c->event);
}

/* ---- values ---- */

void *capture_room(struct capture *c, size_t size)
{
	if (size > sizeof(c->scratch) - c->scratch_used)
		return NULL;
	void *room = c->scratch + c->scratch_used;
	c->scratch_used += size;
	return room;
}

const char *capture_text(struct capture *c, const char *format, ...)
{
	size_t room = sizeof(c->scratch) - c->scratch_used;
	char *text = c->scratch + c->scratch_used;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text, room, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= room)
		return NULL;
	c->scratch_used += (size_t)length + 1;
	return text;
}

const char *capture_proc_key(struct capture *c, uint32_t host_pid, uint64_t start_ns)
{
	return capture_text(c, "%u-%llx", host_pid, (unsigned long long)start_ns);
}

/*
 * Turn names round: each of @components is put before the one that it follows. What is written has
 * at most the size of what is read: a "/" for each NUL.
 */
static struct bytes turn_round(struct capture *c, struct bytes components)
{
	const char *from = components.data;
	char *path = capture_room(c, components.size + 1);
	size_t end = components.size, used = 0;

	if (!path)
		return (struct bytes){NULL, 0};
	while (end > 0) {
		if (from[end - 1] == 0)
			end--;
		const char *before = memrchr(from, 0, end);
		size_t start = before ? (size_t)(before - from) + 1 : 0;
		if (end > start) {
			path[used++] = '/';
			memcpy(path + used, from + start, end - start);
			used += end - start;
		}
		end = start;
	}
	if (used == 0)
		path[used++] = '/';
	return (struct bytes){path, used};
}

struct bytes capture_path(struct capture *c, struct bytes components)
{
	if (components.size == 0)
		return (struct bytes){NULL, 0};
	return turn_round(c, components);
}

void capture_put_path(struct capture *c, enum event_field field, struct bytes components,
		      uint64_t missing)
{
	struct bytes path = capture_path(c, components);

	if (!path.data)
		return;
	if (missing == 0) {
		event_put_bytes(&c->event, field, path.data, path.size);
		return;
	}
	/* The names next to the root are missing, so what is left does not begin there. */
	event_put_bytes(&c->event, field, (const char *)path.data + 1, path.size - 1);
	event_mark_cut(&c->event, field, path.size + missing, NULL);
}

uint64_t capture_session_id(const struct capture *c, uint32_t host_id)
{
	const struct capture_options *o = &c->options;

	if (o->uid_count == 0)
		return host_id;
	if (host_id < o->uid_base || host_id - o->uid_base >= o->uid_count)
		return UINT64_MAX;
	return host_id - o->uid_base;
}

const char *capture_errno_name(int error)
{
	return error > 0 ? strerrorname_np(error) : NULL;
}
