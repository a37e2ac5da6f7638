/*
 * The launcher as vitrined sees it. See launcher.h.
 */
#include "launcher.h"

#include "../record/cleanup.h"
#include "changes.h"
#include "message.h"
#include "sandbox.h"
#include "skeleton.h"
#include "slow_close.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define LAUNCHER_NAME "vitrine-launcher"
#define ANSWER_TIMEOUT_S 30
#define LOOK_NS 1000000000
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int seal(int memfd, mode_t mode, int *ret_fd)
{
	char path[64];

	if (fchmod(memfd, mode) < 0 || fcntl(memfd, F_ADD_SEALS, SEALS) < 0)
		return -errno;

	/* Nobody may have it open for writing: a program in use is not written (ETXTBSY). */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/*
 * The launcher's program as a memfd, for its children become pid 1 of sessions: it is in no file
 * system that a session sees, and not to be overwritten through /proc/1/exe.
 */
static int load_program(int bin_dir_fd, int *ret_fd)
{
	struct stat st;

	cleanup(close_fd) int from = openat(bin_dir_fd, LAUNCHER_NAME, O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		return -errno;
	cleanup(close_fd) int to = memfd_create(LAUNCHER_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (to < 0)
		return -errno;
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		left -= n;
	}
	return seal(to, 0111, ret_fd);
}

int launcher_filter(const struct syscall_changes *changes, int *ret_fd)
{
	cleanup(free) struct sock_filter *filter = NULL;
	size_t count;

	int r = seccomp_compile(changes, &filter, &count);
	if (r < 0)
		return r;

	size_t size = count * sizeof(*filter);
	cleanup(close_fd) int fd = memfd_create("vitrine-filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (write(fd, filter, size) != (ssize_t)size)
		return -EIO;
	return seal(fd, 0400, ret_fd);
}

static _Noreturn void execute_launcher(int program_fd, int socket)
{
	char *const argv[] = {LAUNCHER_NAME, NULL};
	char *const env[] = {NULL};

	int null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(1);
	if (socket == 3 ? fcntl(3, F_SETFD, 0) < 0 : dup2(socket, 3) < 0)
		_exit(1);
	if (close_range(4, ~0u, CLOSE_RANGE_CLOEXEC) < 0 || setsid() < 0)
		_exit(1);
	execveat(program_fd, "", argv, env, AT_EMPTY_PATH);
	_exit(1);
}

static int spawn(int bin_dir_fd, struct launcher *l)
{
	int pair[2];

	cleanup(close_fd) int program = -1;
	int r = load_program(bin_dir_fd, &program);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	l->socket = pair[0];
	cleanup(close_fd) int theirs = pair[1];

	/* Without a copy above the fixed numbers, placing the socket could close the program. */
	cleanup(close_fd) int aside = fcntl(program, F_DUPFD_CLOEXEC, 16);
	if (aside < 0)
		return -errno;
	l->pid = fork();
	if (l->pid < 0)
		return -errno;
	if (l->pid == 0)
		execute_launcher(aside, theirs);

	l->pidfd = pidfd_open(l->pid, 0);
	return l->pidfd < 0 ? -errno : 0;
}

/* Nobody is asked any more: an answer that comes late would be taken for the next one's. */
static void give_up(struct launcher *l, int error)
{
	if (l->pidfd >= 0)
		pidfd_send_signal(l->pidfd, SIGKILL, NULL, 0);
	for (struct launch *a = l->first; a; a = a->next) {
		a->is_answered = true;
		a->error = -error;
		a->step = SETUP_launcher;
	}
	l->first = l->last = NULL;
}

/* Wait for the next answer: it is for who has waited longest. */
static void receive_answer(struct launcher *l)
{
	cleanup(message_fds) struct message_fds in = {.count = 0};
	struct launch_answer answer = {0};
	struct launch *a = l->first;

	int r = message_receive(l->socket, true, &answer, sizeof(answer), &in);
	if (r < 0) {
		give_up(l, r == -EAGAIN ? -ETIMEDOUT : r);
		return;
	}
	l->first = a->next;
	if (!l->first)
		l->last = NULL;
	a->is_answered = true;
	a->error = answer.error;
	a->step = answer.step;
	a->pid = answer.pid;
	for (size_t i = 0; i < in.count && i < LAUNCH_ANSWER_COUNT; i++)
		a->fds[i] = take_fd(in.fd[i]);
}

static void expect(struct launcher *l, struct launch *launch)
{
	*launch = (struct launch){
		.is_asked = true, .step = SETUP_launcher, .fds = LAUNCH_ANSWER_NONE};
	if (l->last)
		l->last->next = launch;
	else
		l->first = launch;
	l->last = launch;
}

int launcher_ask(struct launcher *l, const struct launch_request *request, const int *fds,
		 size_t count, struct launch *launch)
{
	int r = message_send(l->socket, request, sizeof(*request), fds, count);

	if (r == 0)
		expect(l, launch);
	return r;
}

int launcher_wait(struct launcher *l, struct launch *launch)
{
	while (!launch->is_answered)
		receive_answer(l);
	launch->is_asked = false;
	return -launch->error;
}

static int renew_skeleton(struct launcher *l)
{
	uint64_t print = skeleton_fingerprint();
	if (print == l->skeleton)
		return 0;

	cleanup(close_fd) int mount_fd = -1;
	int r = skeleton_make(&mount_fd);
	if (r < 0)
		return r;

	struct launch_request request = {.kind = LAUNCH_SKELETON};
	struct launch launch;
	r = launcher_ask(l, &request, &mount_fd, 1, &launch);
	if (r == 0)
		r = launcher_wait(l, &launch);
	if (r == 0)
		l->skeleton = print;
	return r;
}

/* To end a watch takes grace periods of the kernel. */
static void watch_anew(struct launcher *l)
{
	if (l->changes_fd >= 0)
		slow_close(&l->changes_fd, 1);
	l->changes_fd = -1;
	(void)skeleton_watch(&l->changes_fd);
}

/* A watch does not tell of what is mounted over the files. */
int launcher_refresh(struct launcher *l)
{
	bool is_quiet = l->changes_fd >= 0 && changes_none(l->changes_fd);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t now_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	if (is_quiet && now_ns < l->look_ns)
		return 0;
	if (!is_quiet)
		watch_anew(l);
	int r = renew_skeleton(l);
	l->look_ns = r < 0 ? 0 : now_ns + LOOK_NS;
	return r;
}

/* It says by itself that it is ready. */
static int wait_started(struct launcher *l)
{
	struct launch launch;

	expect(l, &launch);
	return launcher_wait(l, &launch);
}

int launcher_start(int bin_dir_fd, struct launcher **ret_launcher)
{
	struct launcher *l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct launcher){.pidfd = -1, .socket = -1, .filter_fd = -1, .changes_fd = -1};

	int r = spawn(bin_dir_fd, l);
	if (r == 0)
		r = launcher_filter(&(struct syscall_changes){0}, &l->filter_fd);

	struct timeval wait = {.tv_sec = ANSWER_TIMEOUT_S};
	if (r == 0 && setsockopt(l->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		r = -errno;
	if (r == 0)
		r = wait_started(l);
	if (r == 0)
		r = launcher_refresh(l);
	if (r < 0) {
		launcher_stop(l);
		return r;
	}
	*ret_launcher = l;
	return 0;
}

void launcher_stop(struct launcher *l)
{
	if (!l)
		return;

	/* It ends by itself when its socket closes. */
	cleanup_close_fd(&l->socket);
	if (l->pid > 0)
		waitpid(l->pid, NULL, 0);
	cleanup_close_fd(&l->pidfd);
	cleanup_close_fd(&l->filter_fd);
	cleanup_close_fd(&l->changes_fd);
	free(l);
}

int launcher_pidfd(const struct launcher *l)
{
	return l->pidfd;
}
