/*
 * Commands of a sandbox, as vitrined sees them. See sandbox.h.
 */
#include "../record/cleanup.h"
#include "../record/crash.h"
#include "cgroup.h"
#include "message.h"
#include "sandbox_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static struct sandbox_exec *find_exec(const struct sandbox *s, uint32_t exec)
{
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		if (s->execs[i].exec == exec)
			return (struct sandbox_exec *)&s->execs[i];
	return NULL;
}

/* What it will be told, and by which way. */
static int make_words(struct sandbox_exec *e)
{
	int words[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, words) < 0)
		return -errno;
	e->words_fd = words[0];
	e->init_words_fd = words[1];
	e->payload_fd = memfd_create("vitrine-command", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return e->payload_fd < 0 ? -errno : 0;
}

int sandbox_prepare_exec(struct sandbox *s, uint32_t exec, uint64_t *ret_cgroup)
{
	if (exec == 0)
		return -EINVAL;
	if (find_exec(s, exec))
		return -EEXIST;
	struct sandbox_exec *e = find_exec(s, 0);
	if (!e)
		return -ENOSPC;

	char name[16];
	snprintf(name, sizeof(name), "%u", exec);
	int r = cgroup_make(s->info.cgroup_fd, name, s->info.uid_base, &e->cgroup_fd, ret_cgroup);
	if (r < 0)
		return r;
	e->exec = exec;
	return make_words(e);
}

int sandbox_limit_exec(struct sandbox *s, uint32_t exec, const struct sandbox_limits *limits,
		       struct sandbox_error *ret_error)
{
	struct sandbox_exec *e = exec ? find_exec(s, exec) : NULL;
	char why[LIMITS_WHY] = "", name[16];

	if (!e)
		return sandbox_fail(ret_error, SETUP_limits, -ENOENT, "command %u", exec);
	snprintf(name, sizeof(name), "%u", exec);
	s->has_limited_exec = true;
	int r = limits_open_command(s->cgroups, s->info.cgroup_fd, e->cgroup_fd, s->id, name,
				    limits, &e->limits, why);

	return r < 0 ? sandbox_fail(ret_error, SETUP_limits, r, "%s", why) : 0;
}

int sandbox_begin_exec(struct sandbox *s, uint32_t exec, bool as_root)
{
	struct init_request request = {
		.kind = INIT_BEGIN,
		.exec = exec,
		.as_root = as_root,
		.filter_last = s->has_own_filter,
	};
	struct sandbox_exec *e = exec ? find_exec(s, exec) : NULL;
	int fds[INIT_BEGIN_CGROUPS + SANDBOX_CONTROLLERS];

	if (!e)
		return -ENOENT;
	if (e->asked)
		return 0;
	fds[INIT_BEGIN_CGROUP] = e->cgroup_fd;
	fds[INIT_BEGIN_WORDS] = e->words_fd;
	fds[INIT_BEGIN_OWN_WORDS] = e->init_words_fd;
	size_t count = INIT_BEGIN_CGROUPS + limits_tasks(&e->limits, fds + INIT_BEGIN_CGROUPS);
	int r = message_send(s->control_fd, &request, sizeof(request), fds, count);
	if (r < 0)
		return r;
	e->asked = true;
	cleanup_close_fd(&e->init_words_fd);
	return 0;
}

static size_t strings_bytes(const char *const *strings, uint32_t *ret_count)
{
	size_t bytes = 0;
	uint32_t count = 0;

	for (; strings[count]; count++)
		bytes += strlen(strings[count]) + 1;
	*ret_count = count;
	return bytes;
}

static char *put_strings(char *at, const char *const *strings)
{
	for (; *strings; strings++)
		at = stpcpy(at, *strings) + 1;
	return at;
}

/* An environment may hold secrets. */
struct wiped {
	char *bytes;
	size_t size;
};

static void cleanup_wiped(struct wiped *w)
{
	if (w->bytes)
		explicit_bzero(w->bytes, w->size);
	free(w->bytes);
}

/* argv, env and cwd behind each other, each string closed by its NUL. */
static int fill_payload(const struct sandbox_command *command, struct init_request *request, int fd)
{
	size_t size = strings_bytes(command->argv, &request->argc);
	size += strings_bytes(command->env, &request->envc);
	size += strlen(command->cwd) + 1;
	if (request->argc == 0)
		return -EINVAL;

	cleanup(wiped) struct wiped text = {malloc(size), size};
	char *bytes = text.bytes;
	if (!bytes)
		return -ENOMEM;
	stpcpy(put_strings(put_strings(bytes, command->argv), command->env), command->cwd);

	ssize_t n = write(fd, bytes, size);
	if (n != (ssize_t)size)
		return n < 0 ? -errno : -EIO;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;

	request->payload_bytes = size;
	return 0;
}

