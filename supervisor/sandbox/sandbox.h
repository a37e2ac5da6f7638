/*
 * One sandbox: its cgroup, root file system, namespaces and pid 1, as vitrined sees it.
 *
 * Life: sandbox_create -> sandbox_exec (once per command) -> sandbox_next_status ... ->
 * sandbox_kill -> sandbox_free. Nothing here blocks for longer than the set-up itself. Clean-up can
 * be called in any state, twice, and after a crash.
 */
#pragma once

#include "syscall_policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct launcher;
struct phases;
struct sandbox;

/*
 * The launcher: a tiny static process (vitrine-launcher in @bin_dir_fd) that forks sessions,
 * because forking from a big process is slow. Started once, before anything else is loaded. 0 or
 * -errno.
 */
int launcher_start(int bin_dir_fd, struct launcher **ret_launcher);
void launcher_stop(struct launcher *l);
/* Readable when the launcher has died. */
int launcher_pidfd(const struct launcher *l);

/* Where cgroups of this daemon live. */
struct cgroup_root {
	char path[256]; /* of the cgroup2 mount, e.g. /sys/fs/cgroup/unified */
	int fd;		/* <path>/vitrine, made if it was not there */
	uint32_t
		session_level; /* depth of <path>/vitrine/<id> below the root of the hierarchy: 2 */
	bool pure;	       /* no v1 hierarchies */
};
/* Find the cgroup2 mount (pure or hybrid) and make `vitrine` in it. 0 or -errno, message in
 * @ret_error (512). */
int cgroup_root_open(struct cgroup_root *ret_root, char ret_error[512]);
/* Close, and remove `vitrine` if nothing is in it. */
void cgroup_root_close(struct cgroup_root *root);

enum sandbox_net { SANDBOX_NET_NONE, SANDBOX_NET_HOST };

/* Limits that a controller of the host's cgroups holds. */
enum sandbox_controller {
	SANDBOX_MEMORY,
	SANDBOX_PIDS,
	SANDBOX_CPU,
	SANDBOX_IO,
	SANDBOX_CONTROLLERS,
};

/* Where files of a session come from. */
#define SANDBOX_IO_PLACES 2
struct sandbox_io_place {
	const char *path; /* borrowed; NULL: none */
	dev_t dev;
	bool is_writable;
};

/* 0: no limit. */
struct sandbox_limits {
	uint64_t memory_bytes; /* swap included */
	uint64_t pids;	       /* processes and threads of commands */
	uint64_t cpu_milli;    /* thousandths of a processor */
	uint64_t cpu_weight;   /* share of a busy processor; 100: as everybody else */
	uint64_t io_bytes;     /* a second, read and written each, of each disk */
	uint64_t files;	       /* open files of each process */
	uint64_t file_size_bytes;
	struct sandbox_io_place io_places[SANDBOX_IO_PLACES]; /* filled by the sandbox */
};

/* A tree of files that the root is made of. */
struct sandbox_template {
	int fd;		  /* its directory, borrowed */
	const char *name; /* for errors */
};

struct sandbox_options {
	const char *id;				 /* session id: name of the cgroup, host name */
	uint32_t slot;				 /* picks the range of host ids */
	const char *workspace;			 /* host directory for /workspace, or NULL */
	const int *workspace_fd;		 /* the same, opened already; NULL: by its name */
	const struct sandbox_template *template; /* NULL: the root is made of the host's system */
	int secrets_fd; /* detached mount for /run/secrets, borrowed until sandbox_launched; 0:
			   none */
	enum sandbox_net net;
	bool workspace_for_root; /* files in /workspace belong to session root, not to agent (--user
				    root) */
	struct syscall_changes syscalls;
	uint64_t upper_bytes;  /* size of the ephemeral upper; 0: 2 GiB */
	uint64_t upper_inodes; /* 0: 1,000,000 */
	struct sandbox_limits limits;
	struct phases *phases; /* where the steps are marked; NULL: nowhere */
};

/* Each session has a range of the host's user ids: where that of @slot begins. */
#define SANDBOX_UID_FIRST 0x20000000u
#define SANDBOX_UIDS 65536
static inline uint32_t sandbox_uid_base(uint32_t slot)
{
	return SANDBOX_UID_FIRST + slot * SANDBOX_UIDS;
}

struct sandbox_error {
	const char *step; /* static: which step of the set-up */
	int error;	  /* errno */
	char text[512];	  /* one line: the value at fault and the mend */
};

