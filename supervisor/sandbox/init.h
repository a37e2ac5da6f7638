/*
 * vitrine-init, pid 1 of a session: what the launcher's child becomes, without an exec. What
 * vitrined and it say to each other is on its descriptor 3; until it is ready, the child reports on
 * the same socket.
 */
#pragma once

#include "capabilities.h"
#include "setup.h"

#include <stdint.h>

#define INIT_NAME "vitrine-init"
#define INIT_COMMANDS_MAX 64 /* alive at once */

/* Of init, within the session's user namespace; all others are gone, from its bounding set too.
 * SYS_ADMIN is for the cgroup namespace of each command. */
#define INIT_CAPABILITIES                                                                          \
	(CAPABILITY_BIT(CAP_CHOWN) | CAPABILITY_BIT(CAP_DAC_OVERRIDE) |                            \
	 CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_FSETID) | CAPABILITY_BIT(CAP_SETUID) |    \
	 CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_KILL) | CAPABILITY_BIT(CAP_SETPCAP) |     \
	 CAPABILITY_BIT(CAP_SYS_ADMIN))

enum init_descriptor {
	INIT_FD_CONTROL = 3,
	INIT_FD_COUNT = 4,
};

enum init_request_kind {
	INIT_DRESS,  /* the first, once: what this session has; descriptors: enum init_dress_fd */
	INIT_BEGIN,  /* make the process of command exec, as_root or not, with the filter or before
		      * it gets it last;  descriptors: enum init_begin_fd */
	INIT_EXEC,   /* to that process, which waits for it; descriptors: enum init_exec_fd */
	INIT_SIGNAL, /* to the first process of command exec */
};

enum init_dress_flag {
	INIT_WORKSPACE = 1,
	INIT_SECRETS = 2,
};

enum init_dress_fd {
	INIT_DRESS_FILTER, /* memfd: array of struct sock_filter */
	INIT_DRESS_FIXED,  /* behind it, as far as they are there, in this order: */
	/* detached mount of the workspace, with INIT_WORKSPACE */
	/* detached mount for /run/secrets, with INIT_SECRETS */
	/* `tasks` of v1 cgroups that init enters */
	INIT_DRESS_MAX = INIT_DRESS_FIXED + 6,
};

enum init_begin_fd {
	INIT_BEGIN_CGROUP,    /* that it is born in */
	INIT_BEGIN_WORDS,     /* where init hears it, and it vitrined */
	INIT_BEGIN_OWN_WORDS, /* the other end of that */
	INIT_BEGIN_CGROUPS,   /* behind them: `tasks` of v1 cgroups that it enters */
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
	uint32_t flags; /* enum init_dress_flag */
	int32_t signal;
	uint32_t as_root;     /* BEGIN */
	uint32_t filter_last; /* BEGIN: right before it executes. Another filter than the table's
				 may refuse what comes before */
	uint32_t tty;
	uint32_t is_gated; /* it is executed when a byte comes out of the gate */
	uint16_t columns, rows;
	uint32_t argc, envc;
	uint64_t payload_bytes;
	uint64_t files, file_size_bytes; /* resource limits of its processes; 0: none asked for */
};

enum init_report_kind {
	INIT_WAITING,	   /* pid 1 waits to be dressed; not said where it need not wait */
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

/*
 * Be it, until vitrined closes the socket: root and namespaces are the session's, descriptors are
 * those of enum init_descriptor and no more. Returns only if it cannot: -errno, with *ret_step.
 */
int init_run(enum setup_step *ret_step);
