/* Which process a pid means: alive, dead, not yet reaped, used again. */
#include "../../supervisor/process_start.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void knows_itself(void **state)
{
	uint64_t start = 0;

	(void)state;
	assert_int_equal(process_start(getpid(), &start), 0);
	assert_true(start > 0);
	assert_true(process_is_alive(getpid(), start));
	assert_false(process_is_alive(getpid(), start + 1)); /* the pid is another's now */
	assert_false(process_is_alive(0, start));
}

static void the_dead_are_dead_before_they_are_reaped(void **state)
{
	uint64_t start = 0, again = 7;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(process_start(pid, &start), 0);
	assert_true(process_is_alive(pid, start));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(process_is_alive(pid, start));
	assert_int_equal(process_start(pid, &again), -ESRCH);
	assert_int_equal(again, 7);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_is_alive(pid, start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_itself),
		cmocka_unit_test(the_dead_are_dead_before_they_are_reaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
