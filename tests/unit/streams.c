/* Streams: descriptions of our own, never more rights than the client has, nothing of it changed.
 */
#include "../../supervisor/streams.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int open_streams(const int fds[3], struct streams *ret_streams, struct fault *f)
{
	const struct streams_options options = {
		.client = {fds[0], fds[1], fds[2]},
		.owner = geteuid(),
	};

	return streams_open(&options, ret_streams, f);
}

static void pipes_are_opened_again(void **state)
{
	(void)state;
	int in[2], out[2];
	struct streams s;
	struct fault f;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	int fds[3] = {in[0], out[1], out[1]};
	assert_int_equal(open_streams(fds, &s, &f), 0);

	/* Ours does not block, the client's is as it was. */
	assert_true(fcntl(s.from[0], F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(s.to[1], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);

	/* The command's ends block as any pipe does; ours do not. */
	assert_false(fcntl(s.session[0], F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(s.to[0], F_GETFL) & O_NONBLOCK);

	char c = 'x';
	assert_int_equal(write(s.session[1], &c, 1), 1);
	c = 0;
	assert_int_equal(read(s.from[1], &c, 1), 1);
	assert_int_equal(c, 'x');
	streams_close(&s);
	close(in[0]), close(in[1]), close(out[0]), close(out[1]);
}

static void no_right_is_gained(void **state)
{
	(void)state;
	struct streams s;
	struct fault f;
	char dir[] = "/tmp/vitrine-streams-XXXXXX", path[64];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup(close_fd) int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	cleanup(close_fd) int path_only = open(path, O_PATH | O_CLOEXEC);
	cleanup(close_fd) int directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	int for_reading[3] = {null, reader, null};
	assert_int_equal(open_streams(for_reading, &s, &f), -EBADF);
	assert_non_null(strstr(f.text, "standard output"));
	int by_path[3] = {path_only, null, null};
	assert_int_equal(open_streams(by_path, &s, &f), -EBADF);
	int no_stream[3] = {null, null, directory};
	assert_int_equal(open_streams(no_stream, &s, &f), -EINVAL);
	assert_non_null(strstr(f.text, "standard error"));
	unlink(path);
	rmdir(dir);
}

static void files_and_sockets_are_passed_as_they_are(void **state)
{
	(void)state;
	struct streams s;
	struct fault f;
	int pair[2];
	char path[] = "/tmp/vitrine-streams-XXXXXX";
	int file = mkstemp(path);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	int fds[3] = {file, pair[0], file};
	assert_int_equal(lseek(file, 5, SEEK_SET), 5);
	assert_int_equal(open_streams(fds, &s, &f), 0);
	assert_int_equal(lseek(s.from[0], 0, SEEK_CUR), 5); /* the same description: one offset */
	assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	streams_close(&s);
	close(file), close(pair[0]), close(pair[1]);
	unlink(path);
}

static void a_terminal_needs_no_pipes(void **state)
{
	(void)state;
	struct streams s;
	struct fault f;
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct streams_options options = {
		.client = {null, null, null}, .root = true, .tty = true};

	assert_int_equal(streams_open(&options, &s, &f), 0);
	assert_true(s.from[0] >= 0 && s.to[1] >= 0);
	assert_true(s.to[0] < 0 && s.from[1] < 0 && s.from[2] < 0 && s.to[2] < 0);
	assert_true(s.session[0] < 0 && s.session[1] < 0 && s.session[2] < 0);
	streams_close(&s);
	streams_close(&s);
}

/* A pair of terminals; @ret_line is opened by its name. */
static void open_pty(int *ret_master, int *ret_line, char name[64])
{
	int unlock = 0, number;

	*ret_master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*ret_master >= 0);
	assert_int_equal(ioctl(*ret_master, TIOCSPTLCK, &unlock), 0);
	assert_int_equal(ioctl(*ret_master, TIOCGPTN, &number), 0);
	snprintf(name, 64, "/dev/pts/%d", number);
	*ret_line = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*ret_line >= 0);
}

/* A process of the client's has @line as its terminal; what it calls /dev/tty comes over @socket.
 */
static void send_own_tty(int socket, const char *line)
{
	char c = 0;
	struct iovec iov = {.iov_base = &c, .iov_len = 1};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} room = {.align = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof(room.bytes)};

	setsid();
	int own = open(line, O_RDWR);
	ioctl(own, TIOCSCTTY, 0);
	int tty = open("/dev/tty", O_RDWR);
	memcpy(CMSG_DATA(&room.align), &tty, sizeof(tty));
	_exit(tty < 0 || sendmsg(socket, &message, 0) < 0);
}

