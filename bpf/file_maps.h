/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps of the file programs. Defined once, in maps.bpf.c.
 */
#pragma once

#include "maps.h"

#include "file_wire.h"

/* So that one session cannot take the room of all others. */
#define WRITTEN_FILES_OF_SESSION 16384

struct written_files_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct written_key);
	__type(value, struct written_file);
};
MAP struct written_files_map written_files SEC(".maps");

/* Key: slot. */
struct file_counts_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SESSION_SLOTS);
	__type(key, __u32);
	__type(value, struct file_counts);
};
MAP struct file_counts_map file_counts SEC(".maps");

/* Who wrote through a description that more than WRITERS_LISTED processes wrote through. A file id
 * is never given twice, so what is left behind harms nobody and may be forgotten. */
struct writer_key {
	__u64 file_id;
	__u32 slot;
	__u32 pid;
};

struct more_writers_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct writer_key);
	__type(value, __u8);
};
MAP struct more_writers_map more_writers SEC(".maps");

#define SUSPECTS_MAX 8

/* Files of a process (host pid) whose last reference may go where no program sees it: they are
 * looked at again at its next exec and at its end. */
struct suspects {
	__u64 files[SUSPECTS_MAX];
	__u32 count;
	__u32 reserved;
};

struct suspects_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct suspects);
};
MAP struct suspects_map suspects_of SEC(".maps");

/* A shared mapping that is not writable yet, by the file that is mapped: an overlay maps another
 * one than was opened. */
struct mapping_key {
	__u64 mapped;
	__u32 slot;
	__u32 reserved;
};

struct mapping {
	__u64 opened; /* struct file; may be gone */
	__u64 inode;
	__u64 file_id;
	__u64 dev;
	__u64 ino;
	__u64 size;
	__u32 mode;
	__u32 reserved;
};

struct mappings_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct mapping_key);
	__type(value, struct mapping);
};
MAP struct mappings_map mappings SEC(".maps");

/* How many names each thread (host tid) has removed or moved. */
struct name_acts_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
};
MAP struct name_acts_map name_acts SEC(".maps");

/* A walk over a table of descriptors. */
struct table_walk {
	struct file **files;
	unsigned long *bitmap;
	__u64 bits;  /* of the word in hand, not yet looked at */
	__u64 id;    /* of this walk */
	__u32 next;  /* first descriptor of the next word */
	__u32 first; /* descriptors to look at: first to last */
	__u32 last;
	__u32 end; /* of the table */
};

/* A call that names something, as its registers had it. */
struct name_call {
	const char *requested;
	const char *new_requested;
	const char *xattr;
	__u64 size;
	__s32 directory;
	__s32 new_directory;
	__u32 operation; /* enum file_name_operation or enum file_attr_change */
	__u32 flags;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 known;
};

#define FILE_COPY 256
#define INODE_COPY 128

/* A struct file and the beginning of its inode, each read at once: a read of one field costs as
 * much as a read of all. */
struct file_view {
	struct file *file;
	struct inode *inode;
	__u8 file_copy[FILE_COPY];
	__u8 inode_copy[INODE_COPY];
};

/* What a program needs beside its 512 bytes of stack; of memory the verifier keeps no values, so it
 * looks at a loop once. */
struct file_work {
	struct file_view view;
	struct table_walk walk;
	struct name_call call;
	struct written_file fresh;
	__u64 top; /* dentry next to the root, in a walk that looks for it */
	struct dentry *dentry;
	struct dentry *root;
	struct mount *mount;
};

struct file_work_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct file_work);
};
MAP struct file_work_map file_work SEC(".maps");

/* Renames of the host since the programs were loaded: while it stands still, a path stays what it
 * was. */
#ifdef MAPS_HERE
__u64 renames;
#else
extern __u64 renames;
#endif
