/*
 * A recorder process of a test's own: messages and wire records go in, the journal is read back.
 * The kernel's maps and rings are real, what is put into them is made here; this takes root.
 */
#pragma once

#include "../../supervisor/capture/recordings.h"

#include "../../bpf/wire.h"
#include "../../supervisor/capture/clock.h"
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/jansson_cleanup.h"
#include "../../supervisor/record/reader.h"
#include "kernel_ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SESSION "0123456789ab"
#define SLOT 3
#define NOBODY 65534
#define LINES_MAX 4096

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

struct recorder_world {
	pid_t pid;
	int socket;
	int numbers_fd, losses_fd;
	struct kernel_ring ring;
	int freeze_fd;
	char dir[64]; /* holds a small file system of its own */
	uint64_t numbers[WIRE_CLASS_COUNT];
	uint64_t losses[WIRE_CLASS_COUNT];
	struct event events[LINES_MAX]; /* of the journal, without what they point to */
	size_t count;
	char *texts[LINES_MAX]; /* owned; one text of each that a test looks at */
};

/* ---- the recorder ---- */

static inline void start_recorder(struct recorder_world *w)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	w->pid = fork();
	if (w->pid == 0) {
		struct log log;

		json_set_up();
		close(sockets[0]);
		signal(SIGPIPE, SIG_IGN);
		fcntl(sockets[1], F_SETFL, O_NONBLOCK);
		log_init(&log, "recorder", LOG_LEVEL_ERROR);
		_exit(recordings_run(sockets[1], &log) < 0);
	}
	close(sockets[1]);
	w->socket = sockets[0];
}

static inline void stop_recorder(struct recorder_world *w)
{
	int status;

	if (w->pid == 0)
		return;
	close(w->socket);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	assert_int_equal(status, 0);
	w->pid = 0;
}

/* Names and descriptors: "journal", fd, ..., NULL. */
static inline void ask(struct recorder_world *w, json_t *message, ...)
{
	json_t *names = json_array();
	int fds[CONTROL_FDS_MAX];
	size_t count = 0;
	va_list riders;

	assert_non_null(message);
	va_start(riders, message);
	for (const char *name = va_arg(riders, const char *); name;
	     name = va_arg(riders, const char *)) {
		fds[count++] = va_arg(riders, int);
		json_array_append_new(names, json_string(name));
	}
	va_end(riders);
	json_object_set_new(message, "fds", names);
	assert_int_equal(control_send(w->socket, message, fds, count), 0);
	json_decref(message);
}

static inline json_t *answer(struct recorder_world *w)
{
	struct pollfd ready = {.fd = w->socket, .events = POLLIN};
	struct control_message m;

	assert_int_equal(poll(&ready, 1, 20000), 1);
	assert_int_equal(control_receive(w->socket, &m), 0);
	json_t *body = json_incref(m.body);
	control_message_free(&m);
	return body;
}

static inline json_t *expect_reply(struct recorder_world *w, const char *name)
{
	json_t *body = answer(w);
	const char *reply = json_string_value(json_object_get(body, "reply"));

	if (!reply || strcmp(reply, name) != 0)
		fail_msg("got %s", json_dumps(body, 0));
	return body;
}

static inline void expect_good(struct recorder_world *w, const char *name)
{
	json_t *body = expect_reply(w, name);

	if (json_object_get(body, "errno"))
		fail_msg("got %s", json_dumps(body, 0));
	json_decref(body);
}

static inline void expect_refusal(struct recorder_world *w, const char *name, int error)
{
	json_t *body = expect_reply(w, name);

	assert_int_equal(json_integer_value(json_object_get(body, "errno")), error);
	assert_true(json_string_length(json_object_get(body, "error")) > 0);
	json_decref(body);
}

static inline void expect_notice(struct recorder_world *w, const char *name, int error)
{
	json_t *body = answer(w);

	assert_string_equal(json_string_value(json_object_get(body, "notice")), name);
	assert_string_equal(json_string_value(json_object_get(body, "session")), SESSION);
	assert_int_equal(json_integer_value(json_object_get(body, "errno")), error);
	json_decref(body);
}

