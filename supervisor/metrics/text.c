/*
 * One family after the other, each of its series on a line.
 */
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define LINE_MAX 1024
#define NANO 1000000000
#define COPY_TRIES 1000

struct writer {
	struct json_buffer *text;
	enum metrics_format format;
	uint64_t now_ns;
	int error;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
	char line[LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(line))
		w->error = -EMSGSIZE;
	if (!w->error)
		w->error = json_write_raw(w->text, line, (size_t)length);
}

/* ---- values ---- */

static bool is_nano(enum metric_unit unit)
{
	return unit == METRIC_SECONDS || unit == METRIC_RATIO;
}

/* A cell as a number; of a bound it says that it is no integer, "1.0". */
static const char *number(enum metric_unit unit, uint64_t cell, bool is_bound, char room[32])
{
	if (!is_nano(unit)) {
		snprintf(room, 32, "%llu", (unsigned long long)cell);
		return room;
	}
	int length = snprintf(room, 32, "%llu.%09llu", (unsigned long long)(cell / NANO),
			      (unsigned long long)(cell % NANO));
	int least = length - 9 + (is_bound ? 1 : 0);

	while (length > least && room[length - 1] == '0')
		length--;
	if (room[length - 1] == '.')
		length--;
	room[length] = 0;
	return room;
}

static uint64_t value_of(const struct writer *w, const struct metric *m, const uint64_t *cell)
{
	uint64_t value = metric_get(cell);

	if (m->type != METRIC_AGE)
		return value;
	return value && value < w->now_ns ? w->now_ns - value : 0;
}

/* ---- families ---- */

static const char *const type_names[] = {"counter", "gauge", "gauge", "histogram"};
static const char *const unit_names[] = {"", "bytes", "seconds", "ratio"};

static void put_head(struct writer *w, const struct metric *m)
{
	int length = (int)strlen(m->name);

	if (m->type == METRIC_COUNTER && w->format == METRICS_OPENMETRICS)
		length -= (int)strlen("_total");
	put(w, "# TYPE %.*s %s\n", length, m->name, type_names[m->type]);
	if (m->unit != METRIC_NOTHING && w->format == METRICS_OPENMETRICS)
		put(w, "# UNIT %.*s %s\n", length, m->name, unit_names[m->unit]);
	put(w, "# HELP %.*s %s\n", length, m->name, m->help);
}

/* "a="b",c="d"" of one series. */
static const char *label_text(const struct metric *m, const size_t index[2], const char *of_sink,
			      char room[LINE_MAX / 2])
{
	size_t length = (size_t)snprintf(room, LINE_MAX / 2, "%s", of_sink);

	for (size_t i = 0; i < 2; i++) {
		const char *name = metric_label_name(m->labels[i]);

		if (name)
			length += (size_t)snprintf(room + length, LINE_MAX / 2 - length,
						   "%s%s=\"%s\"", length ? "," : "", name,
						   metric_label_value(m->labels[i], index[i]));
	}
	return room;
}

static void put_histogram(struct writer *w, const struct metric *m, const char *labels,
			  const uint64_t *cells)
{
	const uint64_t *bounds = metric_bounds(m->unit);
	const char *comma = *labels ? "," : "", *open = *labels ? "{" : "",
		   *end = *labels ? "}" : "";
	uint64_t count = 0;
	char room[32];

	for (size_t i = 0; i <= METRIC_BOUNDS; i++) {
		count += metric_get(&cells[i]);
		put(w, "%s_bucket{%s%sle=\"%s\"} %llu\n", m->name, labels, comma,
		    i < METRIC_BOUNDS ? number(m->unit, bounds[i], true, room) : "+Inf",
		    (unsigned long long)count);
	}
	put(w, "%s_count%s%s%s %llu\n", m->name, open, labels, end, (unsigned long long)count);
	put(w, "%s_sum%s%s%s %s\n", m->name, open, labels, end,
	    number(m->unit, metric_get(&cells[METRIC_BOUNDS + 1]), false, room));
}

static size_t cells_of(const struct metric *m)
{
	return m->type == METRIC_HISTOGRAM ? METRIC_CELLS_HISTOGRAM : 1;
}

static size_t size_of(enum metric_label label)
{
	size_t size = 0;

	while (metric_label_value(label, size))
		size++;
	return size ? size : 1;
}

