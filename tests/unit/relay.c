/* Relays: byte for byte, recorded first, never blocking, with backpressure. */
#include "../../supervisor/capture/relay.h"

#include "../../supervisor/capture/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#define LARGE 1000000
#define RECORDED_MAX (8 * LARGE)

struct world {
	sd_event *loop;
	struct relay *relay;
	uint8_t *recorded;
	size_t size;
	size_t pieces;
	int refuse; /* recording says this instead */
	int done;
};

static int on_record(void *context, struct bytes piece, uint64_t offset)
{
	struct world *w = context;

	if (w->refuse)
		return w->refuse;
	assert_int_equal(offset, w->size);
	assert_true(w->size + piece.size <= RECORDED_MAX);
	memcpy(w->recorded + w->size, piece.data, piece.size);
	w->size += piece.size;
	w->pieces++;
	return 0;
}

static void on_done(void *context)
{
	((struct world *)context)->done++;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	signal(SIGPIPE, SIG_IGN);
	w->recorded = malloc(RECORDED_MAX);
	assert_true(sd_event_new(&w->loop) >= 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	relay_free(w->relay);
	sd_event_unref(w->loop);
	free(w->recorded);
	free(w);
	return 0;
}

static void start(struct world *w, int from, int to)
{
	const struct relay_options options = {
		.loop = w->loop,
		.from = from,
		.to = to,
		.record = on_record,
		.done = on_done,
		.context = w,
	};

	assert_int_equal(relay_new(&options, &w->relay), 0);
}

static void turn(struct world *w, int milliseconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + milliseconds * 1000000ULL;

	while (clock_ns(CLOCK_MONOTONIC) < end)
		assert_true(sd_event_run(w->loop, 1000) >= 0);
}

static void turn_until_done(struct world *w)
{
	for (int i = 0; i < 20000 && !w->done; i++)
		assert_true(sd_event_run(w->loop, 1000) >= 0);
	assert_int_equal(w->done, 1);
}

static void make_pipe(int ret_fds[2])
{
	assert_int_equal(pipe2(ret_fds, O_CLOEXEC), 0);
}

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 31 + i / 255);
}

/* The far ends: threads that write and read blocking descriptors, and close them. */
struct far {
	pthread_t thread;
	int fd;
	size_t size;	/* to write; or that was read */
	size_t stop_at; /* a reader that goes away after so much; 0: at the end */
	int pause_usec;
	bool is_wrong;
};

static void *write_all(void *context)
{
	struct far *far = context;
	uint8_t buffer[4096]; /* whole pages: a pipe holds so many */

	for (size_t done = 0; done < far->size;) {
		size_t part = far->size - done < sizeof(buffer) ? far->size - done : sizeof(buffer);

		for (size_t i = 0; i < part; i++)
			buffer[i] = byte_at(done + i);
		ssize_t n = write(far->fd, buffer, part);
		if (n < 0)
			break;
		done += n;
	}
	close(far->fd);
	return NULL;
}

static void *read_all(void *context)
{
	struct far *far = context;
	uint8_t buffer[8192];
	ssize_t n;

	while ((n = read(far->fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			far->is_wrong |= buffer[i] != byte_at(far->size + i);
		far->size += n;
		if (far->stop_at && far->size >= far->stop_at)
			break;
		if (far->pause_usec)
			usleep(far->pause_usec);
	}
	close(far->fd);
	return NULL;
}

static void begin(struct far *far, void *(*what)(void *))
{
	assert_int_equal(pthread_create(&far->thread, NULL, what, far), 0);
}

static void expect_recorded(struct world *w, size_t size)
{
	assert_int_equal(w->size, size);
	assert_int_equal(relay_total(w->relay), size);
	for (size_t i = 0; i < size; i++)
		if (w->recorded[i] != byte_at(i))
			fail_msg("byte %zu is wrong", i);
}

/* LARGE bytes through @in and @out (each: read end, write end); all arrive and are recorded. */
static void carry(struct world *w, const int in[2], const int out[2], int pause_usec)
{
	struct far writer = {.fd = in[1], .size = LARGE};
	struct far reader = {.fd = out[0], .pause_usec = pause_usec};

	begin(&writer, write_all);
	begin(&reader, read_all);
	start(w, in[0], out[1]);
	turn_until_done(w);
	pthread_join(writer.thread, NULL);
	pthread_join(reader.thread, NULL);
	expect_recorded(w, LARGE);
	assert_int_equal(reader.size, LARGE);
	assert_false(reader.is_wrong);
	assert_false(relay_is_detached(w->relay));
}

static void never_block(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void carries_pipe_to_pipe(void **state)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	never_block(in[0]);
	never_block(out[1]);
	carry(*state, in, out, 0);
}

static void carries_what_may_block(void **state)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	carry(*state, in, out, 0);
}

static void carries_to_a_slow_reader(void **state)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	never_block(in[0]);
	never_block(out[1]);
	carry(*state, in, out, 500);
}

