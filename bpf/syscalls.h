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

#define SYSCALL_NUMBERS 512

/* clang-format off */
#define SYSCALL_EXITS(CALL) \
	CALL(open, on_exit_open) \
	CALL(openat, on_exit_open) \
	CALL(openat2, on_exit_open) \
	CALL(creat, on_exit_open) \
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
/* clang-format on */

#define SYSCALL_ARG1(regs) ((regs)->di)
#define SYSCALL_ARG2(regs) ((regs)->si)
#define SYSCALL_ARG3(regs) ((regs)->dx)
#define SYSCALL_ARG4(regs) ((regs)->r10)
#define SYSCALL_ARG5(regs) ((regs)->r8)
#define SYSCALL_ARG6(regs) ((regs)->r9)
