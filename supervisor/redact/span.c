/* Spans lie in one array that only grows. */
#include "span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void spans_free(struct spans *spans)
{
	free(spans->items);
	*spans = (struct spans){0};
}

int spans_add(struct spans *spans, struct span span)
{
	struct span *larger;

	if (!spans->items || spans->count == spans->room) {
		size_t room = spans->room ? 2 * spans->room : 16;

		larger = reallocarray(spans->items, room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		spans->items = larger;
		spans->room = room;
	}
	spans->items[spans->count++] = span;
	return 0;
}

int spans_merge(struct spans *spans, struct span span)
{
	size_t first = spans->count, end;
	int r;

	while (first && spans->items[first - 1].end > span.start)
		first--;
	for (end = first; end < spans->count && spans->items[end].start < span.end; end++)
		;
	if (first == end) {
		r = spans_add(spans, span);
		if (r < 0)
			return r;
		memmove(spans->items + first + 1, spans->items + first,
			(spans->count - 1 - first) * sizeof(span));
		spans->items[first] = span;
		return 0;
	}

	struct span *into = &spans->items[first];
	size_t last_end = spans->items[end - 1].end;

	if (span.start < into->start)
		into->start = span.start;
	into->end = last_end > span.end ? last_end : span.end;
	memmove(into + 1, spans->items + end, (spans->count - end) * sizeof(span));
	spans->count -= end - first - 1;
	return 0;
}

const struct span *spans_over(const struct spans *spans, size_t at)
{
	for (size_t i = 0; i < spans->count; i++) {
		if (spans->items[i].start < at && spans->items[i].end > at)
			return &spans->items[i];
	}
	return NULL;
}
