/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps that every subject shares. They are defined once, in maps.bpf.c; everybody else sees
 * them as extern.
 */
#pragma once

#include "kernel.h"
#include "wire.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef MAP
#define MAP extern
#endif

/* One ring a session, made ahead by user space; a slot is an index. The size here is that of the
 * loader's template only. */
struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SESSION_SLOTS);
	__type(key, __u32);
	__array(values, struct ring_map);
};
MAP struct rings_map rings SEC(".maps");

/* Which cgroup is a session. Key: 64-bit cgroup id. */
struct sessions_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SESSION_SLOTS);
	__type(key, __u64);
	__type(value, struct session_slot);
};
MAP struct sessions_map sessions SEC(".maps");

/* Next number per CPU: index slot * WIRE_CLASS_COUNT + class. Only grows. */
struct numbers_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SESSION_SLOTS *WIRE_CLASS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
};
MAP struct numbers_map numbers SEC(".maps");

/* What was not sent, per CPU: index (slot * WIRE_CLASS_COUNT + class) * LOSS_REASON_COUNT + reason.
 * Only grows. */
struct losses_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SESSION_SLOTS *WIRE_CLASS_COUNT *LOSS_REASON_COUNT);
	__type(key, __u32);
	__type(value, __u64);
};
MAP struct losses_map losses SEC(".maps");

/* Bytes that an exec which has begun will send, by slot: they take room in the ring before they are
 * there. The recorder's freezing thread reads them as memory. */
struct exec_bytes_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SESSION_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
};
MAP struct exec_bytes_map exec_bytes SEC(".maps");

/* A walk from a dentry up to the root; see path.h. */
struct path_walk {
	struct path *from;
	struct dentry *dentry;
	struct dentry *root; /* of the mount */
	struct mount *mount;
	__u32 offset; /* from the start of the scratch's data */
	__u32 end;    /* not to be passed */
	__u32 flags;  /* enum path_flag */
	__u32 reserved;
};

/* Where a walk over an argument vector stands; see exec.bpf.c. */
struct argument_walk {
	__u64 number;	/* of the record that the pieces belong to */
	__u64 offset;	/* of the next piece in the whole value */
	__u64 at;	/* next byte, in the session's memory */
	__u64 end;	/* of the argument area */
	__u64 pointers; /* next element of argv */
	__u64 bytes;	/* seen so far */
	__u32 count;	/* arguments seen so far */
	__u32 fill;	/* where in the scratch's data the next byte goes */
	__u32 limit;	/* not to be passed by it */
	__u32 state;	/* enum argument_state */
	__u32 steps;	/* left */
	__u32 reserved;
};

/*
 * Where a record is put together: twice the longest record, so that a masked offset plus a piece
 * stays inside. The state of a loop is here and not on the stack too: of memory the verifier keeps
 * no values, so it looks at one pass of the loop and not at every path that led there.
 */
struct scratch {
	__u32 busy;
	__u32 reserved;
	struct path_walk walk;
	struct argument_walk arguments;
	__u8 data[2 * WIRE_LENGTH_MAX];
};

/* One for each CPU; a per-CPU map takes no value of this size. User space sets max_entries to the
 * possible CPUs. */
struct scratch_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct scratch);
};
MAP struct scratch_map scratches SEC(".maps");

/* Children of vitrine-init that have not come to their exec yet: what they do is set-up. Key: host
 * pid. */
struct starting_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * SESSION_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
};
MAP struct starting_map starting SEC(".maps");

/* Set before load: depth of a session's cgroup in the hierarchy, and who we are. */
#ifdef MAPS_HERE
const volatile __u32 session_level = 2;
const volatile __u32 supervisor_pid = 0; /* of vitrined */
#else
extern const volatile __u32 session_level, supervisor_pid;
#endif
