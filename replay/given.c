/* Commands that were given to a session. See given.h. */
#include "given.h"

void given_free(struct given_list *g)
{
	for (size_t i = 0; i < g->count; i++) {
		kept_free(&g->starts[i]);
		kept_free(&g->ends[i]);
	}
	*g = (struct given_list){0};
}

static int add_start(struct given_list *g, const struct event *e)
{
	g->times++;
	if (g->count == GIVEN_KEPT_MAX)
		return 0;
	int r = kept_set(&g->starts[g->count], e);
	if (r == 0)
		g->count++;
	return r;
}

/* A number that comes twice is of the newest. */
static int add_end(struct given_list *g, const struct event *e)
{
	uint64_t exec = event_u64(e, FIELD_exec, 0);

	for (size_t i = g->count; i-- > 0;)
		if (event_u64(&g->starts[i].event, FIELD_exec, 0) == exec)
			return g->ends[i].event.kind ? 0 : kept_set(&g->ends[i], e);
	return 0;
}

int given_add(struct given_list *g, const struct event *e)
{
	if (e->kind == EVENT_exec_start)
		return add_start(g, e);
	return e->kind == EVENT_exec_end ? add_end(g, e) : 0;
}

void given_write(const struct given_list *g, size_t i, const struct pen *pen)
{
	static const struct part before[] = {
		{"", FIELD_exec, SHOW_VALUE, ": "}, {"", FIELD_argv}, {NULL}};
	static const struct part after[] = {{"", FIELD_NONE, SHOW_VERDICT},
					    {", after ", FIELD_usage_wall_ns, SHOW_DURATION},
					    {NULL}};
	const struct event *end = &g->ends[i].event;

	for (const struct part *part = before; part->before; part++)
		line_write_part(pen, &g->starts[i].event, part);
	fputs("  ", pen->out);
	if (!end->kind)
		fputs("no end of it is in the record", pen->out);
	for (const struct part *part = after; end->kind && part->before; part++)
		line_write_part(pen, end, part);
}
