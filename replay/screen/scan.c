/*
 * Matches record after record.
 */
#include "scan.h"

#include "survey.h"

#include "../../supervisor/record/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_A_LOOK 64

bool scan_is_open(const struct scan *s)
{
	return s->query != NULL;
}

bool scan_is_through(const struct scan *s, uint64_t last)
{
	return s->part == SCAN_FOLLOW && s->ahead >= last;
}

void scan_close(struct scan *s)
{
	query_free(s->query);
	free(s->text);
	reader_free(s->reader);
	numbers_clear(&s->found);
	*s = (struct scan){0};
}

int scan_open(struct scan *s, int dir_fd, const char *text, uint64_t from,
	      struct query_error *ret_error)
{
	struct scan fresh = {.from = from};
	int r = query_parse(text, &fresh.query, ret_error);

	if (r == 0) {
		fresh.text = strdup(text);
		r = fresh.text ? reader_open(dir_fd, &fresh.reader) : -ENOMEM;
	}
	if (r == 0 && from > 1)
		r = reader_seek(fresh.reader, from);
	if (r < 0) {
		scan_close(&fresh);
		return r;
	}
	fresh.part = from > 1 ? SCAN_AHEAD : SCAN_FOLLOW;
	scan_close(s);
	*s = fresh;
	return 0;
}

/* The part is done: begin the next one. False: there is none, or not now. */
static bool next_part(struct scan *s)
{
	switch (s->part) {
	case SCAN_AHEAD:
		s->part = SCAN_BEHIND;
		return reader_seek(s->reader, 1) == 0;
	case SCAN_BEHIND:
		s->part = SCAN_FOLLOW;
		return reader_seek(s->reader, s->ahead + 1) == 0;
	case SCAN_FOLLOW:
		break;
	}
	return false;
}

int scan_step(struct scan *s, const struct origin *origin, uint64_t budget_ns)
{
	uint64_t end = monotonic_ns() + budget_ns;
	struct event e;
	int r = 0;

	for (unsigned int i = 1; r == 0; i++) {
		enum reader_state state = reader_next(s->reader, &e);

		if (state == READER_STOPPED && reader_skip_damage(s->reader))
			continue;
		if (state != READER_RECORD || (s->part == SCAN_BEHIND && e.seq >= s->from)) {
			if (next_part(s))
				continue;
			return 0;
		}
		s->looked++;
		if (s->part != SCAN_BEHIND)
			s->ahead = e.seq;
		/* A hole is shown whatever the filter says. */
		if (e.kind == EVENT_gap || query_match(s->query, origin, &e))
			r = numbers_add(&s->found, e.seq);
		if (r == 0 && i % RECORDS_A_LOOK == 0 && monotonic_ns() >= end)
			return 1;
	}
	return r;
}
