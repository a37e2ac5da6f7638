/*
 * What vitrined and the init of a session say to each other, on descriptor 3 of init. Until init
 * runs, the launcher's child reports on the same socket.
 */
#pragma once

#include "setup.h"

#include <linux/capability.h>
#include <stdint.h>

#define INIT_COMMANDS_MAX 64 /* alive at once */

/* Of init, within the session's user namespace; all others are gone from its bounding set.
 * SYS_ADMIN is for the cgroup namespace of each command. */
#define CAPABILITY_BIT(capability) (1ull << (capability))
#define INIT_CAPABILITIES                                                                          \
	(CAPABILITY_BIT(CAP_CHOWN) | CAPABILITY_BIT(CAP_DAC_OVERRIDE) |                            \
	 CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_FSETID) | CAPABILITY_BIT(CAP_SETUID) |    \
	 CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_KILL) | CAPABILITY_BIT(CAP_SETPCAP) |     \
	 CAPABILITY_BIT(CAP_SYS_ADMIN))

enum init_descriptor {
	INIT_FD_CONTROL = 3,
	INIT_FD_FILTER = 4, /* memfd: array of struct sock_filter */
	INIT_FD_COUNT = 5,
};

enum init_request_kind {
	INIT_BEGIN,  /* make the process of command exec; descriptors: enum init_begin_fd */
	INIT_EXEC,   /* what that process waits for; descriptors: enum init_exec_fd */
	INIT_SIGNAL, /* to the first process of command exec */
};

enum init_begin_fd {
	INIT_BEGIN_CGROUP,  /* that it is born in */
	INIT_BEGIN_CGROUPS, /* behind it: `tasks` of v1 cgroups that it enters */
};

enum init_exec_fd {
	INIT_EXEC_PAYLOAD, /* memfd: argv, env, cwd, each closed by a NUL, in this order */
	INIT_EXEC_STDIN,   /* the three only without a terminal */
	INIT_EXEC_STDOUT,
	INIT_EXEC_STDERR,
	INIT_EXEC_COUNT, /* behind them the gate, where there is one */
};

struct init_request {
	uint32_t kind;
	uint32_t exec;
	int32_t signal;
	uint32_t as_root;
	uint32_t tty;
	uint32_t is_gated; /* it is executed when a byte comes out of the gate */
	uint16_t columns, rows;
	uint32_t argc, envc;
	uint64_t payload_bytes;
	uint64_t files, file_size_bytes; /* resource limits of its processes; 0: none asked for */
};

enum init_report_kind {
	INIT_READY,	   /* pid 1 waits for commands */
	INIT_SETUP_FAILED, /* error and step are set; nothing runs */
	INIT_TERMINAL,	   /* of exec; descriptor: the master */
	INIT_STARTED,
	INIT_FAILED, /* error and step are set; its process is reaped */
	INIT_EXITED,
};

struct init_report {
	uint32_t kind;
	uint32_t exec;
	int32_t pid; /* inside the session */
	int32_t wait_status;
	int32_t error;
	uint32_t step;
	uint64_t cpu_ns;
	uint64_t memory_peak;
};
