/*
 * What vitrine-export counts, and vitrine-metrics, which tells it where the configuration asks.
 */
#pragma once

#include "lane.h"

#include "../supervisor/metrics/metric.h"

struct export_metrics;

/* @listen is where they are served (borrowed), NULL: nowhere. @say is for what goes wrong after the
 * start. 0, or -errno with a fault. */
int export_metrics_new(const char *listen, sd_event *event,
		       void (*say)(void *context, const char *text), void *context,
		       struct export_metrics **ret_metrics, struct knob_fault *f);
void export_metrics_free(struct export_metrics *m);

/* The loop turns. */
void export_metrics_beat(struct export_metrics *m);
/* Once a second: how the lanes are. */
void export_metrics_tell(struct export_metrics *m, const struct lane_status *list, size_t count);
void export_metrics_status_error(struct export_metrics *m);
