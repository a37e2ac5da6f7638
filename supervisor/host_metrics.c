/*
 * Counters are kept where things happen; gauges are looked up once a second, and only where
 * somebody may ask for them.
 */
#include "host_metrics.h"

#include "metrics/service.h"
#include "session_state.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#define LOOK_US 1000000
#define METRICS_USER "vitrine-metrics"
#define METRICS_ID 64743 /* where the host has no such user */

int host_metrics_open(struct host *h, struct fault *ret_fault)
{
	bool is_served = h->config.metrics != NULL;
	int r = metrics_page_new(sizeof(struct metrics_daemon), is_served, &h->daemon_page);

	if (r == 0)
		r = metrics_page_new(sizeof(struct metrics_recorder), is_served, &h->recorder_page);
	if (r < 0)
		return fault_set(ret_fault, r, "metrics", "memory of metrics: %s", strerror(-r));
	h->metrics = h->daemon_page.cells;
	metric_set(h->metrics->started, session_clock_ns(CLOCK_REALTIME));
	return 0;
}

void host_metrics_close(struct host *h)
{
	h->metrics_look = sd_event_source_disable_unref(h->metrics_look);
	metrics_service_free(h->metrics_service);
	h->metrics_service = NULL;
	metrics_page_free(&h->daemon_page);
	metrics_page_free(&h->recorder_page);
	h->metrics = NULL;
}

/* ---- gauges ---- */

static size_t count_names(const char *const *names)
{
	size_t count = 0;

	while (names && names[count])
		count++;
	return count;
}

static void look_at_sessions(struct host *h)
{
	static const enum metric_state states[] = {
		[SESSION_OPENING] = METRIC_STATE_STARTING,
		[SESSION_WORKING] = METRIC_STATE_RUNNING,
		[SESSION_CLOSING] = METRIC_STATE_ENDING,
		[SESSION_SEALING] = METRIC_STATE_ENDING,
	};
	uint64_t counts[METRIC_SIZE_STATE] = {0};

	for (const struct session *s = h->sessions; s; s = s->next)
		counts[states[s->stage]]++;
	for (size_t i = 0; i < METRIC_SIZE_STATE; i++)
		metric_set(&h->metrics->sessions[i], counts[i]);
}

static void look_at_disk(struct host *h)
{
	struct statvfs room;

	if (fstatvfs(h->state_fd, &room) < 0)
		return;
	metric_set(h->metrics->state_size, (uint64_t)room.f_blocks * room.f_frsize);
	metric_set(h->metrics->state_free, (uint64_t)room.f_bavail * room.f_frsize);
	metric_set(h->metrics->state_free_files, room.f_favail);
}

static int on_look(sd_event_source *source, uint64_t now_us, void *context)
{
	struct host *h = context;
	struct metrics_daemon *m = h->metrics;

	(void)now_us;
	look_at_sessions(h);
	look_at_disk(h);
	metric_set(m->cpu, session_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	metric_set(m->beat, session_clock_ns(CLOCK_REALTIME));
	metric_set(m->recorder_up, h->recorder && recorder_is_alive(h->recorder));
	metric_set(m->sensors_missed, sensors_missed(h->sensors));
	metric_set(&m->sensors[METRIC_SENSORS_WATCHING], count_names(sensors_names(h->sensors)));
	metric_set(&m->sensors[METRIC_SENSORS_MISSING], count_names(sensors_missing(h->sensors)));
	sd_event_source_set_time_relative(source, LOOK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- serving ---- */

static void say(void *context, const char *text)
{
	const struct host *h = context;

	log_write(&h->log, LOG_LEVEL_WARNING, "%s", text);
}

int host_metrics_serve(struct host *h, struct fault *ret_fault)
{
	char error[512];
	uid_t uid;
	gid_t gid;

	if (!h->config.metrics)
		return 0;
	host_find_user(METRICS_USER, METRICS_ID, &uid, &gid);
	const struct metrics_service_options options = {
		.event = h->loop,
		.listen = h->config.metrics,
		.serves = "daemon",
		.pages = {&h->daemon_page, &h->recorder_page},
		.page_count = 2,
		.uid = uid,
		.gid = gid,
		.say = say,
		.context = h,
	};
	int r = metrics_service_new(&options, &h->metrics_service, error);
	if (r < 0)
		return fault_set(ret_fault, r, "metrics", "%s", error);
	r = sd_event_add_time_relative(h->loop, &h->metrics_look, CLOCK_MONOTONIC, 0, 0, on_look,
				       h);
	return r < 0 ? fault_set(ret_fault, r, "loop", "event loop: %s", strerror(-r)) : 0;
}