/* Below info.stage_fd: what the session has written, and what it found. */
#define SANDBOX_UPPER "upper"
#define SANDBOX_BASE "base"

/* What the rest of vitrined needs to know of a sandbox. Descriptors belong to the sandbox. */
struct sandbox_info {
	uint64_t cgroup;   /* id of the session's cgroup (inode number of its directory) */
	int cgroup_fd;	   /* its directory */
	int freeze_fd;	   /* cgroup.freeze, open for writing */
	int fanotify_fd;   /* group marked on the session's own file systems; -1 if it cannot be had
			    */
	int root_mount_fd; /* a mount of the session's root, for open_by_handle_at; -1 without
			      fanotify */
	int stage_fd; /* directory with SANDBOX_UPPER and SANDBOX_BASE: the layers of its root */
	int lower_fd; /* the layer below them */
	int workspace_fd;		    /* what is bound to /workspace; -1: nothing */
	pid_t init_pid;			    /* host pid of vitrine-init */
	dev_t workspace_dev;		    /* of what is bound to /workspace; 0: nothing */
	uint64_t upper_bytes, upper_inodes; /* size of the ephemeral upper */
	uint32_t uid_base, uid_count;
};

/*
 * Build everything up to a running pid 1 that waits for commands, in three steps between which the
 * caller may do other things: sandbox_begin asks for it, sandbox_launched waits until its processes
 * and mounts are there (info is complete), sandbox_ready until pid 1 can take commands. A step that
 * fails tells which in @ret_error; sandbox_free then leaves nothing. 0 or -errno.
 *
 * A sandbox can also be made ahead: sandbox_prepare asks for one of which only id, slot, template
 * and net are settled, and after sandbox_launched and sandbox_ready it waits. What else one session
 * asks for it is given by sandbox_dress, once, with @options of the same id, slot, template and
 * net; then sandbox_launched and sandbox_ready are called again. sandbox_begin is both at once.
 */
int sandbox_prepare(struct launcher *l, const struct cgroup_root *root,
		    const struct sandbox_options *options, struct sandbox **ret_sandbox,
		    struct sandbox_error *ret_error);
int sandbox_dress(struct sandbox *s, const struct sandbox_options *options,
		  struct sandbox_error *ret_error);
int sandbox_begin(struct launcher *l, const struct cgroup_root *root,
		  const struct sandbox_options *options, struct sandbox **ret_sandbox,
		  struct sandbox_error *ret_error);
int sandbox_launched(struct sandbox *s, struct sandbox_error *ret_error);
int sandbox_ready(struct sandbox *s, struct sandbox_error *ret_error);
/* Becomes readable when sandbox_ready would not wait; -1: it has returned already. */
int sandbox_ready_fd(const struct sandbox *s);
/* Its root is made of what the host has now, and it has not ended. */
bool sandbox_is_current(struct sandbox *s);
/* All three at once; on failure nothing is left behind. */
int sandbox_create(struct launcher *l, const struct cgroup_root *root,
		   const struct sandbox_options *options, struct sandbox **ret_sandbox,
		   struct sandbox_error *ret_error);
const struct sandbox_info *sandbox_info(const struct sandbox *s);

struct sandbox_command {
	uint32_t exec; /* number of the command: name of its leaf cgroup */
	const char *const
		*argv; /* NULL-terminated; argv[0] is looked up in PATH of @env as a shell would */
	const char *const *env; /* NULL-terminated, complete */
	const char *cwd;
	bool as_root;			    /* session's root instead of agent (1000) */
	int stdin_fd, stdout_fd, stderr_fd; /* borrowed; ignored with a terminal */
	int gate_fd; /* end of a pipe, borrowed: it is executed when a byte comes, and not at all
			when that closes; 0: at once */
	bool tty;
	uint16_t columns, rows;
};

/*
 * Make the command's leaf cgroup. Its id has to be known to the recorder before the command runs.
 */
int sandbox_prepare_exec(struct sandbox *s, uint32_t exec, uint64_t *ret_cgroup);

/*
 * Give a prepared command limits of its own, within the session's; of memory, processes, processor,
 * open files and their size. Each holds when this returns 0; else -errno, and what is missing in
 * @ret_error.
 */
int sandbox_limit_exec(struct sandbox *s, uint32_t exec, const struct sandbox_limits *limits,
		       struct sandbox_error *ret_error);