/* The place of a command is free again when it has ended and its cgroup is gone. */
static void close_ended(struct sandbox_exec *e)
{
	if (e->ended && e->tty_fd >= 0)
		close(take_fd(e->tty_fd));
	if (e->ended && e->killed)
		sandbox_exec_close(e);
}

static void fill_status(struct sandbox *s, const struct init_report *report,
			struct sandbox_status *ret_status)
{
	static const enum sandbox_status_kind kinds[] = {
		[INIT_STARTED] = SANDBOX_STARTED,
		[INIT_FAILED] = SANDBOX_FAILED,
		[INIT_EXITED] = SANDBOX_EXITED,
	};

	*ret_status = (struct sandbox_status){
		.kind = kinds[report->kind],
		.exec = report->exec,
		.pid = report->pid,
		.wait_status = report->wait_status,
		.error = report->error,
		.step = setup_step_name(report->step),
		.tty_fd = -1,
		.cpu_ns = report->cpu_ns,
		.memory_peak = report->memory_peak,
	};

	struct sandbox_exec *e = report->exec ? find_exec(s, report->exec) : NULL;
	if (e && report->kind != INIT_STARTED) {
		e->ended = true;
		close_ended(e);
	}
}

static bool is_status(const struct init_report *report)
{
	return report->kind == INIT_STARTED || report->kind == INIT_FAILED ||
	       report->kind == INIT_EXITED;
}

int sandbox_exec(struct sandbox *s, const struct sandbox_command *command,
		 struct sandbox_error *ret_error)
{
	struct sandbox_exec *e = command->exec ? find_exec(s, command->exec) : NULL;
	if (!e)
		return sandbox_fail(ret_error, SETUP_start, -ENOENT, "command %u is not prepared",
				    command->exec);

	struct init_request request = {
		.kind = INIT_EXEC,
		.exec = command->exec,
		.tty = command->tty,
		.is_gated = command->gate_fd > 0,
		.columns = command->columns,
		.rows = command->rows,
		.files = e->limits.asked.files ? e->limits.asked.files : s->limits.asked.files,
		.file_size_bytes = e->limits.asked.file_size_bytes
					   ? e->limits.asked.file_size_bytes
					   : s->limits.asked.file_size_bytes,
	};
	int r = sandbox_begin_exec(s, command->exec, command->as_root);
	if (r == 0)
		r = fill_payload(command, &request, e->payload_fd);
	if (r < 0)
		return sandbox_fail(ret_error, SETUP_start, r, "%s", "");

	int fds[INIT_EXEC_COUNT + 1] = {
		[INIT_EXEC_PAYLOAD] = e->payload_fd,
		[INIT_EXEC_STDIN] = command->stdin_fd,
		[INIT_EXEC_STDOUT] = command->stdout_fd,
		[INIT_EXEC_STDERR] = command->stderr_fd,
	};
	size_t count = command->tty ? INIT_EXEC_STDIN : INIT_EXEC_COUNT;
	if (request.is_gated)
		fds[count++] = command->gate_fd;
	r = message_send(e->words_fd, &request, sizeof(request), fds, count);
	cleanup_close_fd(&e->words_fd);
	cleanup_close_fd(&e->payload_fd);
	if (r < 0 && r != -EPIPE && r != -ECONNRESET) /* of one that is dead init says why */
		return sandbox_fail(ret_error, SETUP_start, r, "%s", "");
	crash_point();
	return 0;
}

/* Our own copy is for its size. */
static int take_terminal(struct sandbox *s, const struct init_report *report, int *fd,
			 struct sandbox_status *ret_status)
{
	struct sandbox_exec *e = report->exec ? find_exec(s, report->exec) : NULL;

	if (!e || *fd < 0)
		return 0;
	e->tty_fd = fcntl(*fd, F_DUPFD_CLOEXEC, 0);
	if (e->tty_fd < 0)
		return -errno;
	*ret_status = (struct sandbox_status){
		.kind = SANDBOX_TERMINAL,
		.exec = report->exec,
		.tty_fd = take_fd(*fd),
	};
	return 1;
}

int sandbox_next_status(struct sandbox *s, struct sandbox_status *ret_status)
{
	for (;;) {
		cleanup(close_fd) int fd = -1;
		struct init_report report;

		if (s->gone)
			return 0;
		int r = sandbox_report(s, 0, &report, &fd);
		if (r == -ETIMEDOUT || r == -EAGAIN)
			return 0;
		if (r == -ECONNRESET) {
			s->gone = true;
			epoll_ctl(s->status_fd, EPOLL_CTL_DEL, s->control_fd, NULL);
			*ret_status = (struct sandbox_status){.kind = SANDBOX_GONE, .tty_fd = -1};
			return 1;
		}
		if (r == 0 && report.kind == INIT_TERMINAL)
			r = take_terminal(s, &report, &fd, ret_status);
		if (r != 0)
			return r;
		if (is_status(&report)) {
			fill_status(s, &report, ret_status);
			return 1;
		}
	}
}

