/* Relays that change what they carry: what is put goes on, in its own time, and nothing else. */
#include "../../supervisor/capture/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	sd_event *loop;
	struct relay *relay;
	char recorded[16];
	size_t size;
	int fail; /* the change says this instead */
	int done;
};

static int on_record(void *context, struct bytes piece, uint64_t offset)
{
	struct world *w = context;

	assert_true(offset + piece.size <= sizeof(w->recorded));
	memcpy(w->recorded + offset, piece.data, piece.size);
	w->size = offset + piece.size;
	return 0;
}

static void on_done(void *context)
{
	((struct world *)context)->done++;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_true(sd_event_new(&w->loop) >= 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	relay_free(w->relay);
	sd_event_unref(w->loop);
	free(w);
	return 0;
}

/* Until there is nothing left to do. */
static void turn(struct world *w)
{
	for (int empty = 0; empty < 3;)
		empty = sd_event_run(w->loop, 5000) > 0 ? 0 : empty + 1;
}

static void make_pipe(int ret_fds[2])
{
	assert_int_equal(pipe2(ret_fds, O_CLOEXEC), 0);
}

static void never_block(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* What goes on is every second byte, and a word at the end. */
static int change(void *context, const struct bytes *piece, uint64_t offset)
{
	struct world *w = context;
	const char *bytes = piece ? piece->data : NULL;

	if (w->fail)
		return w->fail;
	if (!piece)
		return relay_put(w->relay, (struct bytes){"end", 3});
	for (size_t i = 0; i < piece->size; i++)
		if ((offset + i) % 2 == 0)
			assert_int_equal(relay_put(w->relay, (struct bytes){bytes + i, 1}), 0);
	return 0;
}

static void start(struct world *w, int from, int to)
{
	const struct relay_options options = {
		.loop = w->loop,
		.from = from,
		.to = to,
		.record = on_record,
		.change = change,
		.done = on_done,
		.context = w,
	};

	assert_int_equal(relay_new(&options, &w->relay), 0);
}

static void carries_what_is_put_in_its_place(void **state)
{
	struct world *w = *state;
	char got[16] = "";
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	never_block(out[0]);
	start(w, in[0], out[1]);
	assert_int_equal(write(in[1], "abcdef", 6), 6);
	turn(w);
	assert_int_equal(read(out[0], got, sizeof(got)), 3);
	assert_memory_equal(got, "ace", 3);
	assert_memory_equal(w->recorded, "abcdef", 6);

	/* What comes in its own time waits for the next resume. */
	assert_int_equal(relay_put(w->relay, (struct bytes){"later", 5}), 0);
	relay_resume(w->relay);
	assert_int_equal(read(out[0], got, sizeof(got)), 5);
	close(in[1]);
	turn(w);
	assert_int_equal(w->done, 1);
	assert_int_equal(read(out[0], got, sizeof(got)), 3);
	assert_memory_equal(got, "end", 3);
	assert_int_equal(read(out[0], got, sizeof(got)), 0);
	close(out[0]);
}

/* Rather nothing than what was to be changed. */
static void what_cannot_be_changed_is_not_carried(void **state)
{
	struct world *w = *state;
	char got[16];
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	never_block(out[0]);
	w->fail = -ENOMEM;
	start(w, in[0], out[1]);
	assert_int_equal(write(in[1], "abcdef", 6), 6);
	turn(w);
	assert_int_equal(read(out[0], got, sizeof(got)), -1);
	assert_int_equal(errno, EAGAIN);
	relay_stop(w->relay);
	assert_int_equal(read(out[0], got, sizeof(got)), 0);
	close(in[1]);
	close(out[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(carries_what_is_put_in_its_place),
		TEST(what_cannot_be_changed_is_not_carried),
	};

	return cmocka_run_group_tests_name("relay_change", tests, NULL, NULL);
}
