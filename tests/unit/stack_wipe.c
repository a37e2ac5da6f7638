/* What was on the stack is gone. */
#include "../../supervisor/record/stack_wipe.h"

#include "../../supervisor/record/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE 4096

static uintptr_t place;

__attribute__((noinline)) static void leave(unsigned int deeper, const char *text)
{
	volatile char room[SIZE];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = text[i % strlen(text)];
	if (deeper)
		leave(deeper - 1, text);
	else
		place = (uintptr_t)room;
	room[0] = text[0]; /* no tail call */
}

static size_t left(const char *text)
{
	static char memory[SIZE];
	cleanup(close_fd) int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	size_t found = 0;

	assert_int_equal(pread(fd, memory, sizeof(memory), (off_t)place), sizeof(memory));
	for (size_t i = 0; i + strlen(text) <= sizeof(memory); i++)
		found += memcmp(memory + i, text, strlen(text)) == 0;
	return found;
}

static void nothing_is_left(void **state)
{
	(void)state;
	for (unsigned int deep = 2; deep < 24; deep++) {
		leave(deep, "secret, ");
		assert_true(left("secret, ") > 0);
		stack_wipe();
		assert_int_equal(left("secret, "), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
