/*
 * The table of metrics, and the pages that hold their cells.
 *
 * A page is memory that one process writes and vitrine-metrics reads. To count is one addition to
 * such memory: it allocates nothing, waits for nobody and cannot fail, and costs the same whether
 * anybody looks or not.
 */
#pragma once

#include "../record/event.h"

#include <stddef.h>
#include <stdint.h>

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_AGE,	  /* a gauge whose cell is a time of CLOCK_REALTIME: told is how long ago */
	METRIC_HISTOGRAM, /* its cells are one for each bucket, and the sum */
};

enum metric_unit { METRIC_NOTHING, METRIC_BYTES, METRIC_SECONDS, METRIC_RATIO };

enum metric_page_kind {
	METRIC_DAEMON,
	METRIC_RECORDER,
	METRIC_EXPORT,
	METRIC_SINK,
	METRIC_PAGE_COUNT
};

/* Sizes of the sets of labels. */
#define METRIC_LABELS(LABEL)                                                                       \
	LABEL(NONE, 1)                                                                             \
	LABEL(CLASS, EVENT_CLASS_COUNT)                                                            \
	LABEL(LOSS, 8)                                                                             \
	LABEL(FREEZE, 2)                                                                           \
	LABEL(STATE, 3)                                                                            \
	LABEL(REASON, 9)                                                                           \
	LABEL(SENSORS, 2)                                                                          \
	LABEL(RULE, 256)                                                                           \
	LABEL(LANE, 4)

enum metric_label {
#define LABEL(id, size) METRIC_LABEL_##id,
	METRIC_LABELS(LABEL)
#undef LABEL
};

enum {
#define LABEL(id, size) METRIC_SIZE_##id = (size),
	METRIC_LABELS(LABEL)
#undef LABEL
};

#define METRIC_BOUNDS 12 /* of a histogram; above the last there is one bucket more */

/* Cells of one series, by type. */
enum {
	METRIC_CELLS_COUNTER = 1,
	METRIC_CELLS_GAUGE = 1,
	METRIC_CELLS_AGE = 1,
	METRIC_CELLS_HISTOGRAM = METRIC_BOUNDS + 2,
};

/* The members of a page of one kind: arrays, one series behind the other. */
#define METRIC_IS_DAEMON(...)
#define METRIC_IS_RECORDER(...)
#define METRIC_IS_EXPORT(...)
#define METRIC_IS_SINK(...)
#define METRIC_MEMBER(member, type, first, second)                                                 \
	uint64_t member[METRIC_SIZE_##first * METRIC_SIZE_##second * METRIC_CELLS_##type];
#define METRIC(page, member, type, first, second, ...) METRIC_IS_##page(member, type, first, second)

#undef METRIC_IS_DAEMON
#define METRIC_IS_DAEMON METRIC_MEMBER
struct metrics_daemon {
#include "metrics.def"
};
#undef METRIC_IS_DAEMON
#define METRIC_IS_DAEMON(...)

#undef METRIC_IS_RECORDER
#define METRIC_IS_RECORDER METRIC_MEMBER
struct metrics_recorder {
#include "metrics.def"
};
#undef METRIC_IS_RECORDER
#define METRIC_IS_RECORDER(...)

#undef METRIC_IS_EXPORT
#define METRIC_IS_EXPORT METRIC_MEMBER
struct metrics_export {
#include "metrics.def"
};
#undef METRIC_IS_EXPORT
#define METRIC_IS_EXPORT(...)

#undef METRIC_IS_SINK
#define METRIC_IS_SINK METRIC_MEMBER
struct metrics_sink {
#include "metrics.def"
};
#undef METRIC

#define METRIC_SINKS 64
#define METRIC_NAME 72

/* A page of vitrine-export's: a name that is empty ends the sinks. */
struct metrics_exporter {
	uint64_t changes; /* of names; odd while there is one */
	struct metrics_export export;
	struct {
		char name[METRIC_NAME], type[METRIC_NAME];
		struct metrics_sink cells;
	} sinks[METRIC_SINKS];
};

struct metric {
	const char *name; /* as scraped, without what a histogram appends */
	const char *help;
	enum metric_type type;
	enum metric_unit unit;
	enum metric_page_kind page;
	enum metric_label labels[2];
	size_t offset; /* of its first cell in the page */
};

extern const struct metric metrics[];
extern const size_t metric_count;

/* The name of a set of labels; NULL for NONE. And its values: NULL behind the last one. */
const char *metric_label_name(enum metric_label label);
const char *metric_label_value(enum metric_label label, size_t index);

/* Upper bounds of the buckets of a histogram in this unit, as cells. */
const uint64_t *metric_bounds(enum metric_unit unit);

/* ---- counting ---- */

static inline void metric_add(uint64_t *cell, uint64_t count)
{
	__atomic_fetch_add(cell, count, __ATOMIC_RELAXED);
}

static inline void metric_set(uint64_t *cell, uint64_t value)
{
	__atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

static inline uint64_t metric_get(const uint64_t *cell)
{
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

/* One more observation of a histogram in @unit, whose cells begin at @cells. */
void metric_observe(uint64_t *cells, enum metric_unit unit, uint64_t value);

/* Before and after names of sinks are changed. */
static inline void metrics_exporter_begin(struct metrics_exporter *x)
{
	__atomic_fetch_add(&x->changes, 1, __ATOMIC_ACQ_REL);
}

static inline void metrics_exporter_end(struct metrics_exporter *x)
{
	__atomic_fetch_add(&x->changes, 1, __ATOMIC_RELEASE);
}

enum metric_freeze { METRIC_FREEZE_BEHIND, METRIC_FREEZE_DISK };
enum metric_state { METRIC_STATE_STARTING, METRIC_STATE_RUNNING, METRIC_STATE_ENDING };
enum metric_sensors { METRIC_SENSORS_WATCHING, METRIC_SENSORS_MISSING };

/* Where a gap of @class with @reason is counted among the cells of vitrine_lost_records_total. */
size_t metric_loss(enum event_class class, const char *reason);
/* And what was cut by a detector, among those of vitrine_redactions_total; 0 is "given", and rules
 * that a policy adds behind the detectors are one. */
size_t metric_rule(size_t detector);