static inline void start(struct recorder_world *w)
{
	ask(w,
	    json_pack("{s:s, s:{s:s}, s:i, s:i}", "request", "start", "key", "b64",
		      "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "uid", NOBODY, "gid", NOBODY),
	    "numbers", w->numbers_fd, "losses", w->losses_fd, NULL);
	expect_good(w, "started");
}

static inline json_t *open_message(const char *on_loss)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:i, s:s, s:i, s:[], s:[{s:s, s:s}]}",
			 "request", "open", "session", SESSION, "slot", SLOT, "ring_bytes",
			 KERNEL_RING_BYTES, "high_water", KERNEL_RING_BYTES / 2, "on_loss", on_loss,
			 "disk_wait_s", 60, "output", "full", "output_cap", 2000000, "watch_reads",
			 "secrets", "name", "TOKEN", "value", "correct-horse-battery");
}

static inline void open_session(struct recorder_world *w, const char *on_loss)
{
	cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ask(w, open_message(on_loss), "journal", dir, "ring", w->ring.ring_fd, "freeze",
	    w->freeze_fd, NULL);
	expect_good(w, "opened");
}

/* A command with standard input and output; @ret_fds: where it writes, where its client reads. */
static inline void start_command(struct recorder_world *w, int ret_fds[2])
{
	int in[2], from[2], to[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	ask(w,
	    json_pack("{s:s, s:s, s:i, s:i, s:b}", "request", "exec", "session", SESSION, "exec", 1,
		      "cgroup", 777, "tty", false),
	    "stdin_from", in[0], "stdin_to", to[1], "stdout_from", from[0], "stdout_to", to[1],
	    NULL);
	expect_good(w, "execed");
	close(in[0]);
	close(in[1]);
	close(from[0]);
	close(to[1]);
	ret_fds[0] = from[1];
	ret_fds[1] = to[0];
}

static inline json_t *close_with(struct recorder_world *w, bool is_untouched)
{
	ask(w,
	    json_pack("{s:s, s:s, s:{s:s, s:i}, s:b}", "request", "close", "session", SESSION,
		      "fields", "reason", "exit", "exit_code", 0, "untouched", is_untouched),
	    NULL);
	json_t *body = answer(w);

	if (strcmp(json_string_value(json_object_get(body, "reply")), "closing") == 0) {
		json_decref(body);
		body = answer(w);
	}
	assert_string_equal(json_string_value(json_object_get(body, "reply")), "closed");
	return body;
}

static inline json_t *close_session(struct recorder_world *w)
{
	return close_with(w, false);
}

static inline void expect_counts(const json_t *closed, const char *class, int produced,
				 int journaled, int lost)
{
	const json_t *counts = json_object_get(json_object_get(closed, "counts"), class);

	assert_int_equal(json_integer_value(json_object_get(counts, "produced")), produced);
	assert_int_equal(json_integer_value(json_object_get(counts, "journaled")), journaled);
	assert_int_equal(json_integer_value(json_object_get(counts, "lost")), lost);
}

/* ---- the kernel ---- */

static inline void write_counter(int fd, uint32_t index, uint64_t value)
{
	uint64_t values[1024] = {value};

	assert_int_equal(bpf_map_update_elem(fd, &index, values, BPF_ANY), 0);
}

static inline uint64_t take_number(struct recorder_world *w, uint32_t class)
{
	uint64_t number = w->numbers[class]++;

	write_counter(w->numbers_fd, SLOT * WIRE_CLASS_COUNT + class, w->numbers[class]);
	return number;
}

static inline void lose(struct recorder_world *w, uint32_t class)
{
	take_number(w, class);
	write_counter(w->losses_fd,
		      (SLOT * WIRE_CLASS_COUNT + class) * LOSS_REASON_COUNT + LOSS_RING_FULL,
		      ++w->losses[class]);
}

static inline void fill_head(struct recorder_world *w, struct wire_head *head, uint32_t kind,
			     uint32_t length)
{
	*head = (struct wire_head){
		.number = take_number(w, WIRE_CLASS_process),
		.boot_ns = clock_ns(CLOCK_BOOTTIME),
		.start_ns = 42,
		.cgroup = 777,
		.length = length,
		.pid = 4000,
		.tid = 4000,
		.ns_pid = 2,
		.kind = kind,
		.class = WIRE_CLASS_process,
	};
}

/* A process ended: with a wake-up or without. -EAGAIN if the ring is full. */
static inline int put_exit(struct recorder_world *w, bool wake)
{
	struct wire_process_exit e = {0};

	fill_head(w, &e.head, WIRE_KIND_process_exit, sizeof(e));
	return kernel_ring_put(&w->ring, &e, sizeof(e), wake);
}

static inline void put_exits(struct recorder_world *w, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(put_exit(w, false), 0);
}

/* An exec with an argv of @size bytes, in pieces of @piece. */
static inline void put_exec(struct recorder_world *w, size_t size, size_t piece)
{
	static _Alignas(8) uint8_t room[WIRE_LENGTH_MAX];
	struct wire_process_exec *e = (struct wire_process_exec *)room;
	struct wire_chunk *c = (struct wire_chunk *)room;

	memset(room, 0, sizeof(room));
	fill_head(w, &e->head, WIRE_KIND_process_exec, sizeof(*e) + piece);
	uint64_t of = e->head.number;
	e->head.flags = WIRE_FLAG_CONTINUED;
	e->argv_bytes = size;
	e->argc = 1;
	e->argv_length = piece;
	memset(e->tails, 'a', piece);
	assert_int_equal(kernel_ring_put(&w->ring, e, e->head.length, false), 0);

	for (size_t at = piece; at < size; at += piece) {
		size_t length = size - at < piece ? size - at : piece;

		memset(room, 0, sizeof(room));
		fill_head(w, &c->head, WIRE_KIND_chunk, sizeof(*c) + length);
		c->head.flags = at + length < size ? WIRE_FLAG_CONTINUED : 0;
		c->of = of;
		c->offset = at;
		c->tail = 4;
		c->data_length = length;
		memset(c->tails, 'a', length);
		if (at + length == size)
			c->tails[length - 1] = 0;
		assert_int_equal(kernel_ring_put(&w->ring, c, c->head.length, false), 0);
	}
}

/* ---- the journal ---- */

static inline void read_journal(struct recorder_world *w, enum event_field text)
{
	cleanup(close_fd) int dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct reader *reader;
	struct event *e = &w->events[0];

	for (size_t i = 0; i < w->count; i++)
		free(take(w->texts[i]));
	assert_int_equal(reader_open(dir, &reader), 0);
	for (w->count = 0; reader_next(reader, e) == READER_RECORD; e++) {
		struct bytes bytes = event_bytes(e, text);

		assert_int_equal(e->seq, w->count + 1);
		w->texts[w->count++] = bytes.data ? strndup(bytes.data, bytes.size) : NULL;
		assert_true(w->count < LINES_MAX);
	}
	reader_free(reader);
}

static inline size_t count_kind(const struct recorder_world *w, enum event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < w->count; i++)
		count += w->events[i].kind == kind;
	return count;
}

