/*
 * Wire records: what BPF programs put into a session's ring and capture takes out. Made from
 * wire.def alone. Included by both sides; on the wire there are only __u64, __u32, __u16 and bytes,
 * and no holes.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "wire.def"

/* The classes that are numbered in the kernel; the same order as enum event_class. */
enum wire_class {
	WIRE_CLASS_process,
	WIRE_CLASS_file,
	WIRE_CLASS_net,
	WIRE_CLASS_dns,
	WIRE_CLASS_policy,
	WIRE_CLASS_COUNT,
};

enum wire_kind {
	WIRE_KIND_NONE,
#define RECORD(name, class) WIRE_KIND_##name,
	WIRE_RECORDS(RECORD)
#undef RECORD
		WIRE_KIND_COUNT
};

enum wire_flag {
	WIRE_FLAG_CONTINUED = 1, /* a tail of this record goes on in chunks; on a chunk: more chunks
				    follow, the last one is without it */
	WIRE_FLAG_FAULT = 2,	 /* part of it could not be read; what is there is true */
	WIRE_FLAG_SOFTIRQ =
		4, /* pid and the like are of the socket's owner, not of the running task */
};

struct wire_head {
	__u64 number;	/* per session, class and CPU, from 0; taken before room is sought */
	__u64 boot_ns;	/* CLOCK_BOOTTIME */
	__u64 start_ns; /* when the acting process was started (group leader's start_boottime) */
	__u64 cgroup;	/* id of the command's cgroup: the ancestor one level below the session's; 0
			   if none */
	__u32 length;	/* of the whole record, this head included */
	__u32 pid;	/* acting process on the host (thread group id) */
	__u32 tid;	/* acting thread on the host */
	__u32 ns_pid;	/* acting process as the session sees it */
	__u16 kind;
	__u16 cpu;
	__u16 class;
	__u16 flags;
};

#define WIRE_U64(name) __u64 name;
#define WIRE_U32(name) __u32 name;
#define WIRE_TAIL(name) __u32 name##_length;
#define RECORD(name, class)                                                                        \
	struct wire_##name {                                                                       \
		struct wire_head head;                                                             \
		WIRE_##name(WIRE_U64, WIRE_U32, WIRE_TAIL) __u8 tails[];                           \
	};
WIRE_RECORDS(RECORD)
#undef RECORD
#undef WIRE_U64
#undef WIRE_U32
#undef WIRE_TAIL

#define WIRE_LENGTH_MAX 65536 /* of one record; what is longer goes on in chunks */

/* Largest piece of one tail in one record. */
#define WIRE_PIECE_MAX 32768

/* Slots of the rings' array: the most sessions that one daemon runs at once. */
#define SESSION_SLOTS 1024

enum session_flag {
	SESSION_READS_EVERYWHERE = 1, /* the policy watches reads below /usr, /lib, /proc ... too */
};

/* Limits whose hits are seen in the kernel. */
#define WIRE_LIMITS(LIMIT)                                                                         \
	LIMIT(memory) LIMIT(pids) LIMIT(disk) LIMIT(inodes) LIMIT(files) LIMIT(file_size)

enum wire_limit {
#define LIMIT(name) WIRE_LIMIT_##name,
	WIRE_LIMITS(LIMIT)
#undef LIMIT
		WIRE_LIMIT_COUNT
};

/* Who sent a signal. */
enum signal_sender {
	SENDER_UNKNOWN,
	SENDER_PROCESS,	   /* of the same session */
	SENDER_SUPERVISOR, /* vitrined, or vitrine-init for it */
	SENDER_OUTSIDE,	   /* another process of the host */
	SENDER_KERNEL,	   /* a fault, a broken pipe, a terminal, the end of pid 1 */
	SENDER_OOM,	   /* the kernel, for want of memory */
};

/* Where the kernel counts the runs of a program that it leaves out (missed.bpf.c). */
struct wire_missed_place {
	__u32 program, unused; /* its id */
	__u64 counts;
};

#define MISSED_PROGRAMS_MAX 128

/* Value of the `deaths` map: of the first process of a command (or of vitrine-init), whose host pid
 * is `pid`. */
struct death {
	__u64 sender_start_ns;
	__u32 pid;
	__u32 ended;  /* 1: what follows is known */
	__u32 status; /* as wait(2) gives it */
	__u32 sender; /* enum signal_sender, of its signal */
	__u32 sender_pid, sender_ns_pid;
};

/* Value of the `sessions` map (key: cgroup id of the session, 64-bit). */
struct session_slot {
	__u32 slot; /* index into `rings` and the counters */
	/* The session's pid 1, vitrine-init: host pid and depth of its pid namespace. Found by the
	 * first program that meets it; user space writes 0. */
	__u32 init_pid;
	__u64 high_water; /* bytes in the ring at which the freezing thread is woken */
	__u64 ring_bytes; /* size of the ring */
	__u32 pid_level;
	__u32 flags;			/* enum session_flag */
	__u64 workspace_dev;		/* s_dev of what is bound to /workspace; 0: none */
	__u64 limits[WIRE_LIMIT_COUNT]; /* that are in force; 0: not */
};

/* Value of the `commands` map (key: cgroup id of a command): limits of its own. */
struct command_slot {
	__u64 limits[WIRE_LIMIT_COUNT]; /* 0: it has none of its own */
	__u64 hits[WIRE_LIMIT_COUNT];	/* only grow */
};

/* `entry` of an attempt: how the kernel was entered. On other ways numbers mean other calls. */
enum call_entry {
	ENTRY_NATIVE,
	ENTRY_I386, /* int 0x80 and what else takes 32-bit calls */
	ENTRY_X32,
};

/* What a filter may answer a call with, as bits of `refused_calls`. */
enum refusal {
	REFUSAL_EPERM = 1,
	REFUSAL_EINVAL = 2,
	REFUSAL_DENIED = 4, /* EPERM too, in some session, by its policy alone */
};

/* `call` of a socket_call. */
enum socket_act {
	SOCKET_CONNECT = 1,
	SOCKET_BIND,
	SOCKET_LISTEN,
	SOCKET_ACCEPT,
	SOCKET_SEND,
	SOCKET_PAIR,
};

/* `known` of a socket_call or socket_close: which of the fields say something. */
enum socket_known {
	SOCKET_KNOWN_SRC = 1,
	SOCKET_KNOWN_DST = 2,
	SOCKET_KNOWN_SIZE = 4,
	SOCKET_KNOWN_RESULT = 8,
	SOCKET_KNOWN_BYTES = 16,
	SOCKET_FROM_MEMORY = 32, /* unix_name is what the caller passed; it may have been changed
				    meanwhile */
};

/* `<path>_flags` of a path tail. */
enum path_flag {
	PATH_DELETED = 1,  /* the leaf has no name any more */
	PATH_DETACHED = 2, /* the walk ended at a mount that is not of the task's namespace */
	PATH_CUT = 4,	   /* too long: names next to the root are missing */
	PATH_PSEUDO = 8,   /* it is in no file system: memfd, pipe, socket; one name or none */
};

/* Reasons for which a number has no record. Index of the `losses` counters. */
enum loss_reason {
	LOSS_RING_FULL, /* no room */
	LOSS_MAP_FULL,	/* a map that remembers state took no more; takes no number */
	LOSS_FAULT,	/* what had to be read was not there */
	LOSS_BUSY,	/* the scratch buffer of the CPU was taken */
	LOSS_REASON_COUNT,
};
