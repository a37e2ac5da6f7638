/* What the translate functions build on: who acted, paths, ids, scratch. */
#include "../../supervisor/capture/capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int on_event(void *context, struct event *e)
{
	*(struct event *)context = *e;
	return -EXDEV;
}

static struct event emitted;

static int set_up(void **state)
{
	struct capture *c;
	const struct capture_options options = {
		.session = "0123456789ab",
		.uid_base = 100000,
		.uid_count = 65536,
		.names_fd = -1,
		.fanotify_fd = -1,
		.root_mount_fd = -1,
		.watch_reads = (const char *const[]){NULL},
		.emit = on_event,
		.emit_context = &emitted,
	};

	assert_int_equal(capture_new(&options, &c), 0);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	capture_free(*state);
	return 0;
}

static void expect_path(struct capture *c, const char *components, size_t size, const char *path)
{
	/* Exactly as large as it is, so that a sanitizer sees what reads beyond. */
	char *copy = malloc(size ? size : 1);

	memcpy(copy, components, size);
	struct bytes got = capture_path(c, (struct bytes){copy, size});
	free(copy);
	if (!path) {
		assert_null(got.data);
		return;
	}
	assert_non_null(got.data);
	assert_int_equal(got.size, strlen(path));
	assert_memory_equal(got.data, path, got.size);
}

static void turns_paths_round(void **state)
{
	struct capture *c = *state;

	expect_path(c, "c\0b\0a", 6, "/a/b/c");
	expect_path(c, "", 1, "/");
	expect_path(c, "", 0, NULL);
	expect_path(c, "etc", 4, "/etc");
	expect_path(c, "c\0b\0a", 5, "/a/b/c"); /* the last NUL is cut off */
	expect_path(c, "c\0\0a", 5, "/a/c");
	expect_path(c, "\0\0\0", 4, "/");
	expect_path(c, "a\nb\xff", 5, "/a\nb\xff");
}

static void says_that_a_path_is_cut(void **state)
{
	struct capture *c = *state;
	const struct bytes parts = {"c\0b", 4};

	capture_begin(c, NULL, EVENT_file_delete);
	capture_put_path(c, FIELD_path, parts, 0);
	const struct event_value *v = event_get(&c->event, FIELD_path);
	assert_false(v->is_cut);
	assert_memory_equal(v->bytes.data, "/b/c", 4);

	capture_begin(c, NULL, EVENT_file_delete);
	capture_put_path(c, FIELD_path, parts, 100);
	v = event_get(&c->event, FIELD_path);
	assert_true(v->is_cut);
	assert_int_equal(v->cut.full_length, 104);
	assert_int_equal(v->bytes.size, 3);
	assert_memory_equal(v->bytes.data, "b/c", 3);

	capture_begin(c, NULL, EVENT_file_delete);
	capture_put_path(c, FIELD_path, (struct bytes){NULL, 0}, 0);
	assert_null(event_get(&c->event, FIELD_path));
}

static void says_who_acted(void **state)
{
	struct capture *c = *state;
	const struct wire_head head = {.boot_ns = 5000,
				       .start_ns = 0xabcdef,
				       .cgroup = 77,
				       .pid = 1234,
				       .tid = 1240,
				       .ns_pid = 9};
	const struct wire_record record = {.head = &head};

	c->wall_minus_boot_ns = 1000000;
	capture_add_exec(c, 76, 1);
	capture_add_exec(c, 77, 2);
	struct event *e = capture_begin(c, &record, EVENT_process_exit);
	assert_int_equal(e->boot_ns, 5000);
	assert_int_equal(e->time_ns, 1005000);
	assert_int_equal(event_u64(e, FIELD_exec, 0), 2);
	assert_int_equal(event_u64(e, FIELD_pid, 0), 9);
	assert_int_equal(event_u64(e, FIELD_host_pid, 0), 1234);
	assert_int_equal(event_u64(e, FIELD_tid, 0), 1240);
	assert_memory_equal(event_bytes(e, FIELD_proc).data, "1234-abcdef", 11);

	assert_int_equal(capture_send(c), -EXDEV);
	assert_int_equal(emitted.boot_ns, 5000);
}