static int receive_fd(int socket)
{
	char c;
	struct iovec iov = {.iov_base = &c, .iov_len = 1};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} room;
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof(room.bytes)};
	int fd = -1;

	assert_int_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* The daemon's own terminal is @mine; the client passes /dev/tty of another one. */
static int as_daemon(const char *mine, const char *other)
{
	int pair[2], status;
	struct streams s;
	struct fault f;

	setsid();
	int own = open(mine, O_RDWR);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (own < 0 || ioctl(own, TIOCSCTTY, 0) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 2;
	pid_t client = fork();
	if (client == 0)
		send_own_tty(pair[1], other);
	int tty = receive_fd(pair[0]);
	int as_input[3] = {tty, null, null}, as_output[3] = {null, tty, null};
	int r = open_streams(as_input, &s, &f) == -ENXIO &&
				open_streams(as_output, &s, &f) == -ENXIO
			? 0
			: 1;

	waitpid(client, &status, 0);
	return r;
}

static void a_terminal_that_is_another_one_to_us_is_refused(void **state)
{
	(void)state;
	int masters[2], lines[2], status = 0;
	char names[2][64];

	for (size_t i = 0; i < 2; i++)
		open_pty(&masters[i], &lines[i], names[i]);
	pid_t daemon = fork();
	if (daemon == 0)
		_exit(as_daemon(names[0], names[1]));
	assert_int_equal(waitpid(daemon, &status, 0), daemon);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < 2; i++)
		close(lines[i]), close(masters[i]);
}

/* Whoever was hung up on has nothing; who opens the line again would have its next user's. */
static void a_terminal_that_was_taken_away_is_refused(void **state)
{
	(void)state;
	struct streams s;
	struct fault f;
	int master, line;
	char name[64];
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	open_pty(&master, &line, name);
	int fds[3] = {line, line, null};
	assert_int_equal(open_streams(fds, &s, &f), 0);
	streams_close(&s);
	close(master); /* hangs up */
	assert_int_equal(open_streams(fds, &s, &f), -EIO);
	close(line);
}

static void a_device_that_is_no_stream_is_refused(void **state)
{
	(void)state;
	struct streams s;
	struct fault f;
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup(close_fd) int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	cleanup(close_fd) int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int another_each_time[3] = {null, master, null}, no_terminal[3] = {null, fuse, null};

	assert_int_equal(open_streams(another_each_time, &s, &f), -ENXIO);
	if (fuse >= 0) {
		assert_int_equal(open_streams(no_terminal, &s, &f), -EINVAL);
		assert_non_null(strstr(f.text, "put a pipe between"));
	}
}

/* As one that is nobody's finds it. */
static int try_exclusive(const int fds[3])
{
	struct streams s;
	struct fault f = {0};

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 1;
	if (streams_open(
		    &(struct streams_options){.client = {fds[0], fds[1], fds[2]}, .owner = 65534},
		    &s, &f) != -EBUSY)
		return 2;
	return strstr(f.text, "put a pipe between") ? 0 : 3;
}

