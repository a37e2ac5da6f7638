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

/* A hit of the command @x, or with NULL of the session: whose it was is known where there was one
 * command alone. */
static void record_hit(struct session *s, const struct session_exec *x, const char *limit,
		       uint64_t value, uint64_t count)
{
	uint32_t exec = x ? x->number : s->last_exec == SESSION_EXEC ? SESSION_EXEC : 0;
	json_t *fields =
		json_pack("{s:s, s:I, s:I, s:s}", "limit", limit, "value", (json_int_t)value,
			  "count", (json_int_t)count, "scope", x ? "command" : "session");

	if (fields && exec)
		json_object_set_new(fields, "exec", json_integer((json_int_t)exec));
	recorder_event(s->host->recorder, s->manifest.id, "limit", fields);
}

/* ---- what the kernel counts ---- */

static uint64_t untold(uint64_t hits, uint64_t told)
{
	return hits > told ? hits - told : 0;
}

static uint64_t value_of(const struct limit_values *l, enum sandbox_controller c)
{
	const uint64_t values[SANDBOX_CONTROLLERS] = {
		[SANDBOX_MEMORY] = l->memory_bytes,
		[SANDBOX_PIDS] = l->pids,
		[SANDBOX_CPU] = l->cpu_milli,
		[SANDBOX_IO] = l->io_bytes,
	};

	return values[c];
}

/* Hits of a command's own limit count above it too, and are told once. */
uint64_t session_limits_untold(const struct session *s, enum sandbox_controller c)
{
	uint64_t hits = 0, told = s->limits.told[c];

	if (sandbox_limit_hits(s->sandbox, 0, c, &hits) < 0)
		return 0;
	if (controllers[c].seen < WIRE_LIMIT_COUNT)
		told += sensors_hits(s->host->sensors, &s->watch, controllers[c].seen);
	return untold(hits, told);
}

static uint64_t told_of(const struct session_exec *x, enum sandbox_controller c)
{
	uint64_t told = x->told[c];

	if (controllers[c].seen < WIRE_LIMIT_COUNT)
		told += sensors_command_hits(x->session->host->sensors, x->cgroup,
					     controllers[c].seen);
	return told;
}

uint64_t exec_limits_untold(const struct session_exec *x, enum sandbox_controller c)
{
	uint64_t hits = 0;

	if (sandbox_limit_hits(x->session->sandbox, x->number, c, &hits) < 0)
		return 0;
	return untold(hits, told_of(x, c));
}

static void look_at(struct session *s, enum sandbox_controller c)
{
	uint64_t count = session_limits_untold(s, c);

	if (count == 0)
		return;
	record_hit(s, NULL, controllers[c].name, value_of(&s->request.policy.limits, c), count);
	s->limits.told[c] += count;
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
		record_hit(s, NULL, inodes ? "inodes" : "disk", inodes ? l->inodes : l->disk_bytes,
			   1);
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
	record_hit(s, NULL, "wall", s->request.policy.limits.wall_ms * 1000000, 1);
	session_end(s, &over, false);
	return 0;
}

static bool has_running(const struct session *s)
{
	const struct session_exec *x = s->execs;

	while (x && x->stage == EXEC_DRAINING)
		x = x->next;
	return x != NULL;
}

void session_limits_output(struct session *s, uint32_t exec)
{
	struct verdict over = {.reason = VERDICT_LIMIT, .limit = "output"};
	struct session_exec *x = exec_find(s, exec);

	if (s->stage != SESSION_WORKING && s->stage != SESSION_CLOSING)
		return;
	record_hit(s, x, "output",
		   x ? x->request->limits.output_bytes : s->request.policy.limits.output_bytes, 1);
	/* What is draining has ended by itself meanwhile. */
	if (x && x->stage == EXEC_WORKING)
		session_exec_end(s, exec, &over, false);
	else if (!exec && s->stage == SESSION_WORKING && has_running(s))
		session_end(s, &over, false);
}

/* ---- limits of one command ---- */

int exec_limits_set(struct session_exec *x, struct fault *f)
{
	const struct limit_values *l = &x->request->limits;
	const struct sandbox_limits limits = {
		.memory_bytes = l->memory_bytes,
		.pids = l->pids,
		.cpu_milli = l->cpu_milli,
		.files = l->files,
		.file_size_bytes = l->file_size_bytes,
	};
	const uint64_t seen[WIRE_LIMIT_COUNT] = {
		[WIRE_LIMIT_memory] = l->memory_bytes,
		[WIRE_LIMIT_pids] = l->pids,
		[WIRE_LIMIT_files] = l->files,
		[WIRE_LIMIT_file_size] = l->file_size_bytes,
	};
	struct sandbox_error error = {0};

	if (!l->memory_bytes && !l->pids && !l->cpu_milli && !l->files && !l->file_size_bytes)
		return 0;
	int r = sandbox_limit_exec(x->session->sandbox, x->number, &limits, &error);
	if (r < 0)
		return fault_set(f, r, "limits", "%s", error.text);
	r = sensors_limit_command(x->session->host->sensors, x->cgroup, seen);
	return r < 0 ? fault_set(f, r, "limits", "limits: %s", strerror(-r)) : 0;
}

static int on_exec_wall(sd_event_source *source, uint64_t now_us, void *context)
{
	struct verdict over = {.reason = VERDICT_TIMEOUT, .limit = "wall"};
	struct session_exec *x = context;

	(void)source, (void)now_us;
	record_hit(x->session, x, "wall", x->request->limits.wall_ms * 1000000, 1);
	session_exec_end(x->session, x->number, &over, false);
	return 0;
}

int exec_limits_start(struct session_exec *x)
{
	uint64_t wall_ms = x->request->limits.wall_ms;
	int r = wall_ms ? sd_event_add_time_relative(x->session->host->loop, &x->wall,
						     CLOCK_MONOTONIC, wall_ms * 1000, 1,
						     on_exec_wall, x)
			: 0;

	return r < 0 ? r : 0;
}

void exec_limits_measure(struct session_exec *x)
{
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		sandbox_limit_hits(x->session->sandbox, x->number, c, &x->hits[c]);
}

void exec_limits_look(struct session_exec *x)
{
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++) {
		uint64_t count = untold(x->hits[c], told_of(x, c));

		if (count == 0)
			continue;
		record_hit(x->session, x, controllers[c].name, value_of(&x->request->limits, c),
			   count);
		x->told[c] += count;
		x->session->limits.told[c] += count;
	}
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
	record_hit(s, NULL, "workspace", s->request.policy.limits.workspace_bytes, 1);
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
