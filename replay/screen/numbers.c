/*
 * Bits in words.
 */
#include "numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64
#define NUMBERS_MAX (UINT64_C(1) << 36) /* a record with a bent number must not take all memory */

int numbers_add(struct numbers *set, uint64_t number)
{
	size_t word = number / WORD_BITS, room = set->room ? set->room : 1024;
	uint64_t bit = UINT64_C(1) << number % WORD_BITS, *larger;

	if (number >= NUMBERS_MAX)
		return -ENOMEM;
	while (room <= word)
		room *= 2;
	if (room > set->room) {
		larger = reallocarray(set->words, room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		memset(larger + set->room, 0, (room - set->room) * sizeof(*larger));
		set->words = larger;
		set->room = room;
	}
	set->count += !(set->words[word] & bit);
	set->words[word] |= bit;
	return 0;
}

bool numbers_has(const struct numbers *set, uint64_t number)
{
	size_t word = number / WORD_BITS;

	return word < set->room && (set->words[word] >> number % WORD_BITS & 1);
}

uint64_t numbers_next(const struct numbers *set, uint64_t number)
{
	size_t word = ++number / WORD_BITS;
	uint64_t bits;

	if (word >= set->room)
		return 0;
	bits = set->words[word] & ~UINT64_C(0) << number % WORD_BITS;
	while (!bits && ++word < set->room)
		bits = set->words[word];
	return bits ? word * WORD_BITS + (uint64_t)__builtin_ctzll(bits) : 0;
}

uint64_t numbers_before(const struct numbers *set, uint64_t number)
{
	size_t word = number / WORD_BITS;
	uint64_t bits;

	if (!set->room || !number)
		return 0;
	if (word >= set->room) {
		word = set->room - 1;
		bits = set->words[word];
	} else {
		bits = set->words[word] & ((UINT64_C(1) << number % WORD_BITS) - 1);
	}
	while (!bits && word)
		bits = set->words[--word];
	return bits ? word * WORD_BITS + WORD_BITS - 1 - (uint64_t)__builtin_clzll(bits) : 0;
}

void numbers_clear(struct numbers *set)
{
	free(set->words);
	*set = (struct numbers){0};
}
