/* To be preloaded: the allocation whose number is in FAIL_ALLOC fails, and no other. */
#include <errno.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static int fails(void)
{
	static long left = -1;
	static int known;

	if (!known) {
		const char *number = getenv("FAIL_ALLOC");

		known = 1;
		left = number ? strtol(number, NULL, 10) : 0;
	}
	if (left <= 0 || --left > 0)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
	size_t whole;

	if (__builtin_mul_overflow(count, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails() ? NULL : __libc_realloc(memory, whole);
}
