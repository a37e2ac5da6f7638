/*
 * Counts records by time.
 */
#include "lanes.h"

#define FIRST_PART_NS 1000000

static void join_pairs(uint64_t *counts)
{
	for (size_t i = 0; i < LANES_PARTS / 2; i++)
		counts[i] = counts[2 * i] + counts[2 * i + 1];
	for (size_t i = LANES_PARTS / 2; i < LANES_PARTS; i++)
		counts[i] = 0;
}

void lanes_add(struct lanes *l, uint64_t elapsed_ns, const struct event *e)
{
	size_t part;

	if (!l->part_ns)
		l->part_ns = FIRST_PART_NS;
	while (elapsed_ns / l->part_ns >= LANES_PARTS) {
		for (size_t i = 0; i < EVENT_CLASS_COUNT; i++)
			join_pairs(l->counts[i]);
		join_pairs(l->gaps);
		join_pairs(l->limits);
		l->part_ns *= 2;
		l->used = (l->used + 1) / 2;
	}
	part = elapsed_ns / l->part_ns;
	if (part >= l->used)
		l->used = part + 1;
	if (e->kind == EVENT_gap)
		l->gaps[part]++;
	if (e->kind == EVENT_limit)
		l->limits[part]++;
	if (e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT)
		l->counts[kind_table[e->kind].class][part]++;
}
