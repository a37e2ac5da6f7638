/* Marks in the life of one session. See phases.h. */
#include "phases.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct phases *phases_new(void)
{
	struct phases *p = calloc(1, sizeof(*p));

	if (p)
		p->begun_ns = now_ns();
	return p;
}

void phases_add(struct phases *p, const char *name)
{
	if (p->count == PHASES_MAX)
		return;
	p->marks[p->count].name = name;
	p->marks[p->count].at_ns = now_ns();
	p->count++;
}

void phases_write(const struct phases *p, char ret_text[PHASES_TEXT])
{
	uint64_t before_ns = p->begun_ns;
	size_t at = 0;

	for (size_t i = 0; i < p->count && at < PHASES_TEXT; i++) {
		at += (size_t)snprintf(ret_text + at, PHASES_TEXT - at, "%s %llu, ",
				       p->marks[i].name,
				       (unsigned long long)(p->marks[i].at_ns - before_ns) / 1000);
		before_ns = p->marks[i].at_ns;
	}
	if (at < PHASES_TEXT)
		snprintf(ret_text + at, PHASES_TEXT - at, "total %llu",
			 (unsigned long long)(before_ns - p->begun_ns) / 1000);
}
