/*
 * vitrine-final: looks at the trees of sessions when their processes are dead. Started by vitrined
 * with a socket as descriptor 3, over which it gets one socket for each session; a child of its own
 * looks at that session's tree, and reaches nothing else.
 *
 * Files of sessions want CAP_DAC_READ_SEARCH, so this is a process of its own that has nothing
 * else: no other capability, no user, an empty root below which there is no path, and of system
 * calls those few.
 */
#include "../control.h"
#include "../record/cleanup.h"
#include "../record/jansson_cleanup.h"
#include "clock.h"
#include "only_reader.h"
#include "secret_list.h"
#include "survey.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define SOCKET_FD 3
#define DESCRIPTORS (4 * SURVEY_DEPTH_MAX + 64)
#define EMPTY_ROOT "/proc/self/fdinfo" /* of this process; nothing can be made in it */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* ---- the cage ---- */

/* A deep tree takes up to four descriptors for each level; where there are less it is told as far
 * as they last. */
static void take_descriptors(void)
{
	struct rlimit limit = {DESCRIPTORS, DESCRIPTORS};

	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int drop_privileges(void)
{
	if (chroot(EMPTY_ROOT) < 0 || chdir("/") < 0)
		return -errno;
	return only_reader_become();
}

static int load_filter(void)
{
	static const int allowed[] = {
		/* sockets and children */
		SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto),
		SCMP_SYS(socketpair), SCMP_SYS(poll), SCMP_SYS(clone), SCMP_SYS(exit_group),
		SCMP_SYS(fcntl),
		/* trees; openat2 is used to read, and nobody may write to them */
		SCMP_SYS(openat2), SCMP_SYS(getdents64), SCMP_SYS(newfstatat), SCMP_SYS(fstat),
		SCMP_SYS(readlinkat), SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(close),
		SCMP_SYS(lseek),
		/* memory, time, and what libc does by itself */
		SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
		SCMP_SYS(mlock), SCMP_SYS(munlock), SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),
		SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(futex), SCMP_SYS(gettid),
		SCMP_SYS(getpid), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction),
		SCMP_SYS(restart_syscall)};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (r == 0) /* to read */
		r = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
	if (r == 0) /* a child ends with its parent */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				     SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG));
	if (r == 0) /* memory, but none that can be run */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0) /* the last word, to standard error */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
				     SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO));
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

/* ---- one session ---- */

static int send_packet(int socket, struct iovec *parts, size_t count)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
	ssize_t n;

	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int on_packet(void *context, const struct final_packet *packet, const char *name,
		     const char *target)
{
	struct iovec parts[] = {
		{(void *)packet, sizeof(*packet)},
		{(void *)name, packet->name_size},
		{(void *)target, packet->target_size},
	};

	return send_packet(*(const int *)context, parts, 3);
}

/* All is told: the trees are let go of before the recorder hears it. */
static int tell_walked(int socket, struct control_message *request,
		       const struct final_totals *totals, int keep_fd)
{
	struct final_packet head = {.kind = FINAL_WALKED};
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)totals, sizeof(*totals)}};

	for (size_t i = 0; i < request->fd_count; i++)
		if (request->fds[i] != keep_fd)
			cleanup_close_fd(&request->fds[i]);
	return send_packet(socket, parts, 2);
}

/* Until the recorder has closed the socket. */
static int answer_looks(int socket, const struct survey_options *options)
{
	char room[FINAL_PACKET_MAX + 1];
	struct final_packet head;

	for (;;) {
		ssize_t size = recv(socket, room, sizeof(room) - 1, 0);
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size < 0 ? -errno : 0;
		if ((size_t)size < sizeof(head))
			return -EBADMSG;
		memcpy(&head, room, sizeof(head));
		if (head.kind != FINAL_LOOK || head.name_size > (size_t)size - sizeof(head) ||
		    head.name_size >= FINAL_NAME_MAX || options->workspace_fd < 0)
			return -EBADMSG;
		room[sizeof(head) + head.name_size] = '\0';
		int r = survey_workspace(options, room + sizeof(head));
		if (r < 0)
			return r;
	}
}

static int fd_of(const struct control_message *m, const char *name)
{
	const json_t *names = json_object_get(m->body, "fds");

	for (size_t i = 0; i < json_array_size(names) && i < m->fd_count; i++) {
		const char *there = json_string_value(json_array_get(names, i));

		if (there && strcmp(there, name) == 0)
			return m->fds[i];
	}
	return -1;
}

