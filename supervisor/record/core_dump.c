/* A limit stops files, but not a program that the host has cores sent to; being undumpable does. */
#include "core_dump.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* A leak checker looks into the process that it runs in. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

int core_dump_forbid(void)
{
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	if (!IS_SANITIZED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}
