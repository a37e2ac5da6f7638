/*
 * The timeline: one line an event, in the order of the record, and a summary below.
 *
 *   <seconds since the start> <pid> <kind> <indentation by the process tree> <what happened>
 *
 * Gaps and damage stand in their place whatever the filter says: a view must not hide a hole.
 */
#include "depths.h"
#include "tally.h"
#include "units.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define INDENT_MAX 12

struct timeline {
	struct pen pen;
	struct depths *depths;
	struct tally *tally;
};

static void timeline_free(void *state)
{
	struct timeline *t = state;

	if (!t)
		return;
	depths_free(t->depths);
	tally_free(t->tally);
	free(t);
}

static int timeline_begin(const struct view_options *options, void **ret_state)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->pen = pen_for(options->out, options->color);
	t->depths = depths_new();
	r = t->depths ? tally_new(&t->tally) : -ENOMEM;
	if (r < 0) {
		timeline_free(t);
		return r;
	}
	*ret_state = t;
	return 0;
}

static void write_time(const struct pen *pen, uint64_t elapsed_ns)
{
	pen_style(pen, STYLE_DIM);
	fprintf(pen->out, "%6" PRIu64 ".%06u", elapsed_ns / NS_PER_S,
		(unsigned int)(elapsed_ns % NS_PER_S / 1000));
	pen_style(pen, STYLE_PLAIN);
}

static void write_pid(const struct pen *pen, const struct event *e)
{
	const struct event_value *pid = event_get(e, FIELD_pid);

	if (pid)
		fprintf(pen->out, " %7" PRIu64 "  ", pid->u64);
	else
		fprintf(pen->out, " %7s  ", event_get(e, FIELD_proc) ? "?" : "");
}

static void write_event(const struct timeline *t, const struct event *e, uint64_t elapsed_ns,
			unsigned int depth)
{
	const struct pen *pen = &t->pen;
	bool known = e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT;
	enum style style = known ? kind_style(e->kind) : STYLE_LOUD;

	write_time(pen, elapsed_ns);
	write_pid(pen, e);
	pen_style(pen, style);
	fprintf(pen->out, "%-19s ", known ? kind_table[e->kind].name : "unknown");
	if (style != STYLE_LOUD && style != STYLE_DIM)
		pen_style(pen, STYLE_PLAIN);
	fprintf(pen->out, "%*s", (int)(2 * (depth < INDENT_MAX ? depth : INDENT_MAX)), "");
	if (style == STYLE_LOUD)
		fputs("!! ", pen->out);
	line_write(pen, e);
	pen_style(pen, STYLE_PLAIN);
	fputc('\n', pen->out);
}

static int timeline_event(void *state, const struct event *e, const struct origin *origin,
			  bool wanted)
{
	struct timeline *t = state;
	unsigned int depth = depths_of(t->depths, e);

	if (wanted || e->kind == EVENT_gap)
		write_event(t, e, origin_elapsed(origin, e), depth);
	/* A checkpoint is no record: it has no number. */
	return e->seq ? tally_add(t->tally, e) : 0;
}

static void timeline_damage(void *state, const struct reader_damage *damage)
{
	struct timeline *t = state;

	tally_add_damage(t->tally);
	pen_style(&t->pen, STYLE_LOUD);
	fprintf(t->pen.out, "%13s %7s  %-19s !! ", "", "", "damage");
	printable_text(t->pen.out, &t->pen.printable, bytes_of(damage->segment));
	fprintf(t->pen.out, " is not whole from byte %" PRIu64 " on, after record %" PRIu64 ": %s",
		damage->offset, damage->after_seq, damage->why);
	pen_style(&t->pen, STYLE_PLAIN);
	fputc('\n', t->pen.out);
}

static int timeline_end(void *state, enum view_end how)
{
	struct timeline *t = state;

	tally_write_summary(t->tally, &t->pen, view_end_text(how));
	return 0;
}

const struct view view_timeline = {
	.begin = timeline_begin,
	.event = timeline_event,
	.damage = timeline_damage,
	.end = timeline_end,
	.free = timeline_free,
};
