/*
 * escape MARK: tries every way out. See escape.h. Static, so that it runs in any root.
 */
#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *mark;

void came(const char *name, bool held, const char *format, ...)
{
	va_list arguments;

	printf("try\t%s\t%s\t", name, held ? "held" : "ESCAPED");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

void must_refuse(const char *name, const char *arguments, int error, long number, long a, long b,
		 long c, long d, long e, long f)
{
	errno = 0;
	long r = syscall(number, a, b, c, d, e, f);
	int have = r == -1 ? errno : 0;

	printf("attempt\t%d\t%s\t%d\t%s\n", getpid(), name, error, arguments);
	came(name, have == error, "%s", strerrorname_np(have) ? strerrorname_np(have) : "0");
}

void must_not_open(const char *name, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	came(name, error != 0, "%s: %s", path, error ? strerrorname_np(error) : "opened");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	mark = argv[1];

	try_calls();
	try_entries();
	try_descriptors();
	try_kernel_files();
	try_devices();
	try_processes();
	try_privileges();
	try_marks();
	puts("done");
	return 0;
}
