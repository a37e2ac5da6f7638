/*
 * Starts and ends our companion processes. posix_spawn, because vitrined is large by then and a
 * fork would copy its page tables; nothing but descriptors 0 to 3 goes along.
 */
#include "companion.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SOCKET_BYTES (8 * 1024 * 1024)
#define ARGUMENTS_MAX 8
#define ENV_MAX 9

/* What a companion gets of our environment: no secret can be in it. */
static const char *const passed[] = {
	"LANG=", "TZ=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS="};

/* What a companion sees of a session holds the session's secrets, and is to be gone with it: what
 * it frees is overwritten, and its libraries bind as vitrined's do (vitrined_main.c). */
static char wipe_freed[] = "GLIBC_TUNABLES=glibc.malloc.perturb=90:glibc.malloc.tcache_count=0";
static char bind_now[] = "LD_BIND_NOW=1";

static void bare_environment(char *ret_env[ENV_MAX + 1])
{
	size_t count = 0;

	ret_env[count++] = wipe_freed;
	ret_env[count++] = bind_now;
	for (char **e = environ; *e; e++)
		for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
			if (!strncmp(*e, passed[i], strlen(passed[i])) && count < ENV_MAX)
				ret_env[count++] = *e;
	ret_env[count] = NULL;
}

/* SIGINT of the user's terminal is for the command; and a process that relays from and to a
 * terminal must not be stopped by it as one of its background jobs: so each has a session of its
 * own. All other signals are as for a new process. */
static int set_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
							    POSIX_SPAWN_SETSID);
}

static int set_descriptors(posix_spawn_file_actions_t *actions, int socket)
{
	int r = posix_spawn_file_actions_adddup2(actions, socket, 3);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, 0, 1);
	return r;
}

static int spawn(const char *path, const char *const *arguments, int socket, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *argv[ARGUMENTS_MAX + 2] = {(char *)path}, *env[ENV_MAX + 1];

	for (size_t i = 0; arguments && arguments[i] && i < ARGUMENTS_MAX; i++)
		argv[i + 1] = (char *)arguments[i];
	bare_environment(env);
	if (posix_spawn_file_actions_init(&actions) || posix_spawnattr_init(&attributes))
		return -ENOMEM;
	int r = set_descriptors(&actions, socket);
	if (r == 0)
		r = set_signals(&attributes);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, &attributes, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

int companion_start(const char *dir, const char *program, const char *const *arguments,
		    struct companion *ret_companion)
{
	char path[PATH_MAX];
	int sockets[2], bytes = SOCKET_BYTES;
	pid_t pid = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dir, program) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	cleanup(close_fd) int ours = sockets[0];
	cleanup(close_fd) int theirs = sockets[1];
	setsockopt(ours, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(theirs, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));

	/* As all that is ours is; what a client was given need not be. */
	int r = syscall(SYS_close_range, 4, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
	if (r == 0)
		r = spawn(path, arguments, theirs, &pid);
	if (r < 0)
		return r;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		r = -errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return r;
	}

	*ret_companion = (struct companion){.pid = pid, .pidfd = pidfd, .socket = take_fd(ours)};
	return 0;
}

void companion_stop(struct companion *c, int timeout_ms)
{
	if (c->socket >= 0)
		close(c->socket);
	if (c->pid > 0) {
		struct pollfd ended = {.fd = c->pidfd, .events = POLLIN};

		if (poll(&ended, 1, timeout_ms) <= 0)
			kill(c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	*c = (struct companion)COMPANION_NONE;
}
