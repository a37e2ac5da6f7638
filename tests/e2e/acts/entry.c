/*
 * System calls by other doors. Through int 0x80 the number 20 is getpid, but 20 is writev for who
 * looks at numbers; x32 sets bit 30. Both are refused, and neither makes a record of something that
 * did not happen.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_32_bit_entry(void *context)
{
	long r = 20;

	__asm__ volatile("int $0x80"
			 : "+a"(r)
			 : "D"((long)*(int *)context), "S"(0L), "d"(1L)
			 : "memory");
	return r == -EPERM ? 0 : r == -ENOSYS ? 1 : 2;
}

static int by_x32(void *context)
{
	errno = 0;
	return syscall(0x40000000 | SYS_write, *(int *)context, "x", 1) == -1 &&
			       (errno == EPERM || errno == ENOSYS)
		       ? 0
		       : 2;
}

static void refused(int (*how)(void *), int *fd)
{
	int status;

	acts_child(how, fd, &status);
	/* A kernel without that entry ends the process instead. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		acts_fail("entered", __FILE__, __LINE__);
}

void acts_entry(void)
{
	int fd = MUST(open("/tmp/entry", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));

	truth_file("file.create", "/tmp/entry");
	truth_end();
	refused(by_32_bit_entry, &fd);
	refused(by_x32, &fd);
	MUST(close(fd));
}
