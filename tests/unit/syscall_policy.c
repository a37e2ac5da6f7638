/* The table of what a session is refused: which row answers a call, and in which words. */
#include "../../supervisor/sandbox/syscall_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define ROOM 256

static const struct syscall_rule *refusal(uint32_t call, int error, uint64_t a, uint64_t b,
					  uint64_t c, uint64_t d)
{
	const uint64_t arguments[SYSCALL_ARGUMENTS] = {a, b, c, d};

	return syscall_refusal(call, error, arguments);
}

static void every_refusal_has_a_reason_of_its_own_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < syscall_rule_count; i++) {
		const struct syscall_rule *rule = &syscall_rules[i];

		if (!rule->error) {
			assert_null(rule->why);
			continue;
		}
		assert_non_null(rule->why);
		assert_true(strlen(rule->why) > 8);
		assert_true(strncmp(rule->why, "as ", 3) != 0);
	}
}

static void a_refusal_is_of_the_filter_or_of_the_kernel(void **state)
{
	(void)state;
	assert_non_null(refusal(SYS_mount, EPERM, 0, 0, 0, 0));
	assert_null(refusal(SYS_mount, EINVAL, 0, 0, 0, 0));
	assert_non_null(refusal(SYS_chmod, EPERM, 0, 04755, 0, 0));
	assert_null(refusal(SYS_chmod, EPERM, 0, 0755, 0, 0));
	assert_non_null(refusal(SYS_ioctl, EPERM, 0, TIOCSTI, 0, 0));
	assert_non_null(refusal(SYS_ioctl, EPERM, 0, 0x7700000000000000 | TIOCSTI, 0, 0));
	assert_null(refusal(SYS_ioctl, EPERM, 0, TIOCGWINSZ, 0, 0));
	assert_non_null(refusal(SYS_prctl, EINVAL, PR_SET_SECCOMP, 2, 0, 0));
	assert_null(refusal(SYS_prctl, EINVAL, PR_SET_DUMPABLE, 77, 0, 0));
	assert_non_null(refusal(SYS_clone, EPERM, CLONE_NEWPID | SIGCHLD, 0, 0, 0));
	assert_null(refusal(SYS_clone, EPERM, SIGCHLD, 0, 0, 0));
	assert_non_null(refusal(SYS_openat, EPERM, 0, 0, O_CREAT, 04700));
	assert_null(refusal(SYS_openat, EPERM, 0, 0, 0, 04700));
	assert_null(refusal(SYS_read, EPERM, 0, 0, 0, 0));
	assert_null(refusal(99999, EPERM, 0, 0, 0, 0));
	assert_null(refusal(UINT32_MAX, EPERM, 0, 0, 0, 0));
}

static void expect_words(const char *words, uint32_t call, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t arguments[SYSCALL_ARGUMENTS] = {a, b, c};
	char text[ROOM];

	assert_string_equal(syscall_arguments(call, arguments, text, sizeof(text)), words);
}

static void arguments_in_words(void **state)
{
	(void)state;
	expect_words("flags=CLONE_NEWUSER|CLONE_NEWNET", SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET,
		     0, 0);
	expect_words("family=AF_PACKET,type=3,protocol=0", SYS_socket, AF_PACKET, 3, 0);
	expect_words("family=99,type=0,protocol=-1", SYS_socket, 99, 0, UINT64_MAX);
	expect_words("request=TIOCSTI", SYS_ioctl, 0, TIOCSTI, 0);
	expect_words("request=0xdeadbeef", SYS_ioctl, 0, 0xdeadbeef, 0);
	expect_words("mode=04755", SYS_chmod, 0, 04755, 0);
	expect_words("request=PTRACE_ATTACH,pid=1", SYS_ptrace, 16, 1, 0);
	expect_words("flags=0", SYS_unshare, 0, 0, 0);
	expect_words("", SYS_init_module, 1, 2, 3);
	expect_words("", UINT32_MAX, 1, 2, 3);
}

static void words_stay_within_their_room(void **state)
{
	const uint64_t arguments[SYSCALL_ARGUMENTS] = {CLONE_NEWUSER | CLONE_NEWNET};
	char text[ROOM];

	(void)state;
	for (size_t room = 1; room < 40; room++) {
		memset(text, 'x', sizeof(text));
		syscall_arguments(SYS_unshare, arguments, text, room);
		assert_true(strlen(text) < room);
		assert_int_equal(text[room], 'x');
	}
}

static const struct syscall_rule *rule_of(const char *name, size_t skip)
{
	for (size_t i = 0; i < syscall_rule_count; i++)
		if (strcmp(syscall_rules[i].name, name) == 0 && syscall_rules[i].error &&
		    skip-- == 0)
			return &syscall_rules[i];
	fail_msg("no row of %s", name);
	return NULL;
}

static void expect_condition(const char *words, const char *name, size_t skip)
{
	char text[ROOM];

	assert_string_equal(syscall_condition(rule_of(name, skip), text, sizeof(text)), words);
}

static void conditions_in_words(void **state)
{
	(void)state;
	expect_condition("flags has CLONE_NEWUSER", "clone", 0);
	expect_condition("request is TIOCSTI", "ioctl", 0);
	expect_condition("mode has 04000", "chmod", 0);
	expect_condition("flags has O_CREAT and mode has 04000", "openat", 0);
	expect_condition("family is not AF_UNIX", "socketpair", 0);
	expect_condition("", "mount", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_refusal_has_a_reason_of_its_own_words),
		cmocka_unit_test(a_refusal_is_of_the_filter_or_of_the_kernel),
		cmocka_unit_test(arguments_in_words),
		cmocka_unit_test(words_stay_within_their_room),
		cmocka_unit_test(conditions_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