/*
 * Once its cgroup is removed a command cannot start any more either: init may not have come to it
 * yet.
 */
static int kill_and_remove(struct sandbox *s, struct sandbox_exec *e)
{
	char name[16], path[LAUNCH_ID_MAX + 16];
	uint64_t hits[SANDBOX_CONTROLLERS] = {0};
	int r;

	snprintf(name, sizeof(name), "%u", e->exec);
	do {
		r = cgroup_kill(e->cgroup_fd, -1);
		for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
			limits_hits(&e->limits, c, &hits[c]);
		if (r == 0)
			r = cgroup_remove(s->info.cgroup_fd, name);
	} while (r == -EBUSY);
	if (r < 0)
		return r;
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		s->ended_hits[c] += hits[c];
	snprintf(path, sizeof(path), "%s/%s", s->id, name);
	limits_close(&e->limits, path);
	return 0;
}

int sandbox_kill(struct sandbox *s, uint32_t exec)
{
	if (exec == 0)
		return s->made_cgroup ? cgroup_kill(s->info.cgroup_fd, s->pidfd) : 0;

	struct sandbox_exec *e = find_exec(s, exec);
	if (!e || e->killed)
		return 0;
	int r = kill_and_remove(s, e);
	if (r < 0)
		return r;
	e->killed = true;
	e->ended |= !e->asked;
	close_ended(e);
	return 0;
}

/* All that pid 1 was asked to start has ended, so that it starts nothing any more. */
static bool is_idle(const struct sandbox *s)
{
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++) {
		const struct sandbox_exec *e = &s->execs[i];

		if (e->exec && e->asked && !e->ended && !e->killed)
			return false;
	}
	return true;
}

static int end_command(const struct sandbox_exec *e)
{
	int r = cgroup_is_empty(e->cgroup_fd);

	return r < 0 ? r : r ? 0 : cgroup_kill(e->cgroup_fd, -1);
}

int sandbox_kill_all(struct sandbox *s)
{
	int r = s->is_killed ? 0 : cgroup_write(s->info.cgroup_fd, "cgroup.kill", "1");

	s->is_killed = r == 0;
	return r;
}

int sandbox_end(struct sandbox *s)
{
	bool spares = is_idle(s);

	crash_point();
	int r = spares ? 0 : sandbox_kill_all(s);

	crash_point();
	for (size_t i = 0; i < INIT_COMMANDS_MAX && r == 0; i++)
		if (s->execs[i].exec && !s->execs[i].killed)
			r = spares ? end_command(&s->execs[i])
				   : cgroup_wait_empty(s->execs[i].cgroup_fd, -1);
	return r;
}

int sandbox_signal(struct sandbox *s, uint32_t exec, int signal)
{
	struct init_request request = {.kind = INIT_SIGNAL, .exec = exec, .signal = signal};

	if (exec == 0 || !find_exec(s, exec))
		return -ENOENT;
	return message_send(s->control_fd, &request, sizeof(request), NULL, 0);
}

int sandbox_resize(struct sandbox *s, uint32_t exec, uint16_t columns, uint16_t rows)
{
	struct sandbox_exec *e = exec ? find_exec(s, exec) : NULL;
	struct winsize size = {.ws_col = columns, .ws_row = rows};

	if (!e || e->tty_fd < 0)
		return -ENOENT;
	return ioctl(e->tty_fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

int sandbox_exec_usage(const struct sandbox *s, uint32_t exec, uint64_t *ret_cpu_ns,
		       uint64_t *ret_memory_peak)
{
	const struct sandbox_exec *e = exec ? find_exec(s, exec) : NULL;

	if (!e || e->killed)
		return -ENOENT;
	int r = cgroup_usage(e->cgroup_fd, ret_cpu_ns, ret_memory_peak);
	uint64_t peak = limits_memory_peak(&e->limits);

	if (r == 0 && peak > *ret_memory_peak)
		*ret_memory_peak = peak;
	return r;
}

int sandbox_limit_hits(const struct sandbox *s, uint32_t exec, enum sandbox_controller c,
		       uint64_t *ret_hits)
{
	const struct sandbox_exec *e = exec ? find_exec(s, exec) : NULL;
	uint64_t all = s->ended_hits[c];

	if (exec)
		return e ? limits_hits(&e->limits, c, ret_hits) : -ENODATA;
	int r = limits_hits(&s->limits, c, ret_hits);
	if (r < 0 || limits_counts_below(&s->limits, c))
		return r;
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++) {
		uint64_t hits = 0;

		limits_hits(&s->execs[i].limits, c, &hits);
		all += hits;
	}
	*ret_hits += all;
	return 0;
}
