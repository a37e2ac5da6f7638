/*
 * Metrics as text: OpenMetrics 1.0, and the older form of Prometheus for who does not ask for it.
 */
#pragma once

#include "../record/json.h"
#include "metric.h"

/* What is told: pages that are not there are NULL, and their rows left out. */
struct metrics_source {
	const char *program;
	const struct metrics_daemon *daemon;
	const struct metrics_recorder *recorder;
	const struct metrics_exporter *exporter;
};

enum metrics_format { METRICS_OPENMETRICS, METRICS_PROMETHEUS };

#define METRICS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_TYPE_PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

/*
 * Append all of @source to @text. Times are told as of @now_ns of CLOCK_REALTIME. Pages are
 * believed nothing: whatever stands in them, the text is well-formed. 0 or -ENOMEM.
 */
int metrics_write(struct json_buffer *text, const struct metrics_source *source,
		  enum metrics_format format, uint64_t now_ns);

/* The table, a line for each row: name, type, unit, labels, help; parted by tabs. 0 or -ENOMEM. */
int metrics_list(struct json_buffer *text);
