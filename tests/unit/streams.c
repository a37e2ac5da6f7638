/* Streams: descriptions of our own, never more rights than the client has, nothing of it changed.
 */
#include "../../supervisor/streams.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

static void pipes_are_opened_again(void **state)
{
	(void)state;
	int in[2], out[2];
	struct streams s;
	struct fault f;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	int fds[3] = {in[0], out[1], out[1]};
	assert_int_equal(streams_open(fds, false, geteuid(), &s, &f), 0);

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
	assert_int_equal(streams_open(for_reading, false, geteuid(), &s, &f), -EBADF);
	assert_non_null(strstr(f.text, "standard output"));
	int by_path[3] = {path_only, null, null};
	assert_int_equal(streams_open(by_path, false, geteuid(), &s, &f), -EBADF);
	int no_stream[3] = {null, null, directory};
	assert_int_equal(streams_open(no_stream, false, geteuid(), &s, &f), -EINVAL);
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
	assert_int_equal(streams_open(fds, false, geteuid(), &s, &f), 0);
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
	int fds[3] = {null, null, null};

	assert_int_equal(streams_open(fds, true, geteuid(), &s, &f), 0);
	assert_true(s.from[0] >= 0 && s.to[1] >= 0);
	assert_true(s.to[0] < 0 && s.from[1] < 0 && s.from[2] < 0 && s.to[2] < 0);
	assert_true(s.session[0] < 0 && s.session[1] < 0 && s.session[2] < 0);
	streams_close(&s);
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
	assert_int_equal(streams_open(fds, false, geteuid(), &s, &f), 0);
	streams_close(&s);
	close(out[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipes_are_opened_again),
		cmocka_unit_test(no_right_is_gained),
		cmocka_unit_test(files_and_sockets_are_passed_as_they_are),
		cmocka_unit_test(a_terminal_needs_no_pipes),
		cmocka_unit_test(a_pipe_without_a_reader_is_taken),
	};

	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
