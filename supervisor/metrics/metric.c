/*
 * The rows, and the sets of labels. A label's values are those that the rest of the program has
 * names for; what has none is "other".
 */
#include "metric.h"

#include "../redact/detector.h"

#include <string.h>

typedef struct metrics_daemon cells_DAEMON;
typedef struct metrics_recorder cells_RECORDER;
typedef struct metrics_export cells_EXPORT;
typedef struct metrics_sink cells_SINK;

const struct metric metrics[] = {
#define METRIC(page_, member, type_, first, second, unit_, name_, help_)                           \
	{                                                                                          \
		.name = name_,                                                                     \
		.help = help_,                                                                     \
		.type = METRIC_##type_,                                                            \
		.unit = METRIC_##unit_,                                                            \
		.page = METRIC_##page_,                                                            \
		.labels = {METRIC_LABEL_##first, METRIC_LABEL_##second},                           \
		.offset = offsetof(cells_##page_, member),                                         \
	},
#include "metrics.def"
#undef METRIC
};
const size_t metric_count = sizeof(metrics) / sizeof(metrics[0]);

static const char *const losses[METRIC_SIZE_LOSS] = {"ring_full", "map_full", "fault",	 "busy",
						     "malformed", "memory",   "unknown", "other"};
static const char *const freezes[METRIC_SIZE_FREEZE] = {"journal_behind", "journal_failed"};
static const char *const states[METRIC_SIZE_STATE] = {"starting", "running", "ending"};
/* In the order of enum verdict_reason. */
static const char *const reasons[METRIC_SIZE_REASON] = {
	"unknown", "exit",   "signal",		"timeout",     "oom",
	"limit",   "killed", "supervisor_lost", "setup_failed"};
static const char *const sensors[METRIC_SIZE_SENSORS] = {"watching", "missing"};
static const char *const lanes[METRIC_SIZE_LANE] = {"idle", "sending", "waiting", "paused"};

static const struct {
	const char *name;
	const char *const *values;
	size_t size;
} labels[] = {
	[METRIC_LABEL_NONE] = {NULL, NULL, 0},
	[METRIC_LABEL_CLASS] = {"class", event_class_names, METRIC_SIZE_CLASS},
	[METRIC_LABEL_LOSS] = {"reason", losses, METRIC_SIZE_LOSS},
	[METRIC_LABEL_FREEZE] = {"reason", freezes, METRIC_SIZE_FREEZE},
	[METRIC_LABEL_STATE] = {"state", states, METRIC_SIZE_STATE},
	[METRIC_LABEL_REASON] = {"reason", reasons, METRIC_SIZE_REASON},
	[METRIC_LABEL_SENSORS] = {"state", sensors, METRIC_SIZE_SENSORS},
	[METRIC_LABEL_RULE] = {"rule", NULL, METRIC_SIZE_RULE},
	[METRIC_LABEL_LANE] = {"state", lanes, METRIC_SIZE_LANE},
};

const char *metric_label_name(enum metric_label label)
{
	return labels[label].name;
}

const char *metric_label_value(enum metric_label label, size_t index)
{
	if (index >= labels[label].size)
		return NULL;
	if (label != METRIC_LABEL_RULE)
		return labels[label].values[index];
	if (index == 0)
		return "given";
	if (index <= detector_count)
		return detectors[index - 1].name;
	return index == detector_count + 1 ? "policy" : NULL;
}

const uint64_t *metric_bounds(enum metric_unit unit)
{
	/* Of a pipe's write to that of a disk that is about to fail; and of an empty ring to a full
	 * one, closest where sessions are frozen. */
	static const uint64_t seconds[METRIC_BOUNDS] = {
		100000,	  250000,   500000,    1000000,	  2500000,    5000000,
		10000000, 25000000, 100000000, 500000000, 1000000000, 10000000000};
	static const uint64_t ratios[METRIC_BOUNDS] = {1000000,	  10000000,  50000000,	100000000,
						       200000000, 300000000, 400000000, 500000000,
						       600000000, 750000000, 900000000, 990000000};

	return unit == METRIC_RATIO ? ratios : seconds;
}

void metric_observe(uint64_t *cells, enum metric_unit unit, uint64_t value)
{
	const uint64_t *bounds = metric_bounds(unit);
	size_t i = 0;

	while (i < METRIC_BOUNDS && value > bounds[i])
		i++;
	metric_add(&cells[i], 1);
	metric_add(&cells[METRIC_BOUNDS + 1], value);
}

size_t metric_loss(enum event_class class, const char *reason)
{
	size_t i = 0;

	while (i < METRIC_SIZE_LOSS - 1 && strcmp(reason, losses[i]) != 0)
		i++;
	return class * METRIC_SIZE_LOSS + i;
}

size_t metric_rule(size_t detector)
{
	return detector < detector_count ? detector + 1 : detector_count + 1;
}
