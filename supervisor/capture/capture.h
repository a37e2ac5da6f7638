/*
 * Capture of one session: wire records in, events out, in the order of the ring.
 *
 * Each kind of wire record has one function, translate_<kind>, in the file of its subject:
 * process_events.c, file_events.c, net_events.c, dns_events.c. The table that calls them is made
 * from wire.def.
 */
#pragma once

#include "../record/event.h"
#include "../sandbox/syscall_policy.h"
#include "wire_record.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/sysmacros.h>

struct processes;
struct files;
struct sockets;
struct dns_streams;
struct names;

/* Takes an event; it and all that it points to are valid during the call. 0, or an error that stops
 * the drain. */
typedef int capture_emit(void *context, struct event *e);

struct capture_options {
	const char *session;	      /* session id; borrowed for the life of the capture */
	uint32_t slot;		      /* of the session's ring, and of its entries in maps */
	uint32_t uid_base, uid_count; /* host ids of the session's user namespace; count 0: ids are
					 the host's */
	int names_fd;		      /* socket of vitrine-names, -1 if there is none */
	int fanotify_fd; /* fanotify group on the session's own file systems, -1 if there is none */
	int root_mount_fd; /* a mount of the session's root, for vitrine-names; -1 without fanotify
			    */
	const char *const *watch_reads; /* see capture_ask */
	struct syscall_changes syscalls;
	capture_emit *emit;
	void *emit_context;
};

#define CAPTURE_SCRATCH (256 * 1024)

struct capture {
	struct capture_options options;
	struct processes *processes;
	struct files *files;
	struct sockets *sockets;
	struct dns_streams *dns;
	int64_t wall_minus_boot_ns; /* kept by the recorder, which also writes `clock` records */
	uint64_t filtered[WIRE_CLASS_COUNT]; /* records that policy left out, so that counts add up
					      */
	struct event event;		     /* the one being made */
	size_t scratch_used;
	char scratch[CAPTURE_SCRATCH];
	struct capture_exec {
		uint64_t cgroup;
		uint32_t exec;
		bool has_ended;
	} execs[128]; /* cgroup ids of the session's commands; 0 ends it */
};

int capture_new(const struct capture_options *options, struct capture **ret_capture);
/* What the session's policy asks for, before the first record: @watch_reads (NULL-terminated glob
 * patterns; borrowed), and what it changes of the calls that are allowed. */
void capture_ask(struct capture *c, const char *const *watch_reads,
		 const struct syscall_changes *syscalls);
void capture_free(struct capture *c);

/* Tell which cgroup belongs to command @exec; it may be told again. -ENOSPC when the table is full:
 * the oldest that has ended is then dropped, or the oldest. */
int capture_add_exec(struct capture *c, uint64_t cgroup, uint32_t exec);
/* It has ended; what is still told of it is its own as long as there is room. */
void capture_end_exec(struct capture *c, uint32_t exec);

/*
 * Read what fanotify has queued. Called before each drain of the ring up to a position taken
 * earlier, so that for every record of the drain the name is known. 0 or -errno.
 */
int capture_take_names(struct capture *c);

/* Translate one record: zero or more calls of emit. 0, or the error of emit. */
int capture_record(struct capture *c, const struct wire_record *record);

/* The session is over and its ring is drained: emit what is still open (files, sockets). */
int capture_finish(struct capture *c, int written_files_map_fd);

/* ---- for the translate functions ---- */

/* Forget the scratch of the record before; start an event with who acted (exec, proc, pid,
 * host_pid, tid). */
struct event *capture_begin(struct capture *c, const struct wire_record *record,
			    enum event_kind kind);

/* Number of the command whose cgroup @cgroup is; 0 if it is none's. */
uint32_t capture_exec_of(const struct capture *c, uint64_t cgroup);

/* A device as stat(2) tells it, from the kernel's own form (s_dev, i_rdev). */
static inline uint64_t capture_dev(uint64_t kernel_dev)
{
	return makedev(kernel_dev >> 20, kernel_dev & 0xfffff);
}

/* Text made in the scratch; NULL when it is full (the field is then absent). */
const char *capture_text(struct capture *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void *capture_room(struct capture *c, size_t size);

/* Key of a process: "<host pid>-<start time, hex>". */
const char *capture_proc_key(struct capture *c, uint32_t host_pid, uint64_t start_ns);

/*
 * A path tail (components, leaf first, each closed by a NUL; see bpf/path.h) as a path from the
 * session's root. {NULL, 0} for an empty tail. "/" for a tail of one empty component.
 */
struct bytes capture_path(struct capture *c, struct bytes components);

/* Put a path into the event as @field, absent if unknown, marked as cut if @missing bytes of it
 * are. */
void capture_put_path(struct capture *c, enum event_field field, struct bytes components,
		      uint64_t missing);

/* Id inside the session of a host id; UINT64_MAX if it is not one of the session's (the field is
 * then absent). */
uint64_t capture_session_id(const struct capture *c, uint32_t host_id);

/* Name of an error number ("ENOENT"), static; NULL if unknown. */
const char *capture_errno_name(int error);

int capture_send(struct capture *c); /* emit c->event */

#define RECORD(name, class)                                                                        \
	int translate_##name(struct capture *c, const struct wire_record *record);
WIRE_RECORDS(RECORD)
#undef RECORD

/* Life of each subject's state. */
int processes_new(struct processes **ret);
void processes_free(struct processes *p);
int files_new(struct files **ret);
void files_free(struct files *f);
int files_take_names(struct capture *c);
int files_finish(struct capture *c, int written_files_map_fd);
int sockets_new(struct sockets **ret);
void sockets_free(struct sockets *s);
int sockets_finish(struct capture *c);
int dns_streams_new(struct dns_streams **ret);
void dns_streams_free(struct dns_streams *d);
int dns_streams_finish(struct capture *c);
