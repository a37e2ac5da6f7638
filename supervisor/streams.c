/*
 * Streams between a client and a command.
 *
 * O_NONBLOCK belongs to the open file description, which the client shares with its shell and
 * whatever else has that terminal or pipe. So pipes and character devices are opened again, for a
 * description of our own; sockets have MSG_DONTWAIT, and regular files do not block.
 */
#include "streams.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PIPE_BYTES (1024 * 1024)

static const char *const stream_names[] = {"standard input", "standard output", "standard error"};

static void close_all(int fds[3])
{
	for (size_t i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void streams_close_session(struct streams *s)
{
	close_all(s->session);
}

void streams_close(struct streams *s)
{
	close_all(s->session);
	close_all(s->from);
	close_all(s->to);
}

static void cleanup_streams(struct streams *s)
{
	streams_close(s);
}

/* Root could open again for writing what the client may only read: the mode it has is the limit. */
static bool allows(int fd, int mode)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH))
		return false;
	return (flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode;
}

static int open_again(int fd, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again < 0 && errno == ENXIO && mode == O_WRONLY) /* a pipe that nobody reads any more */
		again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return again < 0 ? -errno : again;
}

/* A description of @fd that the recorder can read or write without being blocked. */
static int own_description(int fd, int mode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return -EINVAL;
	if (!allows(fd, mode))
		return -EBADF;
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		return open_again(fd, mode);
	if (!S_ISSOCK(st.st_mode) && !S_ISREG(st.st_mode))
		return -EINVAL;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return copy < 0 ? -errno : copy;
}

/* A pipe whose end for the recorder does not block, and which the command's user may open. */
static int open_pipe(uid_t owner, bool session_reads, int *ret_session, int *ret_recorder)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	cleanup(close_fd) int session = ends[session_reads ? 0 : 1];
	cleanup(close_fd) int recorder = ends[session_reads ? 1 : 0];

	if (fchown(session, owner, owner) < 0)
		return -errno;
	if (fcntl(recorder, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	fcntl(recorder, F_SETPIPE_SZ, PIPE_BYTES); /* only for speed */

	*ret_session = take_fd(session);
	*ret_recorder = take_fd(recorder);
	return 0;
}

static int open_stream(const int client[3], bool tty, size_t i, uid_t owner, struct streams *s)
{
	int *ours = i == 0 ? &s->from[0] : &s->to[i];
	int *pipe_end = i == 0 ? &s->to[0] : &s->from[i];

	if (tty && i == 2)
		return 0;
	int fd = own_description(client[i], i == 0 ? O_RDONLY : O_WRONLY);
	if (fd < 0)
		return fd;
	*ours = fd;
	return tty ? 0 : open_pipe(owner, i == 0, &s->session[i], pipe_end);
}

int streams_open(const int client[3], bool tty, uid_t owner, struct streams *ret_streams,
		 struct fault *ret_fault)
{
	cleanup(streams) struct streams s = STREAMS_NONE;

	for (size_t i = 0; i < 3; i++) {
		int r = open_stream(client, tty, i, owner, &s);
		if (r < 0)
			return fault_set(ret_fault, r, "bad_stream", "%s cannot be used: %s",
					 stream_names[i], strerror(-r));
	}

	*ret_streams = s;
	s = (struct streams)STREAMS_NONE;
	return 0;
}