static uint64_t number_of(const struct control_message *m, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(m->body, name));

	return value > 0 ? (uint64_t)value : 0;
}

static int make_content(const struct control_message *m, struct content **ret_content)
{
	static const uint8_t no_key[32]; /* nothing is tagged here */
	struct redact_secret *list = NULL;
	struct content_budget budget = {
		.is_off = json_is_false(json_object_get(m->body, "hash")),
		.bytes_max = number_of(m, "bytes"),
		.deadline_ns = clock_ns(CLOCK_MONOTONIC) + number_of(m, "seconds") * 1000000000ULL,
	};
	size_t count = 0;
	int r = secret_list_read(json_object_get(m->body, "secrets"), &list, &count);

	if (r == 0 && count > 0 && !budget.is_off)
		r = secrets_new(no_key, list, count, &budget.secrets);
	secret_list_free(list, r < 0 && !list ? 0 : count);
	return r < 0 ? r : content_new(&budget, ret_content);
}

static int look(int socket)
{
	struct control_message request;
	struct final_totals totals;
	int r = control_receive(socket, &request);

	if (r < 0)
		return r;
	struct survey_options options = {
		.upper_fd = fd_of(&request, "upper"),
		.root_fd = fd_of(&request, "root"),
		.below_fds = {fd_of(&request, "base"), fd_of(&request, "lower")},
		.workspace_fd = fd_of(&request, "workspace"),
		.files_max = number_of(&request, "files"),
		.emit = on_packet,
		.context = &socket,
	};
	if (options.upper_fd < 0)
		return -EBADMSG;
	r = make_content(&request, &options.content);
	if (r == 0)
		r = survey_root(&options, &totals);
	if (r == 0)
		r = tell_walked(socket, &request, &totals, options.workspace_fd);
	return r < 0 ? r : answer_looks(socket, &options);
}

/* ---- all of them ---- */

/* 1 with a session's socket, 0 when vitrined is gone, -errno. */
static int receive(int *ret_fd)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&byte, sizeof(byte)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size;

	do {
		size = recvmsg(SOCKET_FD, &message, MSG_CMSG_CLOEXEC);
	} while (size < 0 && errno == EINTR);
	if (size <= 0)
		return size == 0 || errno == ECONNRESET ? 0 : -errno;

	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(*ret_fd)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return 1;
}

/* By the call itself: a sanitizer would look for leaks by files that this process cannot open. */
static _Noreturn void leave(int r)
{
	syscall(SYS_exit_group, r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
	__builtin_unreachable();
}

/*
 * A child that waits for a session, so that none has to wait for a child. That it has one it says
 * by a byte into @taken_fd.
 */
static _Noreturn void be_child(int taken_fd)
{
	int fd = -1, r = -ECONNRESET;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0)
		r = receive(&fd);
	if (r > 0)
		r = send(taken_fd, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
	close(taken_fd);
	close(SOCKET_FD);
	if (r == 0 && fd >= 0)
		r = look(fd);
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		fprintf(stderr, "vitrine-final: %s\n", strerror(-r));
	leave(r);
}

/* 1: the child has a session, 0: it ended without, -errno. */
static int wait_taken(int fd)
{
	char byte;
	ssize_t size;

	do {
		size = recv(fd, &byte, sizeof(byte), 0);
	} while (size < 0 && errno == EINTR);
	return size < 0 ? -errno : (int)size;
}

/* A child that ends without a session saw vitrined go, or was killed: what the socket says. */
static int serve(void)
{
	struct pollfd gone = {.fd = SOCKET_FD, .events = POLLRDHUP};
	int r = 1;

	while (r > 0) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return -errno;
		pid_t pid = fork();
		if (pid == 0) {
			close(pair[0]);
			be_child(pair[1]);
		}
		r = pid < 0 ? -errno : 0;
		close(pair[1]);
		if (r == 0)
			r = wait_taken(pair[0]);
		close(pair[0]);
		if (r == 0)
			r = poll(&gone, 1, 0) > 0 ? 0 : 1;
	}
	return r;
}

int main(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* children are not waited for */
	take_descriptors();
	int r = fcntl(SOCKET_FD, F_SETFL, 0) < 0 ? -errno : drop_privileges();
	if (r == 0 && !IS_SANITIZED)
		r = load_filter();
	if (r == 0)
		r = serve();
	if (r < 0)
		fprintf(stderr, "vitrine-final: %s\n", strerror(-r));
	leave(r);
}