static void carries_socket_to_socket(void **state)
{
	int in[2], out[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	carry(*state, in, out, 0);
}

static int open_file(void)
{
	char name[] = "/tmp/vitrine-relay-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

static void carries_file_to_file(void **state)
{
	struct world *w = *state;
	int from = open_file(), to = open_file(), kept = dup(to);
	struct far writer = {.fd = dup(from), .size = LARGE};
	uint8_t byte;

	begin(&writer, write_all);
	pthread_join(writer.thread, NULL);
	lseek(from, 0, SEEK_SET);
	start(w, from, to);
	turn_until_done(w);
	expect_recorded(w, LARGE);
	assert_int_equal(lseek(kept, 0, SEEK_END), LARGE);
	assert_int_equal(pread(kept, &byte, 1, LARGE - 1), 1);
	assert_int_equal(byte, byte_at(LARGE - 1));
	close(kept);
}

static void is_done_with_an_empty_stream(void **state)
{
	struct world *w = *state;
	int out[2];

	make_pipe(out);
	start(w, open("/dev/null", O_RDONLY | O_CLOEXEC), out[1]);
	turn_until_done(w);
	expect_recorded(w, 0);
	assert_int_equal(read(out[0], w->recorded, 1), 0); /* the end was passed on */
	close(out[0]);
}

/* The writer is stopped as a writer to a broken pipe is; what was read is recorded. */
static void ends_when_the_reader_goes_away(void **state)
{
	struct world *w = *state;
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	never_block(out[1]);
	struct far writer = {.fd = in[1], .size = 4 * LARGE};
	struct far reader = {.fd = out[0], .stop_at = 100000};

	begin(&writer, write_all);
	begin(&reader, read_all);
	start(w, in[0], out[1]);
	turn_until_done(w);
	pthread_join(writer.thread, NULL);
	pthread_join(reader.thread, NULL);
	assert_true(w->size >= reader.stop_at && w->size < writer.size);
	expect_recorded(w, w->size);
}

static void records_what_goes_nowhere(void **state)
{
	struct world *w = *state;
	int in[2];

	make_pipe(in);
	struct far writer = {.fd = in[1], .size = LARGE};

	begin(&writer, write_all);
	start(w, in[0], -1);
	turn_until_done(w);
	pthread_join(writer.thread, NULL);
	expect_recorded(w, LARGE);
}

/* Nobody reads the other end: the writer is stopped, and little is held. */
static void stops_reading_while_the_reader_is_slow(void **state)
{
	struct world *w = *state;
	int in[2], out[2], there = 0;

	make_pipe(in);
	make_pipe(out);
	never_block(in[1]);
	never_block(out[1]);
	start(w, in[0], out[1]);
	uint8_t block[4096] = {0};
	size_t written = 0;
	for (int idle = 0; idle < 10;) {
		ssize_t n = write(in[1], block, sizeof(block));
		if (n > 0)
			written += n;
		idle = n > 0 ? 0 : idle + 1;
		turn(w, 1);
	}
	assert_true(written <= 3 * 65536 + 4096);
	assert_int_equal(ioctl(out[0], FIONREAD, &there), 0);
	assert_true(there > 0);
	assert_true(w->size <= (size_t)there + RELAY_BUFFER);
	close(in[1]);
	close(out[0]);
	turn_until_done(w);
	assert_int_equal(w->size, written);
}

static void records_before_it_relays(void **state)
{
	struct world *w = *state;
	int in[2], out[2];
	char byte;

	make_pipe(in);
	make_pipe(out);
	never_block(out[0]);
	w->refuse = -EAGAIN;
	start(w, in[0], out[1]);
	assert_int_equal(write(in[1], "x", 1), 1);
	turn(w, 20);
	assert_int_equal(read(out[0], &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	relay_resume(w->relay);
	turn(w, 5);
	assert_int_equal(read(out[0], &byte, 1), -1);

	w->refuse = 0;
	relay_resume(w->relay);
	assert_int_equal(w->pieces, 1);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(in[1]);
	close(out[0]);
	turn_until_done(w);
}

/* What a command wrote just before it ended is carried, although another still holds the pipe. */
static void finishes_what_is_there(void **state)
{
	struct world *w = *state;
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	fcntl(in[1], F_SETPIPE_SZ, 1 << 20);
	never_block(in[0]);
	never_block(out[1]);
	struct far writer = {.fd = dup(in[1]), .size = LARGE};
	struct far reader = {.fd = out[0], .pause_usec = 200};

	begin(&writer, write_all);
	pthread_join(writer.thread, NULL); /* all of it lies in the pipe */
	begin(&reader, read_all);
	start(w, in[0], out[1]);
	relay_finish(w->relay);
	turn_until_done(w);
	pthread_join(reader.thread, NULL);
	expect_recorded(w, LARGE);
	assert_int_equal(reader.size, LARGE);
	assert_true(relay_is_detached(w->relay));
	assert_int_equal(write(in[1], "x", 1), -1); /* left to itself */
	close(in[1]);
}

static void is_not_detached_when_all_writers_are_gone(void **state)
{
	struct world *w = *state;
	int in[2];

	make_pipe(in);
	never_block(in[0]);
	assert_int_equal(write(in[1], "", 1), 1);
	close(in[1]);
	start(w, in[0], -1);
	relay_finish(w->relay);
	turn_until_done(w);
	assert_false(relay_is_detached(w->relay));
	assert_int_equal(w->size, 1);
}

/* A writer that never stops does not keep a command from ending. */
static void finishes_although_more_comes(void **state)
{
	struct world *w = *state;
	int in[2];

	make_pipe(in);
	never_block(in[0]);
	struct far writer = {.fd = in[1], .size = (size_t)1 << 40};

	begin(&writer, write_all);
	start(w, in[0], -1);
	turn(w, 2);
	relay_finish(w->relay);
	turn_until_done(w);
	pthread_join(writer.thread, NULL);
	assert_true(relay_is_detached(w->relay));
}

static void discards_what_nobody_takes(void **state)
{
	struct world *w = *state;
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	fcntl(in[1], F_SETPIPE_SZ, 1 << 20);
	never_block(in[0]);
	never_block(out[1]);
	struct far writer = {.fd = in[1], .size = LARGE};

	begin(&writer, write_all);
	pthread_join(writer.thread, NULL);
	start(w, in[0], out[1]);
	turn(w, 20);
	relay_finish(w->relay);
	turn(w, 20);
	assert_int_equal(w->done, 0); /* it waits for the reader */
	relay_discard(w->relay);
	turn_until_done(w);
	expect_recorded(w, LARGE);
	close(out[0]);
}

static void stops_at_once(void **state)
{
	struct world *w = *state;
	int in[2], out[2];
	char byte;

	make_pipe(in);
	make_pipe(out);
	start(w, in[0], out[1]);
	relay_stop(w->relay);
	relay_stop(w->relay);
	assert_int_equal(w->done, 1);
	assert_int_equal(read(out[0], &byte, 1), 0);
	assert_int_equal(write(in[1], "x", 1), -1);
	close(in[1]);
	close(out[0]);
}

static void carries_a_terminal_to_its_end(void **state)
{
	struct world *w = *state;
	int master, slave;
	struct termios raw;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	tcgetattr(slave, &raw);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	never_block(master);
	struct far writer = {.fd = slave, .size = 200000};

	start(w, master, -1);
	begin(&writer, write_all);
	turn_until_done(w);
	pthread_join(writer.thread, NULL);
	expect_recorded(w, 200000);
}

static void takes_descriptors_over_when_it_fails(void **state)
{
	struct world *w = *state;
	int in[2];
	struct relay *relay = NULL;
	const struct relay_options options = {
		.loop = w->loop, .to = 1000000, .record = on_record, .done = on_done, .context = w};

	make_pipe(in);
	struct relay_options bad = options;
	bad.from = in[0];
	assert_int_equal(relay_new(&bad, &relay), -EBADF);
	assert_null(relay);
	assert_int_equal(fcntl(in[0], F_GETFD), -1);
	close(in[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(carries_pipe_to_pipe),
		TEST(carries_what_may_block),
		TEST(carries_to_a_slow_reader),
		TEST(carries_socket_to_socket),
		TEST(carries_file_to_file),
		TEST(is_done_with_an_empty_stream),
		TEST(ends_when_the_reader_goes_away),
		TEST(records_what_goes_nowhere),
		TEST(stops_reading_while_the_reader_is_slow),
		TEST(records_before_it_relays),
		TEST(finishes_what_is_there),
		TEST(is_not_detached_when_all_writers_are_gone),
		TEST(finishes_although_more_comes),
		TEST(discards_what_nobody_takes),
		TEST(stops_at_once),
		TEST(carries_a_terminal_to_its_end),
		TEST(takes_descriptors_over_when_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