static void a_terminal_that_can_be_open_once_only_names_the_mend(void **state)
{
	(void)state;
	int master, line, status;
	char name[64];
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (geteuid() != 0)
		skip();
	open_pty(&master, &line, name);
	assert_int_equal(fchmod(line, 0666), 0);
	assert_int_equal(ioctl(line, TIOCEXCL), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(try_exclusive((const int[]){null, line, null}));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(line), close(master);
}

/* /proc/PID/mem is a file whose bytes another process can keep back. */
static void a_file_of_a_process_is_roots_alone(void **state)
{
	(void)state;
	struct streams s;
	struct fault f;
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup(close_fd) int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	struct streams_options options = {.client = {null, memory, null}, .owner = geteuid()};

	assert_int_equal(streams_open(&options, &s, &f), -EOPNOTSUPP);
	assert_non_null(strstr(f.text, "put a pipe between"));
	options.root = true;
	assert_int_equal(streams_open(&options, &s, &f), 0);
	streams_close(&s);
}

static void a_pipe_without_a_reader_is_taken(void **state)
{
	(void)state;
	int out[2];
	struct streams s;
	struct fault f;
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	close(out[0]);
	int fds[3] = {null, out[1], null};
	assert_int_equal(open_streams(fds, &s, &f), 0);
	assert_true(fcntl(s.to[1], F_GETFL) & O_NONBLOCK); /* one that is ours */
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(s.to[1], "x", 1), -1); /* and it is no reader by itself */
	assert_int_equal(errno, EPIPE);
	streams_close(&s);
	close(out[1]);
}

/* Once, and by a command of the user that they were made for. */
static void pipes_that_were_made_ahead_are_taken(void **state)
{
	(void)state;
	struct streams first, second;
	struct streams_pipes pipes = STREAMS_PIPES_NONE;
	struct fault f;
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(streams_make_pipes(geteuid(), &pipes), 0);
	const struct streams_pipes made = pipes;
	struct streams_options options = {
		.client = {null, null, null},
		.root = true,
		.owner = geteuid(),
		.pipes = &pipes,
	};
	assert_int_equal(streams_open(&options, &first, &f), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(first.session[i], made.session[i]);
		assert_int_equal(i ? first.from[i] : first.to[i], made.recorder[i]);
		assert_int_equal(pipes.session[i], -1);
		assert_int_equal(pipes.recorder[i], -1);
	}
	assert_int_equal(streams_open(&options, &second, &f), 0);
	assert_true(second.session[1] >= 0 && second.session[1] != made.session[1]);
	streams_close(&first);
	streams_close(&second);
}

static void pipes_of_another_user_are_left(void **state)
{
	(void)state;
	struct streams s;
	struct streams_pipes pipes = STREAMS_PIPES_NONE;
	struct fault f;
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (geteuid() != 0)
		skip();
	assert_int_equal(streams_make_pipes(1000, &pipes), 0);
	const struct streams_options options = {
		.client = {null, null, null},
		.root = true,
		.pipes = &pipes,
	};
	assert_int_equal(streams_open(&options, &s, &f), 0);
	for (size_t i = 0; i < 3; i++) {
		struct stat st;

		assert_int_not_equal(s.session[i], pipes.session[i]);
		assert_int_equal(fstat(s.session[i], &st), 0);
		assert_int_equal(st.st_uid, 0);
		assert_int_equal(fstat(pipes.session[i], &st), 0);
		assert_int_equal(st.st_uid, 1000);
	}
	streams_close(&s);
	streams_close_pipes(&pipes);
	assert_int_equal(pipes.session[0], -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipes_are_opened_again),
		cmocka_unit_test(no_right_is_gained),
		cmocka_unit_test(files_and_sockets_are_passed_as_they_are),
		cmocka_unit_test(a_terminal_needs_no_pipes),
		cmocka_unit_test(a_terminal_that_is_another_one_to_us_is_refused),
		cmocka_unit_test(a_terminal_that_was_taken_away_is_refused),
		cmocka_unit_test(a_device_that_is_no_stream_is_refused),
		cmocka_unit_test(a_terminal_that_can_be_open_once_only_names_the_mend),
		cmocka_unit_test(a_file_of_a_process_is_roots_alone),
		cmocka_unit_test(a_pipe_without_a_reader_is_taken),
		cmocka_unit_test(pipes_that_were_made_ahead_are_taken),
		cmocka_unit_test(pipes_of_another_user_are_left),
	};

	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
