/*
 * Limits of a session that were hit: each one a record, and some of them the end.
 *
 * What a process runs into is seen in the kernel and recorded with the process (bpf/limit.bpf.c).
 * Here is the rest: what only controllers count, what ends the session, and the room for files
 * where no call fails for want of it. When all is dead the kernel's own counts are compared with
 * what records of processes told, so that every hit is in a record.
 */
#include "growth.h"
#include "record/cleanup.h"
#include "session_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FULL_US 250000 /* between two looks at the room that is left */

static const struct {
	const char *name;
	enum wire_limit
		seen; /* as the kernel's side calls it; WIRE_LIMIT_COUNT: it does not see it */
} controllers[SANDBOX_CONTROLLERS] = {
	[SANDBOX_MEMORY] = {"memory", WIRE_LIMIT_memory},
	[SANDBOX_PIDS] = {"pids", WIRE_LIMIT_pids},
	[SANDBOX_CPU] = {"cpu", WIRE_LIMIT_COUNT},
	[SANDBOX_IO] = {"io", WIRE_LIMIT_COUNT},
};

/* A session that had one command knows whose hit it was. */
static void record_hit(struct session *s, const char *limit, uint64_t value, uint64_t count)
{
	json_t *fields = json_pack("{s:s, s:I, s:I}", "limit", limit, "value", (json_int_t)value,
				   "count", (json_int_t)count);

	if (fields && s->last_exec == SESSION_EXEC)
		json_object_set_new(fields, "exec", json_integer(SESSION_EXEC));
	recorder_event(s->host->recorder, s->manifest.id, "limit", fields);
}

/* ---- what the kernel counts ---- */

uint64_t session_limits_untold(const struct session *s, enum sandbox_controller c)
{
	uint64_t hits = 0, told = s->limits.told[c];

	if (sandbox_limit_hits(s->sandbox, c, &hits) < 0)
		return 0;
	if (controllers[c].seen < WIRE_LIMIT_COUNT)
		told += sensors_hits(s->host->sensors, &s->watch, controllers[c].seen);
	return hits > told ? hits - told : 0;
}

static void look_at(struct session *s, enum sandbox_controller c)
{
	const struct limit_values *l = &s->request.policy.limits;
	const uint64_t values[SANDBOX_CONTROLLERS] = {
		[SANDBOX_MEMORY] = l->memory_bytes,
		[SANDBOX_PIDS] = l->pids,
		[SANDBOX_CPU] = l->cpu_milli,
		[SANDBOX_IO] = l->io_bytes,
	};
	uint64_t untold = session_limits_untold(s, c);

	if (untold == 0)
		return;
	record_hit(s, controllers[c].name, values[c], untold);
	s->limits.told[c] += untold;
}

/* ---- the room for files: a page of a mapping that finds none is a signal and no call ---- */

static void look_at_room(struct session *s)
{
	const struct limit_values *l = &s->request.policy.limits;
	bool inodes = false;

	if (!l->disk_bytes && !l->inodes)
		return;
	bool full = sandbox_is_full(s->sandbox, &inodes);
	bool is_told = sensors_hits(s->host->sensors, &s->watch,
				    inodes ? WIRE_LIMIT_inodes : WIRE_LIMIT_disk) > 0;
	if (full && !s->limits.was_full && !is_told)
		record_hit(s, inodes ? "inodes" : "disk", inodes ? l->inodes : l->disk_bytes, 1);
	s->limits.was_full = full;
}

static int on_room(sd_event_source *source, uint64_t now_us, void *context)
{
	struct session *s = context;

	(void)now_us;
	look_at_room(s);
	sd_event_source_set_time_relative(source, FULL_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- what ends a session ---- */

static int on_wall(sd_event_source *source, uint64_t now_us, void *context)
{
	struct session *s = context;
	struct verdict over = {.reason = VERDICT_TIMEOUT, .limit = "wall"};

	(void)source, (void)now_us;
	if (s->stage != SESSION_WORKING)
		return 0;
	record_hit(s, "wall", s->request.policy.limits.wall_ms * 1000000, 1);
	session_end(s, &over, false);
	return 0;
}

void session_limits_output(struct session *s, uint32_t exec)
{
	struct verdict over = {.reason = VERDICT_LIMIT, .limit = "output"};

	(void)exec;
	if (s->stage != SESSION_WORKING && s->stage != SESSION_DRAINING)
		return;
	record_hit(s, "output", s->request.policy.limits.output_bytes, 1);
	if (s->stage == SESSION_DRAINING) /* it has ended by itself meanwhile */
		return;
	session_end(s, &over, false);
}

/* ---- the workspace ---- */

static void workspace_measured(void *context, int error)
{
	struct session *s = context;

	if (error)
		session_decide_failed(s, "limits", error, "/workspace cannot be measured");
	s->limits.is_measuring = false;
	session_go_on(s);
}

static void workspace_over(void *context, int error)
{
	struct session *s = context;
	struct verdict over = {.reason = VERDICT_LIMIT, .limit = "workspace", .error = -error};

	if (s->stage != SESSION_WORKING)
		return;
	if (error)
		snprintf(over.text, sizeof(over.text), "/workspace can be measured no longer: %s",
			 error == -ELOOP ? "directories are too deep" : strerror(-error));
	record_hit(s, "workspace", s->request.policy.limits.workspace_bytes, 1);
	session_end(s, &over, false);
}

int session_limits_measure(struct session *s)
{
	const struct policy *p = &s->request.policy;
	cleanup(close_fd) int dir = -1;

	if (!p->limits.workspace_bytes || !p->workspace)
		return 0;
	dir = s->request.workspace_fd >= 0 ? fcntl(s->request.workspace_fd, F_DUPFD_CLOEXEC, 3)
					   : open(p->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct growth_options options = {
		.loop = s->host->loop,
		.dir_fd = dir,
		.cgroup_fd = sandbox_info(s->sandbox)->cgroup_fd,
		.most = p->limits.workspace_bytes,
		.ready = workspace_measured,
		.over = workspace_over,
		.context = s,
	};
	int r = dir < 0 ? -errno : growth_start(&options, &s->limits.growth);
	s->limits.is_measuring = r == 0;
	return r;
}

/* ---- the command's life ---- */

int session_limits_start(struct session *s)
{
	const struct limit_values *l = &s->request.policy.limits;
	int r = 0;

	if (l->wall_ms)
		r = sd_event_add_time_relative(s->host->loop, &s->limits.wall, CLOCK_MONOTONIC,
					       l->wall_ms * 1000, 1, on_wall, s);
	if (r >= 0 && (l->disk_bytes || l->inodes))
		r = sd_event_add_time_relative(s->host->loop, &s->limits.room, CLOCK_MONOTONIC,
					       FULL_US, 0, on_room, s);
	return r < 0 ? r : 0;
}

void session_limits_look(struct session *s)
{
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		look_at(s, c);
	look_at_room(s);
}

void session_limits_stop(struct session *s)
{
	s->limits.wall = sd_event_source_disable_unref(s->limits.wall);
	s->limits.room = sd_event_source_disable_unref(s->limits.room);
}

void session_limits_free(struct session *s)
{
	growth_stop(s->limits.growth);
	s->limits.growth = NULL;
}
