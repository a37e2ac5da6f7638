/*
 * How long each step of a session took: marks in the order in which they were reached. A session
 * whose daemon was not asked for them has none, and a mark costs it a comparison.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PHASES_MAX 32
#define PHASES_TEXT 1024

struct phases {
	uint64_t begun_ns;
	size_t count;
	struct {
		const char *name; /* static */
		uint64_t at_ns;
	} marks[PHASES_MAX];
};

/* Begin to measure now. NULL when out of memory: then nothing is measured. */
struct phases *phases_new(void);

void phases_add(struct phases *p, const char *name);

/* @name, a static text, is done. @p may be NULL. */
static inline void phases_mark(struct phases *p, const char *name)
{
	if (p)
		phases_add(p, name);
}

/* "name 120, name 30, total 150": microseconds of each step, and of all. */
void phases_write(const struct phases *p, char ret_text[PHASES_TEXT]);
