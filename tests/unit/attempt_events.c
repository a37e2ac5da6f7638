/* Calls that the filter refused, from wire records to events. */
#include "../../supervisor/capture/capture.h"
#include "../../supervisor/record/json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

struct fixture {
	struct capture *capture;
	struct json_buffer lines;
};

static int on_event(void *context, struct event *e)
{
	struct fixture *f = context;

	return json_write_event(&f->lines, "0123456789ab", e);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct capture_options options = {
		.session = "0123456789ab",
		.names_fd = -1,
		.fanotify_fd = -1,
		.root_mount_fd = -1,
		.watch_reads = (const char *const[]){NULL},
		.denied = {{1ull << SYS_connect}},
		.emit = on_event,
		.emit_context = f,
	};

	assert_non_null(f);
	assert_int_equal(capture_new(&options, &f->capture), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	capture_free(f->capture);
	json_buffer_free(&f->lines);
	free(f);
	return 0;
}

static void come(struct fixture *f, uint32_t entry, uint32_t call, uint32_t error, uint64_t first)
{
	struct wire_attempt wire = {
		.head = {.kind = WIRE_KIND_attempt,
			 .class = WIRE_CLASS_policy,
			 .length = sizeof(wire),
			 .pid = 100,
			 .tid = 100,
			 .ns_pid = 2,
			 .start_ns = 16},
		.argument_1 = first,
		.call = call,
		.entry = entry,
		.error = error,
	};
	struct wire_record record;
	const char *why;

	assert_int_equal(wire_decode(&wire, sizeof(wire), &record, &why), 0);
	assert_int_equal(capture_record(f->capture, &record), 0);
}

/* The one event since, from its kind on. NULL: there was none. */
static void expect(struct fixture *f, const char *rest)
{
	assert_int_equal(json_write_raw(&f->lines, "", 1), 0);
	f->lines.length = 0;
	if (!rest) {
		assert_string_equal(f->lines.text, "");
		return;
	}
	char *found = strstr(f->lines.text, "\"kind\":");
	assert_non_null(found);
	assert_string_equal(found, rest);
}

#define BY_100 "\"kind\":\"attempt\",\"proc\":\"100-10\",\"pid\":2,\"host_pid\":100,"

static void a_refused_call(void **state)
{
	come(*state, ENTRY_NATIVE, SYS_ptrace, EPERM, 16);
	expect(*state,
	       BY_100 "\"syscall\":\"ptrace\",\"arguments\":\"request=PTRACE_ATTACH,pid=0\","
		      "\"errno\":1,\"error\":\"EPERM\",\"reason\":\"steers another process, its "
		      "system calls and their results included\"}\n");
	come(*state, ENTRY_NATIVE, SYS_mount, EPERM, 0);
	expect(*state, BY_100 "\"syscall\":\"mount\",\"arguments\":\"flags=0\",\"errno\":1,"
			      "\"error\":\"EPERM\",\"reason\":\"changes what paths mean\"}\n");
}

static void the_kernels_own_answers_are_counted_and_left_out(void **state)
{
	struct fixture *f = *state;

	come(f, ENTRY_NATIVE, SYS_chmod, EPERM, 0);
	expect(f, NULL);
	come(f, ENTRY_NATIVE, UINT32_MAX, EPERM, 0);
	expect(f, NULL);
	come(f, ENTRY_NATIVE, SYS_mount, ENOENT, 0);
	expect(f, NULL);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_policy], 3);
}

static void what_a_policy_denies_says_so(void **state)
{
	come(*state, ENTRY_NATIVE, SYS_connect, EPERM, 0);
	expect(*state, BY_100 "\"syscall\":\"connect\",\"errno\":1,\"error\":\"EPERM\","
			      "\"reason\":\"the policy of the session denies it "
			      "(seccomp_deny)\"}\n");
	come(*state, ENTRY_NATIVE, SYS_bind, EPERM, 0);
	expect(*state, NULL);
}

static void another_entry_has_names_of_its_own(void **state)
{
#define OTHER                                                                                      \
	"\"errno\":1,\"error\":\"EPERM\",\"reason\":\"by another entry numbers mean other calls: " \
	"the record would tell of acts that never were\"}\n"
	come(*state, ENTRY_I386, 11, EPERM, 0);
	expect(*state, BY_100 "\"syscall\":\"i386/execve\"," OTHER);
	come(*state, ENTRY_X32, 521, EPERM, 0);
	expect(*state, BY_100 "\"syscall\":\"x32/ptrace\"," OTHER);
	come(*state, ENTRY_I386, 4000000000u, EPERM, 0);
	expect(*state, BY_100 "\"syscall\":\"i386/4000000000\"," OTHER);
	come(*state, 77, 1, EPERM, 0);
	expect(*state, BY_100 "\"syscall\":\"i386/exit\"," OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_refused_call, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_kernels_own_answers_are_counted_and_left_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_policy_denies_says_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_entry_has_names_of_its_own, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
