/* Messages between our processes: what is sent arrives, and what is not a message is refused. */
#include "../../supervisor/control.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>

static void pair(int ret_sockets[2])
{
	int size = 512 * 1024;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_sockets),
		0);
	setsockopt(ret_sockets[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int open_fds(void)
{
	cleanup(closedir) DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	return count;
}

static json_t *body_of_size(size_t size)
{
	char *text = malloc(size);

	memset(text, 'x', size);
	json_t *body = json_pack("{s:s, s:o}", "request", "test", "pad", json_stringn(text, size));
	free(text);
	return body;
}

static void passes_bodies_and_descriptors_of_any_size(void **state)
{
	(void)state;
	const size_t sizes[] = {0, 100, 65000, 65536, 70000, 4 * 1024 * 1024};
	int before = open_fds();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int sockets[2], fds[2];
		struct control_message m;

		pair(sockets);
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		json_t *body = body_of_size(sizes[i]);
		assert_int_equal(control_send(sockets[0], body, fds, 2), 0);
		assert_int_equal(control_receive(sockets[1], &m), 0);
		assert_true(json_equal(m.body, body));
		assert_int_equal(m.fd_count, 2);
		assert_int_equal(fcntl(m.fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

		char c = 'a';
		assert_int_equal(write(m.fds[1], &c, 1), 1);
		assert_int_equal(read(fds[0], &c, 1), 1);

		json_decref(body);
		control_message_free(&m);
		control_message_free(&m);
		close(fds[0]);
		close(fds[1]);
		close(sockets[0]);
		close(sockets[1]);
	}
	assert_int_equal(open_fds(), before);
}

static void refuses_too_much(void **state)
{
	(void)state;
	int sockets[2], fds[CONTROL_FDS_MAX + 1] = {0};

	pair(sockets);
	json_t *body = body_of_size(CONTROL_MESSAGE_MAX);
	assert_int_equal(control_send(sockets[0], body, NULL, 0), -EMSGSIZE);
	assert_int_equal(control_send(sockets[0], body, fds, CONTROL_FDS_MAX + 1), -E2BIG);
	json_decref(body);
	close(sockets[0]);
	close(sockets[1]);
}

static void tells_empty_from_gone(void **state)
{
	(void)state;
	int sockets[2];
	struct control_message m;

	pair(sockets);
	assert_int_equal(control_receive(sockets[1], &m), -EAGAIN);
	close(sockets[0]);
	assert_int_equal(control_receive(sockets[1], &m), -ECONNRESET);
	close(sockets[1]);
}

static void refuses_what_is_not_an_object(void **state)
{
	(void)state;
	const char *const bad[] = {"[]",
				   "1",
				   "{",
				   "{\"a\":}",
				   "{\"a\":1,\"a\":2}",
				   "\xff\xfe",
				   "{\"a\":1}{}",
				   "{\"memfd\":3}",
				   "{\"a\":\"\\u0000\"}"};
	int sockets[2];
	struct control_message m;

	pair(sockets);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(send(sockets[0], bad[i], strlen(bad[i]), 0) > 0);
		assert_int_equal(control_receive(sockets[1], &m), -EBADMSG);
	}
	close(sockets[0]);
	close(sockets[1]);
}

static void send_raw(int socket, const char *text, int fd)
{
	struct iovec iov = {.iov_base = (void *)text, .iov_len = strlen(text)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} room = {0};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof(room.bytes)};

	room.align.cmsg_level = SOL_SOCKET;
	room.align.cmsg_type = SCM_RIGHTS;
	room.align.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&room.align), &fd, sizeof(int));
	assert_true(sendmsg(socket, &message, 0) > 0);
}

