/*
 * The letters of a text: its bytes in lower case, without those that shells, encoders, terminals
 * and name servers put between the bytes of a word: control characters (line breaks, NUL,
 * backspace), blanks, quotes, backslashes and dots. A secret that is wrapped, quoted, spread over
 * arguments or over the labels of a host name has the same letters as the secret itself.
 */
#pragma once

#include "../record/event.h"

struct letters {
	uint8_t of[256]; /* 0: no letter */
	uint8_t packed[256]
		      [8]; /* by which of eight bytes are no letters: the numbers of the others */
	uint8_t packed_size[256]; /* so many others */
};

void letters_init(struct letters *l);

/* So much more than the letters is written to. */
#define LETTERS_SLACK 16
/*
 * Write the letters of @text to @out, which has room for all of it and LETTERS_SLACK. Returns how
 * many there are.
 */
size_t letters_take(const struct letters *l, struct bytes text, uint8_t *out);
/*
 * Where letter number @letter of @text stands, if number *at_letter stands at or behind *at: looks
 * on from there, and moves both to what it found.
 */
size_t letters_place(const struct letters *l, struct bytes text, size_t letter, size_t *at_letter,
		     size_t *at);
