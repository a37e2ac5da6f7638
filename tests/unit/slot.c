/* Slots: one holder each, freed with it. */
#include "../../supervisor/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_slot_has_one_holder(void **state)
{
	(void)state;
	char dir[] = "/tmp/vitrine-slot-XXXXXX", path[64];
	uint32_t slot, slots[4];
	int fds[4], fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/slots", dir);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(slot_take(path, 4, 2, &slots[i], &fds[i]), 0);
		assert_int_equal(slots[i], (2 + i) % 4);
	}
	assert_int_equal(slot_take(path, 4, 0, &slot, &fd), -ENOSPC);

	close(fds[1]);
	assert_int_equal(slot_take(path, 4, 0, &slot, &fds[1]), 0);
	assert_int_equal(slot, slots[1]);

	/* A holder that dies holds nothing. */
	close(fds[2]);
	pid_t child = fork();
	if (child == 0)
		_exit(slot_take(path, 4, 0, &slot, &fd) == 0 && slot == slots[2] ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(slot_take(path, 4, 0, &slot, &fds[2]), 0);
	assert_int_equal(slot, slots[2]);

	for (int i = 0; i < 4; i++)
		close(fds[i]);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_slot_has_one_holder)};

	return cmocka_run_group_tests_name("slot", tests, NULL, NULL);
}
