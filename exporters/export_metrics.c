/*
 * The lanes keep their own counts; here they are put where vitrine-metrics reads them.
 */
#include "export_metrics.h"

#include "../supervisor/metrics/service.h"

#include <errno.h>
#include <string.h>
#include <time.h>

struct export_metrics {
	struct metrics_page page;
	struct metrics_exporter *cells;
	struct metrics_service *service; /* NULL: they are not served */
	void (*say)(void *context, const char *text);
	void *context;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int serve(struct export_metrics *m, const char *listen, sd_event *event,
		 struct knob_fault *f)
{
	char error[512];
	const struct metrics_service_options options = {
		.event = event,
		.listen = listen,
		.serves = "exporter",
		.pages = {&m->page},
		.page_count = 1,
		.say = m->say,
		.context = m->context,
	};
	int r = metrics_service_new(&options, &m->service, error);

	return r < 0 ? knob_fault_set(f, "metrics", "%s", error) : 0;
}

int export_metrics_new(const char *listen, sd_event *event,
		       void (*say)(void *context, const char *text), void *context,
		       struct export_metrics **ret_metrics, struct knob_fault *f)
{
	struct export_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct export_metrics){.page = METRICS_PAGE_NONE, .say = say, .context = context};
	int r = metrics_page_new(sizeof(struct metrics_exporter), listen != NULL, &m->page);
	if (r == 0) {
		m->cells = m->page.cells;
		metric_set(m->cells->export.started, clock_ns(CLOCK_REALTIME));
		if (listen)
			r = serve(m, listen, event, f);
	}
	if (r < 0) {
		export_metrics_free(m);
		return r;
	}
	*ret_metrics = m;
	return 0;
}

void export_metrics_free(struct export_metrics *m)
{
	if (!m)
		return;
	metrics_service_free(m->service);
	metrics_page_free(&m->page);
	free(m);
}

void export_metrics_beat(struct export_metrics *m)
{
	metric_set(m->cells->export.beat, clock_ns(CLOCK_REALTIME));
}

void export_metrics_status_error(struct export_metrics *m)
{
	metric_add(m->cells->export.status_errors, 1);
}

static void tell_state(struct metrics_sink *cells, const char *state)
{
	const char *name;

	for (size_t i = 0; (name = metric_label_value(METRIC_LABEL_LANE, i)); i++)
		metric_set(&cells->state[i], strcmp(name, state) == 0);
}

static void tell_lane(struct metrics_sink *cells, const struct lane_status *s)
{
	metric_set(cells->delivered, s->totals.delivered);
	metric_set(cells->quarantined, s->totals.quarantined);
	metric_set(cells->filtered, s->totals.filtered);
	metric_set(cells->pending, s->pending);
	metric_set(cells->oldest, s->oldest_ns);
	metric_set(cells->sent, s->bytes);
	metric_set(cells->batches, s->batches);
	metric_set(cells->retries, s->retries);
	metric_set(cells->resets, s->resets);
	metric_set(cells->cursor_errors, s->cursor_errors);
	metric_set(cells->succeeded, s->delivered_ns);
	tell_state(cells, s->state);
}

static bool is_named(const struct metrics_exporter *cells, size_t i, const struct lane_status *s)
{
	return !strcmp(cells->sinks[i].name, s->name) && !strcmp(cells->sinks[i].type, s->type);
}

/* A new configuration came: while names are changed the page says so. */
static void name_sinks(struct metrics_exporter *cells, const struct lane_status *list, size_t count)
{
	bool is_same = count == METRIC_SINKS || !cells->sinks[count].name[0];

	for (size_t i = 0; i < count; i++)
		is_same &= is_named(cells, i, &list[i]);
	if (is_same)
		return;
	metrics_exporter_begin(cells);
	memset(cells->sinks, 0, sizeof(cells->sinks));
	for (size_t i = 0; i < count; i++) {
		snprintf(cells->sinks[i].name, METRIC_NAME, "%s", list[i].name);
		snprintf(cells->sinks[i].type, METRIC_NAME, "%s", list[i].type);
		tell_lane(&cells->sinks[i].cells, &list[i]);
	}
	metrics_exporter_end(cells);
}

void export_metrics_tell(struct export_metrics *m, const struct lane_status *list, size_t count)
{
	if (count > METRIC_SINKS)
		count = METRIC_SINKS;
	metric_set(m->cells->export.cpu, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	name_sinks(m->cells, list, count);
	for (size_t i = 0; i < count; i++)
		tell_lane(&m->cells->sinks[i].cells, &list[i]);
}
