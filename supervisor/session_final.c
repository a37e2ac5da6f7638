/*
 * What a session leaves behind. When its processes are dead vitrine-final looks at its tree, while
 * the recorder still takes what the command wrote; vitrined itself looks at nothing.
 */
#include "session_state.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int open_layer(int stage_fd, const char *name)
{
	return openat(stage_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void session_look(struct session *s)
{
	const struct sandbox_info *info = sandbox_info(s->sandbox);
	cleanup(close_fd) int upper = -1, base = -1;

	if (strcmp(s->request.policy.final, "off") == 0 || info->stage_fd < 0)
		return;
	upper = open_layer(info->stage_fd, SANDBOX_UPPER);
	base = open_layer(info->stage_fd, SANDBOX_BASE);
	const struct recorder_look look = {
		.policy = &s->request.policy,
		.secrets = &s->request.secrets,
		.upper_fd = upper,
		.base_fd = base,
		.lower_fd = info->lower_fd,
		.root_fd = info->root_mount_fd,
		.workspace_fd = info->workspace_fd,
	};
	int r = recorder_look(s->host->recorder, s->manifest.id, &look);
	if (r < 0)
		log_write(&s->host->log, LOG_LEVEL_ERROR,
			  "session %s: nobody looks at its final tree: %s", s->manifest.id,
			  strerror(-r));
}
