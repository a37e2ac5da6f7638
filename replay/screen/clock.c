/*
 * Time: where in the session the person is, and playing it.
 */
#include "state.h"

#define IDLE_MOST_NS (2 * NS_PER_S) /* a pause that is longer is played as one of so long */

uint64_t elapsed_of(struct screen *s, uint64_t seq)
{
	struct event e;

	for (; seq; seq--) {
		if (pages_get(s->pages, seq, &e, NULL))
			return origin_elapsed(&s->origin, &e);
		/* Where much cannot be read, the record behind it is a page away at most. */
		if (seq % 128 == 1)
			break;
	}
	return 0;
}

void time_go(struct screen *s, uint64_t elapsed_ns)
{
	uint64_t low = 1, high = s->last;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (elapsed_of(s, middle) <= elapsed_ns)
			low = middle;
		else
			high = middle - 1;
	}
	rows_go(s, low);
}

int time_play(struct screen *s)
{
	s->is_playing = !s->is_playing;
	if (s->is_playing && !rows_next(s, s->cursor) && !s->filter.looked)
		s->cursor = rows_next(s, 0);
	s->clock_ns = elapsed_of(s, s->cursor);
	s->ticked_ns = monotonic_ns();
	return 0;
}

void time_tick(struct screen *s)
{
	uint64_t now = monotonic_ns(), next;

	if (!s->is_playing)
		return;
	s->clock_ns += (uint64_t)((double)(now - s->ticked_ns) * s->speed);
	s->ticked_ns = now;
	while ((next = rows_next(s, s->cursor))) {
		uint64_t at = elapsed_of(s, next);

		if (at > s->clock_ns) {
			if (at - s->clock_ns > IDLE_MOST_NS)
				s->clock_ns = at - IDLE_MOST_NS;
			return;
		}
		s->cursor = next;
		if (monotonic_ns() - now > NS_PER_S / 20)
			return;
	}
	/* A session that still runs may have more to tell. */
	if (s->survey.has_end) {
		s->is_playing = false;
		say(s, false, "the end");
	}
}
