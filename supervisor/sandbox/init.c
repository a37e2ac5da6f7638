/*
 * Pid 1 of a session. See init.h. It starts the commands that vitrined sends over descriptor 3,
 * reaps, and ends when that closes, upon which the kernel kills all that is left in the session. It
 * reads no file that the session can write. Requests come from vitrined alone.
 */
#include "init.h"

#include "../record/cleanup.h"
#include "command.h"
#include "message.h"
#include "outfit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#define INIT_UID 65533

struct command {
	uint32_t exec; /* 0: the place is free */
	pid_t pid;
	int words; /* of its process until it executes; -1 then */
	bool started;
	int error; /* it could not be executed, and at which step */
	unsigned step;
};

struct init {
	int signal_fd;
	struct sock_fprog filter;
	struct command commands[INIT_COMMANDS_MAX];
};

static int report(const struct init_report *r, const int *fds, size_t count)
{
	return message_send(INIT_FD_CONTROL, r, sizeof(*r), fds, count);
}

static struct command *find_command(struct init *init, uint32_t exec)
{
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		if (init->commands[i].exec == exec)
			return &init->commands[i];
	return NULL;
}

static int refuse(uint32_t exec, int error)
{
	const struct init_report r = {
		.kind = INIT_FAILED,
		.exec = exec,
		.error = error,
		.step = SETUP_start,
	};

	return report(&r, NULL, 0);
}

static int begin_command(struct init *init, const struct init_request *request,
			 struct message_fds *fds)
{
	struct command *c = find_command(init, 0);

	if (request->exec == 0 || find_command(init, request->exec))
		return refuse(request->exec, EEXIST);
	if (!c)
		return refuse(request->exec, EAGAIN);

	int r = command_begin(request, fds, &init->filter, &c->pid, &c->words);
	if (r < 0)
		return refuse(request->exec, -r);
	c->exec = request->exec;
	return 0;
}

static int take_request(struct init *init)
{
	cleanup(message_fds) struct message_fds fds = {.count = 0};
	struct init_request request;

	int r = message_receive(INIT_FD_CONTROL, false, &request, sizeof(request), &fds);
	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	if (request.kind == INIT_BEGIN)
		return begin_command(init, &request, &fds);

	struct command *c = request.exec ? find_command(init, request.exec) : NULL;
	if (request.kind == INIT_SIGNAL && c)
		kill(c->pid, request.signal);
	return 0;
}

static int tell_started(struct command *c)
{
	const struct init_report r = {.kind = INIT_STARTED, .exec = c->exec, .pid = c->pid};

	c->started = true;
	return report(&r, NULL, 0);
}

/* All that the process of @c has said so far. */
static int take_words(struct command *c)
{
	while (c->words >= 0) {
		cleanup(message_fds) struct message_fds fds = {.count = 0};
		struct command_word word;

		int r = message_receive(c->words, false, &word, sizeof(word), &fds);
		if (r == -EAGAIN)
			return 0;
		if (r < 0) {
			close(take_fd(c->words));
			return c->error ? 0 : tell_started(c);
		}

		if (word.kind == COMMAND_FAILED) {
			c->error = word.error;
			c->step = word.step;
			continue;
		}
		const struct init_report made = {.kind = INIT_TERMINAL, .exec = c->exec};
		r = report(&made, fds.fd, fds.count);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t time_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static int tell_end(struct command *c, int wait_status, const struct rusage *usage)
{
	int r = take_words(c);
	if (r < 0)
		return r;

	const struct init_report end = {
		.kind = c->error ? INIT_FAILED : INIT_EXITED,
		.exec = c->exec,
		.pid = c->pid,
		.wait_status = c->error ? 0 : wait_status,
		.error = c->error,
		.step = c->step,
		.cpu_ns = time_ns(usage->ru_utime) + time_ns(usage->ru_stime),
		.memory_peak = (uint64_t)usage->ru_maxrss * 1024,
	};
	cleanup_close_fd(&c->words);
	*c = (struct command){.words = -1};
	return report(&end, NULL, 0);
}

static int reap(struct init *init)
{
	struct signalfd_siginfo ignored;
	struct rusage usage;
	int wait_status;
	pid_t pid;

	while (read(init->signal_fd, &ignored, sizeof(ignored)) > 0)
		;
	while ((pid = wait4(-1, &wait_status, WNOHANG, &usage)) > 0)
		for (size_t i = 0; i < INIT_COMMANDS_MAX; i++) {
			struct command *c = &init->commands[i];

			if (c->exec == 0 || c->pid != pid)
				continue;
			int r = tell_end(c, wait_status, &usage);
			if (r < 0)
				return r;
			break;
		}
	return 0;
}

static int serve(struct init *init)
{
	struct pollfd polled[2 + INIT_COMMANDS_MAX];

	for (;;) {
		polled[0] = (struct pollfd){.fd = INIT_FD_CONTROL, .events = POLLIN};
		polled[1] = (struct pollfd){.fd = init->signal_fd, .events = POLLIN};
		for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
			polled[2 + i] = (struct pollfd){
				.fd = init->commands[i].words,
				.events = POLLIN,
			};
		if (poll(polled, 2 + INIT_COMMANDS_MAX, -1) < 0 && errno != EINTR)
			return -errno;

		int r = 0;
		for (size_t i = 0; r == 0 && i < INIT_COMMANDS_MAX; i++)
			if (polled[2 + i].revents)
				r = take_words(&init->commands[i]);
		if (r == 0 && polled[1].revents)
			r = reap(init);
		if (r == 0 && polled[0].revents)
			r = take_request(init);
		if (r < 0)
			return r;
	}
}

static int open_signals(int *ret_fd)
{
	sigset_t set;

	/* What the launcher ignores, so that it need not reap. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/*
 * The session's root has the same effective id. With other ids beside it nobody inside passes for
 * the owner of this process, who could change its resource limits.
 */
static int keep_owners_out(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setresuid(INIT_UID, 0, INIT_UID) < 0)
		return -errno;
	return 0;
}

/* In the host's list of processes it goes by its own name: there is room for a shorter one. */
static void take_name(void)
{
	char *shown = program_invocation_name;

	strncpy(shown, INIT_NAME, strlen(shown));
	prctl(PR_SET_NAME, INIT_NAME);
}

static int prepare(struct init *init, enum setup_step *ret_step)
{
	*ret_step = SETUP_init;
	take_name();
	int r = keep_owners_out();
	if (r == 0)
		r = open_signals(&init->signal_fd);
	return r < 0 ? r : outfit_put_on(&init->filter, ret_step);
}

int init_run(enum setup_step *ret_step)
{
	const struct init_report ready = {.kind = INIT_READY};
	struct init init = {.signal_fd = -1};

	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		init.commands[i].words = -1;
	int r = prepare(&init, ret_step);
	if (r == -ECONNRESET) /* nobody wants it */
		_exit(0);
	if (r < 0)
		return r;
	if (report(&ready, NULL, 0) < 0)
		_exit(1);
	_exit(serve(&init) == -ECONNRESET ? 0 : 1);
}