/* How many cells the page has for each value of the first label. */
static size_t stride_of(const struct metric *m)
{
	static const size_t sizes[] = {
#define LABEL(id, size) [METRIC_LABEL_##id] = (size),
		METRIC_LABELS(LABEL)
#undef LABEL
	};

	return sizes[m->labels[1]];
}

static void put_series(struct writer *w, const struct metric *m, const char *of_sink,
		       const void *page)
{
	const uint64_t *cells = (const void *)((const char *)page + m->offset);
	char labels[LINE_MAX / 2], room[32];
	size_t at[2];

	for (at[0] = 0; at[0] < size_of(m->labels[0]); at[0]++)
		for (at[1] = 0; at[1] < size_of(m->labels[1]); at[1]++) {
			const uint64_t *cell = cells + (at[0] * stride_of(m) + at[1]) * cells_of(m);

			label_text(m, at, of_sink, labels);
			if (m->type == METRIC_HISTOGRAM)
				put_histogram(w, m, labels, cell);
			else
				put(w, "%s%s%s%s %s\n", m->name, *labels ? "{" : "", labels,
				    *labels ? "}" : "",
				    number(m->unit, value_of(w, m, cell), false, room));
		}
}

/* Names of sinks are those of the configuration; what is none ends them. */
static bool is_name(const char name[METRIC_NAME])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t length = strnlen(name, METRIC_NAME);

	return length > 0 && length < METRIC_NAME && strspn(name, allowed) == length;
}

static void put_sinks(struct writer *w, const struct metric *m, const struct metrics_exporter *x)
{
	for (size_t i = 0; i < METRIC_SINKS; i++) {
		const char *name = x->sinks[i].name, *type = x->sinks[i].type;
		char labels[2 * METRIC_NAME + 32];

		if (!is_name(name) || !is_name(type))
			return;
		snprintf(labels, sizeof(labels), "sink=\"%s\",type=\"%s\"", name, type);
		put_series(w, m, labels, &x->sinks[i].cells);
	}
}

/* What is looked at has to be what is written: a copy, not taken while names change if that can
 * be. */
static void copy_exporter(const struct metrics_exporter *from, struct metrics_exporter *to)
{
	for (int tries = 0; tries < COPY_TRIES; tries++) {
		uint64_t changes = __atomic_load_n(&from->changes, __ATOMIC_ACQUIRE);

		memcpy(to, from, sizeof(*to));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (changes % 2 == 0 && metric_get(&from->changes) == changes)
			return;
	}
}

static void put_build(struct writer *w, const char *program)
{
	bool is_open = w->format == METRICS_OPENMETRICS;
	const char *name = is_open ? "vitrine_build" : "vitrine_build_info";

	put(w, "# TYPE %s %s\n# HELP %s What runs.\n", name, is_open ? "info" : "gauge", name);
	put(w, "vitrine_build_info{program=\"%s\",version=\"%s\"} 1\n", program, VITRINE_VERSION);
}

int metrics_write(struct json_buffer *text, const struct metrics_source *source,
		  enum metrics_format format, uint64_t now_ns)
{
	const void *const pages[METRIC_PAGE_COUNT] = {
		[METRIC_DAEMON] = source->daemon,
		[METRIC_RECORDER] = source->recorder,
		[METRIC_EXPORT] = source->exporter ? &source->exporter->export : NULL,
		[METRIC_SINK] = source->exporter,
	};
	struct writer w = {.text = text, .format = format, .now_ns = now_ns};
	struct metrics_exporter sinks;

	if (source->exporter)
		copy_exporter(source->exporter, &sinks);
	put_build(&w, source->program);
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!pages[m->page])
			continue;
		put_head(&w, m);
		if (m->page == METRIC_SINK)
			put_sinks(&w, m, &sinks);
		else
			put_series(&w, m, "", pages[m->page]);
	}
	if (format == METRICS_OPENMETRICS)
		put(&w, "# EOF\n");
	return w.error;
}

int metrics_list(struct json_buffer *text)
{
	struct writer w = {.text = text};

	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];
		const char *first = metric_label_name(m->labels[0]);
		const char *second = metric_label_name(m->labels[1]);
		const char *sink = m->page == METRIC_SINK ? "sink,type" : "";

		put(&w, "%s\t%s\t%s\t%s%s%s%s%s\t%s\n", m->name, type_names[m->type],
		    unit_names[m->unit], sink, *sink && first ? "," : "", first ? first : "",
		    second ? "," : "", second ? second : "", m->help);
	}
	return w.error;
}
