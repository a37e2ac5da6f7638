/*
 * Limits of a session that were hit: each one a record, and some of them the end.
 *
 * The kernel only counts. It tells that a count has grown, which is looked at no more than a few
 * times a second, however often a fork bomb hits its limit, and once more when the command has
 * ended, so that every hit is in a record.
 */
#include "session_state.h"

#include <errno.h>
#include <signal.h>

#define LOOK_US 500000	  /* between two looks at what grows fast */
#define FULL_US 250000	  /* between two looks at the room that is left */
#define OOM_NS 1000000000 /* a kill is of the out-of-memory killer if it just killed something */

static const char *const names[SANDBOX_CONTROLLERS] = {
	[SANDBOX_MEMORY] = "memory",
	[SANDBOX_PIDS] = "pids",
	[SANDBOX_CPU] = "cpu",
};

static void record_hit(struct session *s, const char *limit, uint64_t value, uint64_t count)
{
	recorder_event(s->host->recorder, s->manifest.id, "limit",
		       json_pack("{s:i, s:s, s:I, s:I}", "exec", SESSION_EXEC, "limit", limit,
				 "value", (json_int_t)value, "count", (json_int_t)count));
}

/* ---- what the kernel counts ---- */

static void look_at(struct session *s, enum sandbox_controller c)
{
	const struct limit_values *l = &s->request.policy.limits;
	const uint64_t values[SANDBOX_CONTROLLERS] = {
		[SANDBOX_MEMORY] = l->memory_bytes,
		[SANDBOX_PIDS] = l->pids,
		[SANDBOX_CPU] = l->cpu_milli,
	};
	uint64_t hits = 0;

	if (sandbox_limit_hits(s->sandbox, c, &hits) < 0 || hits <= s->limits.seen[c])
		return;
	record_hit(s, names[c], values[c], hits - s->limits.seen[c]);
	s->limits.seen[c] = hits;
	if (c == SANDBOX_MEMORY)
		s->limits.oom_ns = session_clock_ns(CLOCK_BOOTTIME);
}

static int on_hit(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct session *s = context;

	(void)fd, (void)events;
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		if (s->limits.hits[c] == source)
			look_at(s, c);
	return 0;
}

static int follow_hits(struct session *s, enum sandbox_controller c)
{
	uint32_t events = 0;
	int fd = sandbox_limit_fd(s->sandbox, c, &events);

	if (fd < 0)
		return 0;
	look_at(s, c);
	int r = sd_event_add_io(s->host->loop, &s->limits.hits[c], fd, events, on_hit, s);
	return r < 0 ? r : sd_event_source_set_ratelimit(s->limits.hits[c], LOOK_US, 1);
}

/* ---- the room for files ---- */

static void look_at_room(struct session *s)
{
	const struct limit_values *l = &s->request.policy.limits;
	bool inodes = false;

	if (!l->disk_bytes && !l->inodes)
		return;
	bool full = sandbox_is_full(s->sandbox, &inodes);
	if (full && !s->limits.was_full)
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

void session_limits_output(struct session *s)
{
	struct verdict over = {.reason = VERDICT_LIMIT, .limit = "output"};

	if (s->stage != SESSION_WORKING && s->stage != SESSION_DRAINING)
		return;
	record_hit(s, "output", s->request.policy.limits.output_bytes, 1);
	if (s->stage == SESSION_DRAINING) /* it has ended by itself meanwhile */
		return;
	session_end(s, &over, false);
}

void session_limits_explain(struct session *s, struct verdict *ended)
{
	bool killed = ended->reason == VERDICT_SIGNAL ? ended->signal == SIGKILL
						      : ended->reason == VERDICT_KILLED;

	look_at(s, SANDBOX_MEMORY);
	uint64_t since_ns = session_clock_ns(CLOCK_BOOTTIME) - s->limits.oom_ns;
	if (killed && s->limits.oom_ns && since_ns < OOM_NS)
		*ended = (struct verdict){.reason = VERDICT_OOM, .limit = "memory"};
}

/* ---- the command's life ---- */

int session_limits_start(struct session *s)
{
	const struct limit_values *l = &s->request.policy.limits;
	int r = 0;

	for (int c = 0; r >= 0 && c < SANDBOX_CONTROLLERS; c++)
		r = follow_hits(s, c);
	if (r >= 0 && l->wall_ms)
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
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		s->limits.hits[c] = sd_event_source_disable_unref(s->limits.hits[c]);
	s->limits.wall = sd_event_source_disable_unref(s->limits.wall);
	s->limits.room = sd_event_source_disable_unref(s->limits.room);
}
