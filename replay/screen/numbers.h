/*
 * A set of record numbers: a bit for each, so that ten million of them take little more than a
 * megabyte, and the next one is found without a list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbers {
	uint64_t *words; /* owned; all zero where nothing was added */
	size_t room;	 /* words */
	uint64_t count;
};

/* 0 or -ENOMEM. */
int numbers_add(struct numbers *set, uint64_t number);
bool numbers_has(const struct numbers *set, uint64_t number);

/* The least number above @number, and the greatest below it; 0: there is none. */
uint64_t numbers_next(const struct numbers *set, uint64_t number);
uint64_t numbers_before(const struct numbers *set, uint64_t number);

void numbers_clear(struct numbers *set); /* and gives the memory back */
