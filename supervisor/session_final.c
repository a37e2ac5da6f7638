/*
 * What a session leaves behind. When its processes are dead vitrine-final looks at its tree, while
 * the recorder still takes what the command wrote; vitrined itself looks at nothing.
 */
#include "session_state.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

static int open_layer(int stage_fd, const char *name)
{
	return openat(stage_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Nothing but "." and "..": what else there may be is not read. */
static bool is_empty(int fd)
{
	const long dots = 2 * 24; /* bytes that getdents64(2) gives for them */
	_Alignas(8) char room[64];
	long size, sum = 0;

	do {
		size = syscall(SYS_getdents64, fd, room, sizeof(room));
		sum += size;
	} while (size > 0 && sum <= dots);
	return size == 0 && sum == dots;
}

static int look(struct session *s, int upper_fd)
{
	const struct sandbox_info *info = sandbox_info(s->sandbox);
	cleanup(close_fd) int base_fd = open_layer(info->stage_fd, SANDBOX_BASE);
	const struct recorder_look look = {
		.policy = &s->request.policy,
		.secrets = &s->request.secrets,
		.upper_fd = upper_fd,
		.base_fd = base_fd,
		.lower_fd = info->lower_fd,
		.root_fd = info->root_mount_fd,
		.workspace_fd = info->workspace_fd,
	};

	return recorder_look(s->host->recorder, s->manifest.id, &look);
}

/* Of a session that has changed nothing there is nothing to look at. */
bool session_look(struct session *s)
{
	const struct sandbox_info *info = sandbox_info(s->sandbox);

	if (strcmp(s->request.policy.final, "off") == 0 || info->stage_fd < 0)
		return false;
	cleanup(close_fd) int upper_fd = open_layer(info->stage_fd, SANDBOX_UPPER);
	if (info->workspace_fd < 0 && is_empty(upper_fd))
		return true;
	int r = look(s, upper_fd);
	if (r < 0)
		log_write(&s->host->log, LOG_LEVEL_ERROR,
			  "session %s: nobody looks at its final tree: %s", s->manifest.id,
			  strerror(-r));
	return false;
}
