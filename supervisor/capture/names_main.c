/*
 * vitrine-names: tells the recorder where in a session's tree a file handle lies. Started by
 * vitrined with a socket as descriptor 3, which the recorder has the other end of; it ends with it.
 *
 * Opening by handle wants CAP_DAC_READ_SEARCH, so this is a process of its own that has nothing
 * else: no other capability, no user, no file to write, and of system calls those few.
 */
#include "../record/cleanup.h"
#include "../record/stack_wipe.h"
#include "only_reader.h"
#include "resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SOCKET_FD 3

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* ---- the cage ---- */

static int load_filter(void)
{
	static const int allowed[] = {
		SCMP_SYS(recvmsg),	     SCMP_SYS(sendto),	 SCMP_SYS(close),
		SCMP_SYS(open_by_handle_at), SCMP_SYS(readlink), SCMP_SYS(name_to_handle_at),
		SCMP_SYS(newfstatat),	     SCMP_SYS(fstat),	 SCMP_SYS(restart_syscall),
		SCMP_SYS(exit_group),	     SCMP_SYS(munmap),	 SCMP_SYS(brk),
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (r == 0) /* a directory, never a file */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_DIRECTORY,
					     O_RDONLY | O_DIRECTORY));
	if (r == 0) /* the last word, to standard error */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
				     SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO));
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

/* ---- requests ---- */

static void take_rider(struct msghdr *message, int *ret_fd)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(*ret_fd)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
}

/* 1 with a request, 0 when the recorder is gone, -errno. */
static int receive(struct names_request *ret_request, int *ret_fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {ret_request, sizeof(*ret_request)};
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
	if (size < 0)
		return errno == ECONNRESET ? 0 : -errno;
	take_rider(&message, ret_fd);
	if (size == 0)
		return 0;
	return size == sizeof(*ret_request) ? 1 : -EBADMSG;
}

static int serve(struct resolver *resolver, void *reply)
{
	for (;;) {
		struct names_request request = {0};
		int fd = -1;

		int r = receive(&request, &fd);
		if (r <= 0)
			return r;
		size_t size = resolver_answer(resolver, &request, fd, reply);
		ssize_t sent = send(SOCKET_FD, reply, size, MSG_NOSIGNAL);

		explicit_bzero(reply, size);
		if (request.kind == NAMES_REMOVE) /* nothing of the session's names is left */
			stack_wipe();
		if (sent < 0)
			return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
	}
}

static int run(void)
{
	int room = NAMES_REPLY_MAX * 2;
	struct resolver *resolver = NULL;
	void *reply = malloc(NAMES_REPLY_MAX);

	int r = reply ? resolver_new(&resolver) : -ENOMEM;
	if (r == 0 && fcntl(SOCKET_FD, F_SETFL, 0) < 0)
		r = -errno;
	setsockopt(SOCKET_FD, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (r == 0)
		r = only_reader_become();
	if (r == 0 && !IS_SANITIZED)
		r = load_filter();
	if (r == 0)
		r = serve(resolver, reply);
	resolver_free(resolver);
	free(reply);
	return r;
}

int main(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	int r = run();
	if (r < 0) {
		fprintf(stderr, "vitrine-names: %s\n", strerror(-r));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
