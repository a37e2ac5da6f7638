/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which system calls are looked at when they return, and by which program. One row a call; several
 * calls may share a program. From this table the dispatcher (syscalls.bpf.c) knows which numbers
 * matter at all, and the loader fills the `on_exit_calls` array: entry __NR_<call> = <program>.
 *
 * A program of the table is a SEC("tp_btf/sys_exit") BPF_PROG(name, struct pt_regs *regs, long ret)
 * that is never attached itself. It is entered for every process of the host that makes the call,
 * so it begins with a cheap look at the result and then session_of_current(). The arguments of the
 * call are those of the registers (SYSCALL_ARG1 ...): what the caller passed, which the kernel
 * leaves alone on the way out.
 */
#pragma once

#include <asm/unistd.h>

/* Newer than the headers that we build with. */
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif

#define SYSCALL_NUMBERS 512

/* Of `on_exit_calls`, behind the numbers: what a filter refused goes to on_exit_refused. */
#define REFUSED_EXIT SYSCALL_NUMBERS
/* And what ran into a limit to on_exit_limit. */
#define LIMIT_EXIT (SYSCALL_NUMBERS + 1)

/* clang-format off */
#define SYSCALL_EXITS(CALL) \
	CALL(open, on_exit_open) \
	CALL(openat, on_exit_open) \
	CALL(openat2, on_exit_open) \
	CALL(creat, on_exit_open) \
	CALL(open_by_handle_at, on_exit_open) \
	CALL(write, on_exit_write) \
	CALL(pwrite64, on_exit_write) \
	CALL(writev, on_exit_write) \
	CALL(pwritev, on_exit_write) \
	CALL(pwritev2, on_exit_write) \
	CALL(sendfile, on_exit_write) \
	CALL(splice, on_exit_splice) \
	CALL(copy_file_range, on_exit_splice) \
	CALL(fallocate, on_exit_fallocate) \
	CALL(mmap, on_exit_mmap) \
	CALL(mprotect, on_exit_mprotect) \
	CALL(ftruncate, on_exit_ftruncate) \
	CALL(ioctl, on_exit_ioctl) \
	CALL(unlink, on_exit_name) \
	CALL(unlinkat, on_exit_name) \
	CALL(rmdir, on_exit_name) \
	CALL(rename, on_exit_name) \
	CALL(renameat, on_exit_name) \
	CALL(renameat2, on_exit_name) \
	CALL(link, on_exit_name) \
	CALL(linkat, on_exit_name) \
	CALL(symlink, on_exit_name) \
	CALL(symlinkat, on_exit_name) \
	CALL(mkdir, on_exit_name) \
	CALL(mkdirat, on_exit_name) \
	CALL(mknod, on_exit_name) \
	CALL(mknodat, on_exit_name) \
	CALL(chmod, on_exit_attr) \
	CALL(fchmod, on_exit_attr) \
	CALL(fchmodat, on_exit_attr) \
	CALL(fchmodat2, on_exit_attr) \
	CALL(chown, on_exit_attr) \
	CALL(lchown, on_exit_attr) \
	CALL(fchown, on_exit_attr) \
	CALL(fchownat, on_exit_attr) \
	CALL(setxattr, on_exit_attr) \
	CALL(lsetxattr, on_exit_attr) \
	CALL(fsetxattr, on_exit_attr) \
	CALL(setxattrat, on_exit_attr) \
	CALL(removexattr, on_exit_attr) \
	CALL(lremovexattr, on_exit_attr) \
	CALL(fremovexattr, on_exit_attr) \
	CALL(removexattrat, on_exit_attr) \
	CALL(utime, on_exit_attr) \
	CALL(utimes, on_exit_attr) \
	CALL(futimesat, on_exit_attr) \
	CALL(utimensat, on_exit_attr) \
	CALL(truncate, on_exit_attr) \
	CALL(connect, on_exit_connect) \
	CALL(bind, on_exit_bind) \
	CALL(listen, on_exit_listen) \
	CALL(accept, on_exit_accept) \
	CALL(accept4, on_exit_accept) \
	CALL(socketpair, on_exit_socketpair) \
	CALL(sendto, on_exit_send) \
	CALL(sendmsg, on_exit_send) \
	CALL(sendmmsg, on_exit_send) \
	CALL(execve, on_exit_exec) \
	CALL(execveat, on_exit_exec) \
	CALL(setuid, on_exit_credentials) \
	CALL(setgid, on_exit_credentials) \
	CALL(setreuid, on_exit_credentials) \
	CALL(setregid, on_exit_credentials) \
	CALL(setresuid, on_exit_credentials) \
	CALL(setresgid, on_exit_credentials) \
	CALL(setfsuid, on_exit_credentials) \
	CALL(capset, on_exit_credentials) \
	CALL(unshare, on_exit_credentials) \
	CALL(setns, on_exit_credentials)

/* What an error that limits give means of a call. write, copy: its first or third argument is a descriptor of what was to
 * grow. name: it makes a name. watch: its EMFILE is of other things than open files. */
#define LIMITED_CALLS(CALL) \
	CALL(fork, fork) \
	CALL(vfork, fork) \
	CALL(clone, fork) \
	CALL(clone3, fork) \
	CALL(write, write) \
	CALL(pwrite64, write) \
	CALL(writev, write) \
	CALL(pwritev, write) \
	CALL(pwritev2, write) \
	CALL(sendfile, write) \
	CALL(fallocate, write) \
	CALL(ftruncate, write) \
	CALL(fsync, write) \
	CALL(fdatasync, write) \
	CALL(splice, copy) \
	CALL(copy_file_range, copy) \
	CALL(open, open) \
	CALL(openat, open) \
	CALL(openat2, name) \
	CALL(creat, name) \
	CALL(mkdir, name) \
	CALL(mkdirat, name) \
	CALL(mknod, name) \
	CALL(mknodat, name) \
	CALL(symlink, name) \
	CALL(symlinkat, name) \
	CALL(link, name) \
	CALL(linkat, name) \
	CALL(rename, name) \
	CALL(renameat, name) \
	CALL(renameat2, name) \
	CALL(inotify_init, watch) \
	CALL(inotify_init1, watch) \
	CALL(fanotify_init, watch) \
	CALL(perf_event_open, watch)
/* clang-format on */

enum limited_call {
	LIMITED_nothing,
	LIMITED_fork,
	LIMITED_write,
	LIMITED_copy,
	LIMITED_open,
	LIMITED_name,
	LIMITED_watch,
};

#define SYSCALL_ARG1(regs) ((regs)->di)
#define SYSCALL_ARG2(regs) ((regs)->si)
#define SYSCALL_ARG3(regs) ((regs)->dx)
#define SYSCALL_ARG4(regs) ((regs)->r10)
#define SYSCALL_ARG5(regs) ((regs)->r8)
#define SYSCALL_ARG6(regs) ((regs)->r9)
