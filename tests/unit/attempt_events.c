/* Calls that the filter refused, from wire records to events. */
#include "capture_world.h"

#include <errno.h>
#include <sys/syscall.h>

static int set_up(void **state)
{
	*state = capture_world_new((struct capture_options){
		.syscalls = {.denied = {{1ull << SYS_connect}},
			     .allowed = {{[SYS_modify_ldt / 64] = 1ull << SYS_modify_ldt % 64}}}});
	return 0;
}

static void come(struct capture_world *f, uint32_t entry, uint32_t call, uint32_t error,
		 uint64_t first)
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

#define BY_100 "\"kind\":\"attempt\",\"proc\":\"100-10\",\"pid\":2,\"host_pid\":100,"

static void a_refused_call(void **state)
{
	come(*state, ENTRY_NATIVE, SYS_ptrace, EPERM, 16);
	expect_one(*state, BY_100,
		   "\"syscall\":\"ptrace\",\"arguments\":\"request=PTRACE_ATTACH,pid=0\","
		   "\"errno\":1,\"error\":\"EPERM\",\"reason\":\"steers another process, its "
		   "system calls and their results included\"}\n");
	come(*state, ENTRY_NATIVE, SYS_mount, EPERM, 0);
	expect_one(*state, BY_100,
		   "\"syscall\":\"mount\",\"arguments\":\"flags=0\",\"errno\":1,"
		   "\"error\":\"EPERM\",\"reason\":\"changes what paths mean\"}\n");
}

static void the_kernels_own_answers_are_counted_and_left_out(void **state)
{
	struct capture_world *f = *state;

	come(f, ENTRY_NATIVE, SYS_chmod, EPERM, 0);
	expect_one(f, NULL, NULL);
	come(f, ENTRY_NATIVE, UINT32_MAX, EPERM, 0);
	expect_one(f, NULL, NULL);
	come(f, ENTRY_NATIVE, SYS_mount, ENOENT, 0);
	expect_one(f, NULL, NULL);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_policy], 3);
}

static void what_a_policy_denies_says_so(void **state)
{
	come(*state, ENTRY_NATIVE, SYS_connect, EPERM, 0);
	expect_one(*state, BY_100,
		   "\"syscall\":\"connect\",\"errno\":1,\"error\":\"EPERM\","
		   "\"reason\":\"the policy of the session denies it "
		   "(seccomp_deny)\"}\n");
	come(*state, ENTRY_NATIVE, SYS_bind, EPERM, 0);
	expect_one(*state, NULL, NULL);
}

/* The kernel may refuse what the filter lets pass: that is no attempt. */
static void what_a_policy_allows_is_no_attempt(void **state)
{
	come(*state, ENTRY_NATIVE, SYS_modify_ldt, EPERM, 0);
	expect_one(*state, NULL, NULL);
	come(*state, ENTRY_NATIVE, SYS_kcmp, EPERM, 0);
	expect_one(*state, BY_100,
		   "\"syscall\":\"kcmp\",\"arguments\":\"pid=0\",\"errno\":1,\"error\":\"EPERM\","
		   "\"reason\":\"compares kernel objects of other processes\"}\n");
}

static void another_entry_has_names_of_its_own(void **state)
{
#define OTHER                                                                                      \
	"\"errno\":1,\"error\":\"EPERM\",\"reason\":\"by another entry numbers mean other calls: " \
	"the record would tell of acts that never were\"}\n"
	come(*state, ENTRY_I386, 11, EPERM, 0);
	expect_one(*state, BY_100, "\"syscall\":\"i386/execve\"," OTHER);
	come(*state, ENTRY_X32, 521, EPERM, 0);
	expect_one(*state, BY_100, "\"syscall\":\"x32/ptrace\"," OTHER);
	come(*state, ENTRY_I386, 4000000000u, EPERM, 0);
	expect_one(*state, BY_100, "\"syscall\":\"i386/4000000000\"," OTHER);
	come(*state, 77, 1, EPERM, 0);
	expect_one(*state, BY_100, "\"syscall\":\"i386/exit\"," OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_refused_call, set_up, capture_world_tear_down),
		cmocka_unit_test_setup_teardown(the_kernels_own_answers_are_counted_and_left_out,
						set_up, capture_world_tear_down),
		cmocka_unit_test_setup_teardown(what_a_policy_denies_says_so, set_up,
						capture_world_tear_down),
		cmocka_unit_test_setup_teardown(what_a_policy_allows_is_no_attempt, set_up,
						capture_world_tear_down),
		cmocka_unit_test_setup_teardown(another_entry_has_names_of_its_own, set_up,
						capture_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
