/*
 * The listening socket stays with us, so that a new vitrine-metrics goes on where one that failed
 * was: clients that came meanwhile wait in the kernel.
 */
#include "service.h"

#include "../record/cleanup.h"
#include "../record/install.h"
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define PROGRAM "vitrine-metrics"
#define FDS_FIRST 3 /* tie, listening socket, pages */
#define FDS_MAX (2 + METRICS_PAGES_MAX)
#define AGAIN_US 2000000
#define END_MS 2000

struct metrics_service {
	struct metrics_service_options options;
	char path[PATH_MAX];
	int listen_fd;
	int page_fds[METRICS_PAGES_MAX];
	int tie;   /* ours; that it is closed tells vitrine-metrics to end */
	pid_t pid; /* 0: it does not run */
	int pidfd;
	sd_event_source *ended, *again;
};

/* ---- the process ---- */

/* Where posix_spawn puts them nothing may stand that it still has to put elsewhere. */
static int lift(const int *fds, size_t count, int lifted[FDS_MAX])
{
	for (size_t i = 0; i < count; i++) {
		lifted[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FDS_FIRST + FDS_MAX);
		if (lifted[i] < 0)
			return -errno;
	}
	return 0;
}

static int set_actions(posix_spawn_file_actions_t *actions, const int *lifted, size_t count)
{
	int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, 0, 1);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = posix_spawn_file_actions_adddup2(actions, lifted[i], FDS_FIRST + (int)i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, FDS_FIRST + (int)count);
	return r;
}

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

static int spawn(struct metrics_service *s, const int *lifted, size_t count)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char uid[16], gid[16], *env[] = {NULL};
	char *argv[] = {(char *)PROGRAM,
			(char *)"--serve",
			(char *)s->options.serves,
			(char *)"--uid",
			uid,
			(char *)"--gid",
			gid,
			NULL};

	snprintf(uid, sizeof(uid), "%u", s->options.uid);
	snprintf(gid, sizeof(gid), "%u", s->options.gid);
	if (posix_spawn_file_actions_init(&actions) || posix_spawnattr_init(&attributes))
		return -ENOMEM;
	int r = set_actions(&actions, lifted, count);
	if (r == 0)
		r = set_signals(&attributes);
	if (r == 0)
		r = posix_spawn(&s->pid, s->path, &actions, &attributes, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (r != 0)
		s->pid = 0;
	return -r;
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *context);

static int watch(struct metrics_service *s)
{
	s->pidfd = pidfd_open(s->pid, 0);
	if (s->pidfd < 0)
		return -errno;
	return sd_event_add_io(s->options.event, &s->ended, s->pidfd, EPOLLIN, on_ended, s);
}

static int start(struct metrics_service *s)
{
	int lifted[FDS_MAX] = {-1, -1, -1, -1}, fds[FDS_MAX], ends[2];
	size_t count = 2 + s->options.page_count;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fds[0] = ends[0];
	fds[1] = s->listen_fd;
	for (size_t i = 0; i < s->options.page_count; i++)
		fds[2 + i] = s->page_fds[i];
	int r = lift(fds, count, lifted);
	if (r == 0)
		r = spawn(s, lifted, count);
	for (size_t i = 0; i < FDS_MAX; i++)
		cleanup_close_fd(&lifted[i]);
	close(ends[0]);
	s->tie = ends[1];
	return r < 0 ? r : watch(s);
}

/* Whatever is left of it, at once. */
static void stop(struct metrics_service *s, int wait_ms)
{
	struct pollfd ended = {.fd = s->pidfd, .events = POLLIN};

	s->ended = sd_event_source_disable_unref(s->ended);
	cleanup_close_fd(&s->tie);
	s->tie = -1;
	if (s->pid) {
		if (s->pidfd < 0 || poll(&ended, 1, wait_ms) <= 0)
			kill(s->pid, SIGKILL);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	cleanup_close_fd(&s->pidfd);
	s->pidfd = -1;
	s->pid = 0;
}

static int on_again(sd_event_source *source, uint64_t usec, void *context);

static void try_later(struct metrics_service *s)
{
	s->again = sd_event_source_disable_unref(s->again);
	sd_event_add_time_relative(s->options.event, &s->again, CLOCK_MONOTONIC, AGAIN_US, 0,
				   on_again, s);
}

static int on_again(sd_event_source *source, uint64_t usec, void *context)
{
	struct metrics_service *s = context;

	(void)source, (void)usec;
	if (start(s) < 0) {
		stop(s, 0);
		try_later(s);
	}
	return 0;
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct metrics_service *s = context;

	(void)source, (void)fd, (void)events;
	stop(s, 0);
	s->options.say(s->options.context, PROGRAM " ended; it is started anew in 2 seconds");
	try_later(s);
	return 0;
}

/* ---- life ---- */

static int open_pages(struct metrics_service *s)
{
	for (size_t i = 0; i < s->options.page_count; i++) {
		s->page_fds[i] = metrics_page_reader(s->options.pages[i]);
		if (s->page_fds[i] < 0)
			return s->page_fds[i];
	}
	return 0;
}

static int find_program(struct metrics_service *s)
{
	char dir[PATH_MAX];
	int r = install_find(PROGRAM, dir);

	if (r < 0)
		return r;
	return snprintf(s->path, sizeof(s->path), "%s/%s", dir, PROGRAM) < (int)sizeof(s->path)
		       ? 0
		       : -ENAMETOOLONG;
}

int metrics_service_new(const struct metrics_service_options *options,
			struct metrics_service **ret_service, char ret_error[512])
{
	struct metrics_service *s = calloc(1, sizeof(*s));
	const char *what = "memory";
	int r = s ? 0 : -ENOMEM;

	if (r == 0) {
		*s = (struct metrics_service){.options = *options,
					      .listen_fd = -1,
					      .page_fds = {-1, -1},
					      .tie = -1,
					      .pidfd = -1};
		what = PROGRAM " is not beside this program";
		r = find_program(s);
	}
	if (r == 0) {
		what = "cannot listen there; allowed: a place that is free";
		s->listen_fd = metrics_listen(options->listen);
		r = s->listen_fd < 0 ? s->listen_fd : 0;
	}
	if (r == 0) {
		what = "cannot start " PROGRAM;
		r = open_pages(s);
	}
	if (r == 0)
		r = start(s);
	if (r < 0) {
		snprintf(ret_error, 512, "metrics: %.200s: %s: %s", options->listen, what,
			 strerror(-r));
		metrics_service_free(s);
		return r;
	}
	*ret_service = s;
	return 0;
}

void metrics_service_free(struct metrics_service *s)
{
	if (!s)
		return;
	s->again = sd_event_source_disable_unref(s->again);
	stop(s, END_MS);
	for (size_t i = 0; i < METRICS_PAGES_MAX; i++)
		cleanup_close_fd(&s->page_fds[i]);
	if (s->listen_fd >= 0) {
		metrics_unlisten(s->options.listen);
		close(s->listen_fd);
	}
	free(s);
}
