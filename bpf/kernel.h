/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's structures as far as our programs read them, and not a field more. Offsets are found
 * at load time (CO-RE), so order, size and neighbours of the fields here mean nothing.
 */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	__u32 val;
} kuid_t;

typedef struct {
	__u32 val;
} kgid_t;

typedef struct {
	__u64 val;
} kernel_cap_t;

struct list_head {
	struct list_head *next;
};

struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};

struct qstr {
	__u32 hash;
	__u32 len;
	const unsigned char *name;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	__u16 i_mode;
	kuid_t i_uid;
	kgid_t i_gid;
	__u32 i_nlink;
	unsigned long i_ino;
	__u32 i_rdev;
	long long i_size;
	struct super_block *i_sb;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};

struct vfsmount {
	struct dentry *mnt_root;
	int mnt_flags;
};

struct mnt_namespace;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	atomic_long_t f_count; /* until 6.12 */
	__u32 f_mode;
	__u32 f_flags;
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
	long long f_pos;
};

typedef struct {
	atomic_long_t refcnt;
} file_ref_t;

/* Since 6.13. Counts from 0: one reference. */
struct file___ref {
	file_ref_t f_ref;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *close_on_exec;
	unsigned long *open_fds;
};

struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
};

struct fs_struct {
	int umask;
	struct path root;
	struct path pwd;
};

struct mm_struct {
	unsigned long arg_start, arg_end, env_start, env_end;
	struct file *exe_file;
};

struct vm_area_struct {
	unsigned long vm_flags;
	struct file *vm_file;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct cred {
	kuid_t uid, suid, euid, fsuid;
	kgid_t gid, sgid, egid, fsgid;
	kernel_cap_t cap_effective, cap_permitted, cap_inheritable;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct pt_regs {
	unsigned long r10, r9, r8, ax, dx, si, di, orig_ax;
};

struct thread_info {
	__u32 status;
};

struct rlimit {
	unsigned long rlim_cur, rlim_max;
};

struct kernel_siginfo {
	int si_code;
};

struct signal_struct {
	atomic_t live;
	struct mm_struct *oom_mm; /* set when the kernel kills it for want of memory */
	struct rlimit rlim[16];
	int nr_threads;
	struct list_head thread_head;
	int group_exit_code;
	unsigned int flags;
	unsigned long maxrss;
	unsigned long long sum_sched_runtime;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup *ancestors[1]; /* one for each level, itself included; since 6.1 */
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
};

enum cgroup_subsys_id { memory_cgrp_id = 1, pids_cgrp_id = 2 }; /* the kernel's own at load */

struct page_counter {
	atomic_long_t usage;
	unsigned long max;
};

struct mem_cgroup {
	struct page_counter memory;
};

struct pids_cgroup {
	atomic_long_t counter;
	atomic_long_t limit;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int pid, tgid;
	int exit_code;
	__u64 start_boottime;
	struct sched_entity se;
	struct list_head thread_node;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct mm_struct *mm;
	struct files_struct *files;
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct css_set *cgroups;
	const struct cred *cred;
};

struct trace_event_raw_sys_enter {
	unsigned long args[6];
};

struct bpf_array {
	void *pptrs[1];
};

typedef struct {
	__u64 v;
} u64_stats_t;

struct bpf_prog_stats {
	u64_stats_t misses;
};

struct bpf_prog_aux {
	__u32 id;
};

struct bpf_prog {
	struct bpf_prog_stats *stats; /* each processor has its own, at an offset from this */
	struct bpf_prog_aux *aux;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_prog {
	struct bpf_iter_meta *meta;
	struct bpf_prog *prog;
};

struct linux_binprm {
	const char *filename;
	const char *interp;
	struct file *file;
	int argc;
};

#pragma clang attribute pop

#define PF_FORKNOEXEC 0x00000040

#define S_IFMT 00170000
#define S_IFREG 0100000

#ifndef NULL
#define NULL ((void *)0)
#endif
typedef _Bool bool;
#define true 1
#define false 0
