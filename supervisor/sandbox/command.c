/*
 * Starting a command inside a session. See command.h.
 *
 * The process is born in the command's cgroup, gives up what the command may not have, and executes
 * it. Until then it runs the image of vitrine-init, whose acts are not recorded as the session's.
 */
#include "command.h"

#include "../record/cleanup.h"
#include "launch.h"
#include "lookup.h"
#include "syscalls.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#define STACK_BYTES (8u << 20) /* the kernel takes a quarter of it as the most that argv may be */
#define OPEN_FILES 1024
#define LOCKED_BYTES (8u << 20)
#define QUEUE_BYTES 819200

#define BIT(capability) CAPABILITY_BIT(capability)
/* Of the session's root, all within its user namespace. */
#define ROOT_CAPABILITIES                                                                          \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) |              \
	 BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL))

struct payload {
	char *bytes; /* mapped */
	size_t size;
	char **strings; /* argv, NULL, env, NULL */
	char *const *argv, *const *env;
	const char *cwd;
};

static void cleanup_payload(struct payload *p)
{
	if (p->bytes)
		munmap(p->bytes, p->size);
	free(p->strings);
}

static char *next_string(struct payload *p, char **at)
{
	char *string = *at;
	char *end = memchr(string, 0, (size_t)(p->bytes + p->size - string));

	if (!end)
		return NULL;
	*at = end + 1;
	return string;
}

static int payload_open(const struct init_request *request, int fd, struct payload *p)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (request->argc == 0 || request->payload_bytes == 0 ||
	    (uint64_t)st.st_size != request->payload_bytes ||
	    (uint64_t)request->argc + request->envc >= request->payload_bytes)
		return -EBADMSG;

	size_t count = (size_t)request->argc + request->envc;
	p->strings = calloc(count + 2, sizeof(*p->strings));
	if (!p->strings)
		return -ENOMEM;
	p->size = (size_t)st.st_size;
	void *map = mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	p->bytes = map;

	char *at = p->bytes;
	for (size_t i = 0; i < count; i++) {
		char *string = next_string(p, &at);
		if (!string)
			return -EBADMSG;
		p->strings[i + (i >= request->argc)] = string;
	}
	p->argv = p->strings;
	p->env = p->strings + request->argc + 1;
	p->cwd = next_string(p, &at);
	return p->cwd ? 0 : -EBADMSG;
}

/* ---- in the command's process ---- */

static int start_session(void)
{
	sigset_t none;

	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || setsid() < 0 ||
	    unshare(CLONE_NEWCGROUP) < 0)
		return -errno;
	umask(022);
	return 0;
}

static int become_user(bool as_root)
{
	uint64_t kept = as_root ? ROOT_CAPABILITIES : 0;
	uid_t id = as_root ? SESSION_ROOT : SESSION_AGENT;

	for (int c = 0; INIT_CAPABILITIES >> c; c++)
		if ((INIT_CAPABILITIES & ~kept & BIT(c)) && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return -errno;
	int r = capabilities_keep(kept);

	/* Of the same user as commands before it, it is none of theirs until it executes, whatever
	 * the host's fs.suid_dumpable says of who has changed its user. */
	return r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : r;
}

/* The slave belongs to who opens the master, so the user's own process does. */
static int open_terminal(const struct init_request *request, int *ret_master, int *ret_slave)
{
	struct winsize size = {.ws_col = request->columns, .ws_row = request->rows};
	struct termios modes;
	int unlocked = 0;

	int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || tcgetattr(slave, &modes) < 0)
		return -errno;
	modes.c_iflag |= IUTF8;
	if (tcsetattr(slave, TCSANOW, &modes) < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0 ||
	    ioctl(slave, TIOCSCTTY, 0) < 0)
		return -errno;

	*ret_master = master;
	*ret_slave = slave;
	return 0;
}

static int make_terminal(const struct init_request *request, int words, int *streams)
{
	const struct command_word word = {.kind = COMMAND_TERMINAL};
	int master = -1, slave = -1;

	int r = open_terminal(request, &master, &slave);
	if (r < 0)
		return r;
	streams[0] = streams[1] = streams[2] = slave;
	return message_send(words, &word, sizeof(word), &master, 1);
}

/* All that init had open is close-on-exec, so only what is placed at 0 to 2 is left. */
static int place_streams(const int *streams)
{
	for (int i = 0; i < 3; i++)
		if (dup2(streams[i], i) < 0)
			return -errno;
	return syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

static void cap_limit(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit now;

	if (getrlimit(resource, &now) < 0)
		return;
	struct rlimit limit = {.rlim_max = now.rlim_max < hard ? now.rlim_max : hard};
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	setrlimit(resource, &limit);
}

/* Whatever vitrined itself was given: no more than this is handed on. */
static const struct cap {
	int resource;
	rlim_t soft, hard;
} caps[] = {
	{RLIMIT_STACK, STACK_BYTES, STACK_BYTES},
	{RLIMIT_CORE, 0, 0},
	{RLIMIT_MEMLOCK, LOCKED_BYTES, LOCKED_BYTES},
	{RLIMIT_MSGQUEUE, QUEUE_BYTES, QUEUE_BYTES},
	{RLIMIT_NICE, 0, 0},
	{RLIMIT_RTPRIO, 0, 0},
};

static int set_limit(int resource, rlim_t value)
{
	const struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static void cap_limits(void)
{
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		cap_limit(caps[i].resource, caps[i].soft, caps[i].hard);
}

/* Lowering is always allowed; what was asked for has to be had exactly. */
static int set_limits(const struct init_request *request)
{
	int r = 0;

	if (request->files)
		r = set_limit(RLIMIT_NOFILE, request->files);
	else
		cap_limit(RLIMIT_NOFILE, OPEN_FILES, RLIM_INFINITY);
	if (r == 0 && request->file_size_bytes)
		r = set_limit(RLIMIT_FSIZE, request->file_size_bytes);
	return r;
}

static int load_filter(const struct sock_fprog *filter)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) < 0)
		return -errno;
	return 0;
}