/* A body that its sender could still change, or that is not a memfd at all, is not read. */
static void refuses_an_unsealed_memfd(void **state)
{
	(void)state;
	int sockets[2], pipes[2];
	struct control_message m;
	int before = open_fds();

	pair(sockets);
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(fd, "{}", 2), 2);
	send_raw(sockets[0], "{\"memfd\":2}", fd);
	assert_int_equal(control_receive(sockets[1], &m), -EBADMSG);

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	send_raw(sockets[0], "{\"memfd\":2}", pipes[0]);
	assert_int_equal(control_receive(sockets[1], &m), -EBADMSG);

	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	send_raw(sockets[0], "{\"memfd\":2}", fd);
	assert_int_equal(control_receive(sockets[1], &m), 0);
	assert_int_equal(m.fd_count, 0);
	control_message_free(&m);

	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	close(sockets[0]);
	close(sockets[1]);
	assert_int_equal(open_fds(), before);
}

static void carries_any_bytes(void **state)
{
	(void)state;
	const struct {
		const char *data;
		size_t size;
		bool plain;
	} cases[] = {{"", 0, true},	    {"a b", 3, true},	    {"\xc3\xa9", 2, true},
		     {"\xff", 1, false},    {"a\0b", 3, false},	    {"\xed\xa0\x80", 3, false},
		     {"\0", 1, false},	    {"\xff\xfe", 2, false}, {"\xff\xfe\xfd", 3, false},
		     {"\n\x1b[0m", 5, true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(free) char *data = NULL;
		size_t size = 99;
		json_t *value = control_bytes(cases[i].data, cases[i].size);

		assert_int_equal(json_is_string(value), cases[i].plain);
		assert_int_equal(control_get_bytes(value, &data, &size), 0);
		assert_int_equal(size, cases[i].size);
		assert_memory_equal(data, cases[i].data, size);
		assert_int_equal(data[size], 0);
		json_decref(value);
	}
}

static void refuses_what_is_not_bytes(void **state)
{
	(void)state;
	const char *const bad[] = {"1",
				   "null",
				   "[]",
				   "{}",
				   "{\"b64\":1}",
				   "{\"b64\":\"a\"}",
				   "{\"b64\":\"!!!!\"}",
				   "{\"b64\":\"YWE=\",\"x\":1}",
				   "{\"b64\":\" YWE\"}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *data = NULL;
		size_t size = 0;
		json_t *value = json_loads(bad[i], JSON_DECODE_ANY, NULL);

		assert_non_null(value);
		assert_int_equal(control_get_bytes(value, &data, &size), -EBADMSG);
		assert_null(data);
		json_decref(value);
	}
}

/* Whoever looks takes nothing, however often. */
static void shows_the_next_packet(void **state)
{
	int before = open_fds(), sockets[2];
	struct control_message m;
	json_t *packet;

	(void)state;
	pair(sockets);
	assert_int_equal(control_peek(sockets[1], &packet), -EAGAIN);
	for (int is_large = 0; is_large < 2; is_large++) {
		json_t *body = body_of_size(is_large ? 70000 : 100);

		assert_int_equal(control_send(sockets[0], body, sockets, 2), 0);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(control_peek(sockets[1], &packet), 0);
			assert_int_equal(is_large, json_object_get(packet, "memfd") != NULL);
			assert_int_equal(is_large, !json_equal(packet, body));
			json_decref(packet);
		}
		assert_int_equal(control_receive(sockets[1], &m), 0);
		assert_true(json_equal(m.body, body));
		assert_int_equal(m.fd_count, 2);
		control_message_free(&m);
		json_decref(body);
	}
	assert_int_equal(send(sockets[0], "[1]", 3, 0), 3);
	assert_int_equal(control_peek(sockets[1], &packet), -EBADMSG);
	assert_int_equal(control_receive(sockets[1], &m), -EBADMSG);
	close(sockets[0]);
	assert_int_equal(control_peek(sockets[1], &packet), -ECONNRESET);
	close(sockets[1]);
	assert_int_equal(open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_bodies_and_descriptors_of_any_size),
		cmocka_unit_test(refuses_too_much),
		cmocka_unit_test(tells_empty_from_gone),
		cmocka_unit_test(shows_the_next_packet),
		cmocka_unit_test(refuses_what_is_not_an_object),
		cmocka_unit_test(refuses_an_unsealed_memfd),
		cmocka_unit_test(carries_any_bytes),
		cmocka_unit_test(refuses_what_is_not_bytes),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