/* The place of the first event of @kind. */
static inline size_t find_kind(const struct recorder_world *w, enum event_kind kind)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->events[i].kind == kind)
			return i;
	fail_msg("no event of kind %s", kind_table[kind].name);
	return 0;
}

static inline const char *text_of(const struct recorder_world *w, enum event_kind kind)
{
	return w->texts[find_kind(w, kind)];
}

static inline int set_up(void **state)
{
	struct recorder_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/vitrine-recordings-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(mount("none", w->dir, "tmpfs", 0, "size=4m"), 0);
	assert_int_equal(chown(w->dir, NOBODY, NOBODY), 0);
	w->numbers_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "numbers", 4, 8,
				       SESSION_SLOTS * WIRE_CLASS_COUNT, NULL);
	w->losses_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "losses", 4, 8,
				      SESSION_SLOTS * WIRE_CLASS_COUNT * LOSS_REASON_COUNT, NULL);
	assert_true(w->numbers_fd >= 0 && w->losses_fd >= 0);
	assert_int_equal(kernel_ring_open(&w->ring), 0);
	w->freeze_fd = memfd_create("cgroup.freeze", MFD_CLOEXEC);
	start_recorder(w);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct recorder_world *w = *state;

	stop_recorder(w);
	for (size_t i = 0; i < w->count; i++)
		free(w->texts[i]);
	kernel_ring_close(&w->ring);
	close(w->numbers_fd);
	close(w->losses_fd);
	close(w->freeze_fd);
	umount2(w->dir, MNT_DETACH);
	rmdir(w->dir);
	free(w);
	return 0;
}
