/*
 * The end of a sandbox: what of it others may wait for goes at once, the rest in a thread. See
 * sandbox.h.
 */
#include "../record/cleanup.h"
#include "../record/crash.h"
#include "cgroup.h"
#include "sandbox_state.h"
#include "slow_close.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void sandbox_source_close(struct sandbox_source *from)
{
	cleanup_close_fd(&from->fd);
	free(from->name);
	*from = (struct sandbox_source){.fd = -1};
}

/* An answer that is still to come has to have a place. */
static void forget_launch(struct sandbox *s)
{
	if (s->launch.is_asked)
		launcher_wait(s->launcher, &s->launch);
	if (s->mapping.is_asked)
		launcher_wait(s->launcher, &s->mapping);
	for (size_t i = 0; i < LAUNCH_ANSWER_COUNT; i++)
		cleanup_close_fd(&s->launch.fds[i]);
	sandbox_source_close(&s->workspace);
	sandbox_source_close(&s->template);
	cleanup_close_fd(&s->filter_fd);
}

/* Those that are known go without a search, and while pid 1 dies; what is left is found. */
static void remove_cgroups(struct sandbox *s)
{
	char name[16];

	sandbox_kill_all(s);
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		if (s->execs[i].exec && !s->execs[i].killed) {
			snprintf(name, sizeof(name), "%u", s->execs[i].exec);
			unlinkat(s->info.cgroup_fd, name, AT_REMOVEDIR);
		}
	cgroup_wait_empty(s->info.cgroup_fd, s->pidfd);
	unlinkat(s->info.cgroup_fd, INIT_CGROUP, AT_REMOVEDIR);
	cgroup_remove(s->root_fd, s->id);
}

void sandbox_clear(struct sandbox *s)
{
	forget_launch(s);
	if (s->made_cgroup) {
		remove_cgroups(s);
		s->made_cgroup = false;
	}
	cleanup_close_fd(&s->info.workspace_fd);
	crash_point();
	limits_close(&s->limits, s->id);
	if (s->has_limited_exec)
		limits_remove(s->id);
	s->has_limited_exec = false;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;

	sandbox_clear(s);
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		sandbox_exec_close(&s->execs[i]);
	cleanup_close_fd(&s->status_fd);
	cleanup_close_fd(&s->control_fd);
	cleanup_close_fd(&s->pidfd);
	cleanup_close_fd(&s->root_fd);
	cleanup_close_fd(&s->info.cgroup_fd);
	cleanup_close_fd(&s->info.freeze_fd);
	const int slow[] = {s->info.fanotify_fd, s->info.root_mount_fd, s->info.stage_fd,
			    s->info.lower_fd, s->mounts_fd};
	slow_close(slow, sizeof(slow) / sizeof(slow[0]));
	free(s);
}