static void leaves_out_what_is_not_known(void **state)
{
	struct capture *c = *state;
	struct wire_head head = {.cgroup = 99, .pid = 5, .tid = 5};
	const struct wire_record record = {.head = &head};

	struct event *e = capture_begin(c, &record, EVENT_process_exit);
	assert_null(event_get(e, FIELD_exec));
	assert_null(event_get(e, FIELD_pid));
	assert_null(event_get(e, FIELD_tid));
	head.pid = 0;
	e = capture_begin(c, &record, EVENT_process_exit);
	assert_null(event_get(e, FIELD_proc));
	assert_null(event_get(e, FIELD_host_pid));
}

static void forgets_the_oldest_command(void **state)
{
	struct capture *c = *state;
	struct wire_head head = {.pid = 1, .tid = 1};
	const struct wire_record record = {.head = &head};
	int r = 0;

	for (uint32_t i = 1; i <= 129; i++)
		r = capture_add_exec(c, 1000 + i, i);
	assert_int_equal(r, -ENOSPC);
	head.cgroup = 1129;
	assert_int_equal(event_u64(capture_begin(c, &record, EVENT_process_exit), FIELD_exec, 0),
			 129);
	head.cgroup = 1002;
	assert_int_equal(event_u64(capture_begin(c, &record, EVENT_process_exit), FIELD_exec, 0),
			 2);
	head.cgroup = 1001;
	assert_null(event_get(capture_begin(c, &record, EVENT_process_exit), FIELD_exec));
}

/* A command that lives is not forgotten for ever so many that have ended. */
static void forgets_those_that_ended_first(void **state)
{
	struct capture *c = *state;
	struct wire_head head = {.pid = 1, .tid = 1, .cgroup = 1001};
	const struct wire_record record = {.head = &head};

	for (uint32_t i = 1; i <= 1000; i++) {
		capture_add_exec(c, 1000 + i, i);
		if (i > 1)
			capture_end_exec(c, i);
	}
	assert_int_equal(event_u64(capture_begin(c, &record, EVENT_process_exit), FIELD_exec, 0),
			 1);
	head.cgroup = 2000;
	assert_int_equal(event_u64(capture_begin(c, &record, EVENT_process_exit), FIELD_exec, 0),
			 1000);
	head.cgroup = 1002;
	assert_null(event_get(capture_begin(c, &record, EVENT_process_exit), FIELD_exec));
}

static void maps_ids_into_the_session(void **state)
{
	struct capture *c = *state;

	assert_int_equal(capture_session_id(c, 100000), 0);
	assert_int_equal(capture_session_id(c, 101000), 1000);
	assert_int_equal(capture_session_id(c, 165535), 65535);
	assert_true(capture_session_id(c, 165536) == UINT64_MAX);
	assert_true(capture_session_id(c, 0) == UINT64_MAX);
	c->options.uid_count = 0;
	assert_int_equal(capture_session_id(c, 33), 33);
}

static void gives_scratch_until_it_is_full(void **state)
{
	struct capture *c = *state;

	capture_begin(c, NULL, EVENT_process_exit);
	assert_string_equal(capture_text(c, "%s-%d", "a", 7), "a-7");
	assert_non_null(capture_room(c, CAPTURE_SCRATCH - 10));
	assert_null(capture_room(c, 100));
	assert_null(capture_text(c, "%s", "longer than what is left"));
	assert_string_equal(capture_text(c, "%s", "a"), "a");
	capture_begin(c, NULL, EVENT_process_exit);
	assert_non_null(capture_room(c, CAPTURE_SCRATCH));
}

static void names_errors(void **state)
{
	(void)state;
	assert_string_equal(capture_errno_name(ENOENT), "ENOENT");
	assert_string_equal(capture_errno_name(EWOULDBLOCK), "EAGAIN");
	assert_null(capture_errno_name(0));
	assert_null(capture_errno_name(-1));
	assert_null(capture_errno_name(99999));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(turns_paths_round),
		TEST(says_that_a_path_is_cut),
		TEST(says_who_acted),
		TEST(leaves_out_what_is_not_known),
		TEST(forgets_the_oldest_command),
		TEST(forgets_those_that_ended_first),
		TEST(maps_ids_into_the_session),
		TEST(gives_scratch_until_it_is_full),
		TEST(names_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