/*
 * Have pid 1 make the process of a prepared command, which is the session's root or agent from then
 * on and waits for what to execute; sandbox_exec does that too where it was not done. The sensors
 * have to watch the session by then: what processes they saw no birth of does is the session's own.
 * 0 or -errno.
 */
int sandbox_begin_exec(struct sandbox *s, uint32_t exec, bool as_root);

/*
 * Ask pid 1 to start a prepared command; the answer comes as a status. With tty the master of a new
 * pty of the session's own devpts does, first of all: processes of the session may hold that up, so
 * nobody waits for it. 0 or -errno.
 */
int sandbox_exec(struct sandbox *s, const struct sandbox_command *command,
		 struct sandbox_error *ret_error);

enum sandbox_status_kind {
	SANDBOX_STARTED, /* pid is the command's */
	SANDBOX_FAILED,	 /* could not be run: error is set (ENOENT, EACCES, ...); no process is left
			  */
	SANDBOX_EXITED,	 /* the command's first process ended; others may live in its cgroup */
	SANDBOX_GONE,	 /* pid 1 ended: the sandbox is dead */
	SANDBOX_TERMINAL, /* tty_fd is the master of the command's terminal */
};
struct sandbox_status {
	enum sandbox_status_kind kind;
	uint32_t exec;
	pid_t pid;	 /* session side */
	int wait_status; /* as from waitpid */
	int error;
	const char *step;     /* static: with SANDBOX_FAILED, what failed; "execute": the command
				 itself could not be run */
	uint64_t cpu_ns;      /* rusage of the command's tree as far as it was reaped */
	uint64_t memory_peak; /* bytes */
	int tty_fd;	      /* owned by the caller; -1: none */
};
/* Becomes readable when a status is there. */
int sandbox_status_fd(const struct sandbox *s);
/* 1 with a status, 0 if there is none now, -errno. */
int sandbox_next_status(struct sandbox *s, struct sandbox_status *ret_status);

/* cgroup.kill of one command's cgroup, or of the whole session (exec 0). Returns when nothing is
 * left in it. */
int sandbox_kill(struct sandbox *s, uint32_t exec);
/*
 * Kill all commands. Returns when nothing is left of them. Pid 1 may still be dying; or it lives,
 * if it has nothing to do any more: its death would hold up who needs the processor next.
 */
int sandbox_end(struct sandbox *s);
/* Kill all of it, and wait for nothing. */
int sandbox_kill_all(struct sandbox *s);
/* A signal to the command's first process. */
int sandbox_signal(struct sandbox *s, uint32_t exec, int signal);
/* Change the size of the command's terminal. */
int sandbox_resize(struct sandbox *s, uint32_t exec, uint16_t columns, uint16_t rows);

/* How often the kernel counted a limit of the session, or with @exec of that command, as hit. 0,
 * -ENODATA if there is none, or -errno. */
int sandbox_limit_hits(const struct sandbox *s, uint32_t exec, enum sandbox_controller c,
		       uint64_t *ret_hits);
/* Nothing is left of the bytes, or of the inodes, that the session may write to. False where that
 * is unknown. */
bool sandbox_is_full(const struct sandbox *s, bool *ret_inodes);

/* cpu time and memory so far, from the cgroup of one command. */
int sandbox_exec_usage(const struct sandbox *s, uint32_t exec, uint64_t *ret_cpu_ns,
		       uint64_t *ret_memory_peak);
/* The same of all of it. */
int sandbox_usage(struct sandbox *s, uint64_t *ret_cpu_ns, uint64_t *ret_memory_peak);

/* Kill, reap, remove the cgroups, let go of what is not the host's root alone. May be called again.
 */
void sandbox_clear(struct sandbox *s);
/* Likewise, and drop all mounts. NULL is allowed. */
void sandbox_free(struct sandbox *s);
/* After a crash: kill and remove cgroups `<root>/<id>` of a session that no living supervisor owns.
 */
int sandbox_remove_leftover(const struct cgroup_root *root, const char *id);

/* After a crash, too: remove those that nobody holds and in which nothing runs: sandboxes that had
 * no session yet. 0 or -errno. */
int sandbox_remove_strays(const struct cgroup_root *root);

/*
 * The seccomp filter as BPF instructions: the table of syscall_policy.h with @changes. *ret_filter
 * is malloc'ed, *ret_count instructions. 0 or -errno.
 */
struct sock_filter;
int seccomp_compile(const struct syscall_changes *changes, struct sock_filter **ret_filter,
		    size_t *ret_count);
