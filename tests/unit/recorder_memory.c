/*
 * The recorder when memory is short: each allocation between the opening and the end of a session
 * fails in its turn. Whatever comes of that, what the journal says is true: it is whole, and its
 * end, if it has one, counts what is there and what is not.
 */
#include "recorder_world.h"

#include <sched.h>
#include <stdatomic.h>

#define EXITS 10
#define OUTPUT 2000
#define PLACES_MAX 2000

/* Shared with the recorder, which is a child: how many allocations are left until one fails; 0:
 * none. */
static atomic_long *left;
static pid_t test_pid; /* what the test itself allocates does not count */

#if !IS_SANITIZED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

/* Of two threads that come to the last one together, one. */
static bool fails(void)
{
	long n = !left || getpid() == test_pid ? 0 : atomic_load(left);

	while (n > 0 && !atomic_compare_exchange_weak(left, &n, n - 1))
		;
	if (n != 1)
		return false;
	errno = ENOMEM;
	return true;
}

__attribute__((noipa)) void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

__attribute__((noipa)) void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

__attribute__((noipa)) void *realloc(void *memory, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, size);
}

__attribute__((noipa)) void *reallocarray(void *memory, size_t count, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, count * size);
}
#endif

/* The next message that is a reply named @name, or NULL: the recorder is gone. */
static json_t *await(struct recorder_world *w, const char *name)
{
	for (;;) {
		struct pollfd ready = {.fd = w->socket, .events = POLLIN};
		struct control_message m;

		assert_int_equal(poll(&ready, 1, 20000), 1);
		if (control_receive(w->socket, &m) < 0)
			return NULL;
		json_t *body = json_incref(m.body);
		control_message_free(&m);
		const char *reply = json_string_value(json_object_get(body, "reply"));
		if (reply && !strcmp(reply, name))
			return body;
		json_decref(body);
	}
}

/* Send @message (taken) and wait for the reply @name; NULL: the recorder is gone. */
static json_t *ask_for(struct recorder_world *w, json_t *message, const char *name)
{
	assert_non_null(message);
	int e = control_send(w->socket, message, NULL, 0);
	json_decref(message);
	return e < 0 ? NULL : await(w, name);
}

/* A command that writes OUTPUT bytes into a pipe that its client will not read to the end, and
 * ends. */
static json_t *pass_command(struct recorder_world *w, const int fds[2])
{
	char text[OUTPUT];

	memset(text, 'x', sizeof(text));
	assert_int_equal(write(fds[0], text, sizeof(text)), sizeof(text));
	close(fds[0]);
	json_t *closed = ask_for(w,
				 json_pack("{s:s, s:s, s:i, s:{s:s, s:i}}", "request", "exec.close",
					   "session", SESSION, "exec", 1, "fields", "reason",
					   "exit", "exit_code", 3),
				 "exec.closed");
	close(fds[1]);
	return closed;
}

static json_t *ask_close(struct recorder_world *w)
{
	return ask_for(w,
		       json_pack("{s:s, s:s, s:{s:s, s:i}}", "request", "close", "session", SESSION,
				 "fields", "reason", "exit", "exit_code", 0),
		       "closed");
}

/* What is said to be kept of the output stands in the journal. */
static void assert_output(const struct recorder_world *w, const json_t *closed)
{
	const json_t *totals = json_object_get(closed, "stdout");
	uint64_t there = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->events[i].kind == EVENT_output)
			there += event_bytes(&w->events[i], FIELD_data).size;
	assert_int_equal(json_integer_value(json_object_get(totals, "total")), OUTPUT);
	assert_int_equal(json_integer_value(json_object_get(totals, "kept")), there);
}

/* What the end of the journal says of its numbers is what stands in it. */
static void assert_counts(const struct recorder_world *w, const json_t *closed)
{
	const json_t *counts = json_object_get(json_object_get(closed, "counts"), "process");
	json_int_t journaled = json_integer_value(json_object_get(counts, "journaled"));
	json_int_t lost = json_integer_value(json_object_get(counts, "lost"));
	uint64_t there = count_kind(w, EVENT_process_exit) + count_kind(w, EVENT_process_exec);
	uint64_t told = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->events[i].kind == EVENT_gap)
			told += event_u64(&w->events[i], FIELD_count, 0);
	assert_int_equal(json_integer_value(json_object_get(counts, "produced")), EXITS + 1);
	assert_int_equal(journaled + lost, EXITS + 1);
	if (journaled != (json_int_t)there)
		fail_msg("counted %lld, there are %lu", (long long)journaled, (unsigned long)there);
	assert_true(told >= (uint64_t)lost);
	assert_int_equal(w->events[w->count - 1].kind, EVENT_session_end);
}

/* A session whose allocation number @place fails. False: there are fewer. */
static bool record_short(struct recorder_world *w, long place)
{
	int command[2];

	start(w);
	open_session(w, "freeze");
	start_command(w, command);
	atomic_store(left, place);
	put_exec(w, 12000, 1000);
	put_exits(w, EXITS);
	json_t *closed_exec = pass_command(w, command);
	json_t *closed = ask_close(w);
	bool failed = atomic_exchange(left, 0) == 0;

	read_journal(w, FIELD_reason);
	if (closed && !json_object_get(closed, "errno"))
		assert_counts(w, closed);
	else if (!failed)
		fail_msg("the recorder failed though nothing failed it");
	if (closed && closed_exec && !json_object_get(closed_exec, "errno"))
		assert_output(w, closed_exec);
	json_decref(closed_exec);
	json_decref(closed);
	return failed;
}

static void the_journal_is_true(void **state)
{
	const char *text = getenv("STEP");
	long place = 1, step = text ? strtol(text, NULL, 10) : 5;
	bool failed = true;

	(void)state;
	for (; failed && place < PLACES_MAX; place += step) {
		void *world;

		set_up(&world);
		failed = record_short(world, place);
		struct recorder_world *w = world;
		int status;
		close(take_fd(w->socket));
		assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
		/* It may end, by its own decision, and never by a wild pointer. */
		if (WIFSIGNALED(status))
			assert_int_equal(WTERMSIG(status), SIGABRT);
		w->pid = 0;
		tear_down(&world);
	}
	print_message("about %ld allocations\n", place - step);
	assert_true(place > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_journal_is_true)};

	if (IS_SANITIZED)
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(left != MAP_FAILED);
	test_pid = getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