int command_enter_cgroups(const int *tasks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (write(tasks[i], "0", 1) < 0)
			return -errno;
	return 0;
}

/* The record of it stands before its first act. */
static int wait_at_gate(int gate)
{
	char byte;
	ssize_t n = gate < 0 ? 1 : read(gate, &byte, 1);

	return n < 0 ? -errno : n == 0 ? -ECANCELED : 0;
}

/* What is not asked for with the command itself. */
static int prepare(const struct init_request *request, const struct message_fds *cgroups,
		   const struct sock_fprog *filter, unsigned *ret_step)
{
	*ret_step = SETUP_limits;
	int r = command_enter_cgroups(cgroups->fd + INIT_BEGIN_CGROUPS,
				      cgroups->count - INIT_BEGIN_CGROUPS);
	if (r < 0)
		return r;
	cap_limits();
	*ret_step = SETUP_start;
	r = start_session();
	if (r < 0)
		return r;
	*ret_step = SETUP_identity;
	r = become_user(request->as_root);
	if (r < 0)
		return r;
	*ret_step = SETUP_filter;
	return request->filter_last ? 0 : load_filter(filter);
}

/* @gate: -1: it does not wait. @late is the filter if it comes last, else NULL. */
static int become_command(const struct init_request *request, const struct payload *payload,
			  int *streams, int gate, const struct sock_fprog *late, int words,
			  unsigned *ret_step)
{
	*ret_step = SETUP_terminal;
	int r = request->tty ? make_terminal(request, words, streams) : 0;
	if (r < 0)
		return r;
	*ret_step = SETUP_streams;
	r = place_streams(streams);
	if (r < 0)
		return r;
	*ret_step = SETUP_limits;
	r = set_limits(request);
	if (r < 0)
		return r;
	*ret_step = SETUP_directory;
	if (chdir(payload->cwd) < 0)
		return -errno;
	*ret_step = SETUP_gate;
	r = wait_at_gate(gate);
	if (r < 0)
		return r;
	*ret_step = SETUP_filter;
	r = late ? load_filter(late) : 0;
	if (r < 0)
		return r;
	*ret_step = SETUP_execute;
	return lookup_and_execute(payload->argv, payload->env);
}

/* What it takes is init's to give; nobody else has the other end. */
static int take_command(const struct sock_fprog *late, int words, unsigned *ret_step)
{
	cleanup(message_fds) struct message_fds fds = {.count = 0};
	cleanup(payload) struct payload payload = {.cwd = "/"};
	int streams[3] = {-1, -1, -1};
	struct init_request request;
	size_t gate = 0;

	*ret_step = SETUP_start;
	int r = message_receive(words, true, &request, sizeof(request), &fds);
	if (r == 0) {
		gate = request.tty ? INIT_EXEC_STDIN : INIT_EXEC_COUNT;
		r = fds.count == gate + !!request.is_gated ? 0 : -EBADMSG;
	}
	if (r == 0)
		r = payload_open(&request, fds.fd[INIT_EXEC_PAYLOAD], &payload);
	if (r < 0)
		return r;
	if (!request.tty)
		memcpy(streams, fds.fd + INIT_EXEC_STDIN, sizeof(streams));
	return become_command(&request, &payload, streams, request.is_gated ? fds.fd[gate] : -1,
			      late, words, ret_step);
}

static _Noreturn void run(const struct init_request *request, const struct message_fds *cgroups,
			  const struct sock_fprog *filter, int words)
{
	struct command_word word = {.kind = COMMAND_FAILED};
	int r = prepare(request, cgroups, filter, &word.step);

	if (r == 0)
		r = take_command(request->filter_last ? filter : NULL, words, &word.step);
	word.error = -r;
	message_send(words, &word, sizeof(word), NULL, 0);
	_exit(127);
}

/* ---- in init ---- */

int command_begin(const struct init_request *request, struct message_fds *fds,
		  const struct sock_fprog *filter, pid_t *ret_pid, int *ret_words)
{
	if (fds->count < INIT_BEGIN_CGROUPS)
		return -EBADMSG;
	pid_t pid = clone_process(CLONE_INTO_CGROUP, fds->fd[INIT_BEGIN_CGROUP], NULL);
	if (pid < 0)
		return pid == -ENOENT || pid == -ENODEV ? -ECANCELED : pid;
	if (pid == 0) {
		cleanup_close_fd(&fds->fd[INIT_BEGIN_WORDS]);
		run(request, fds, filter, fds->fd[INIT_BEGIN_OWN_WORDS]);
	}
	*ret_pid = pid;
	*ret_words = take_fd(fds->fd[INIT_BEGIN_WORDS]);
	return 0;
}
