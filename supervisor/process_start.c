/* Reads /proc/<pid>/stat. The name in it may hold blanks and parentheses: the fields begin behind
 * the last one. */
#include "process_start.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

int process_start(pid_t pid, uint64_t *ret_ticks)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = 0;

	char *at = strrchr(text, ')');
	if (at && (at[1] == 0 || at[2] == 'Z' || at[2] == 'X'))
		return -ESRCH;
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return -EBADMSG;
	*ret_ticks = strtoull(at, NULL, 10);
	return 0;
}

bool process_is_alive(pid_t pid, uint64_t ticks)
{
	uint64_t now = 0;

	return pid > 0 && process_start(pid, &now) == 0 && now == ticks;
}
