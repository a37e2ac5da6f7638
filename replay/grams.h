/*
 * What a stretch of a record can hold: which kinds and fields there are in it, and which rows of
 * three bytes, by hash. It says for certain that something is not there, and else that it may be.
 * Nothing of a text can be got back from it.
 */
#pragma once

#include "../supervisor/record/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAMS_BITS 32768
#define GRAMS_FULL (GRAMS_BITS / 4) /* more, and too much seems to be there */
#define GRAMS_FIELD_BITS 512
#define GRAMS_RECORDS 4096

/* Of one machine: nothing of it is swapped, and it is made anew elsewhere. */
struct grams {
	uint64_t kinds;
	uint64_t fields[GRAMS_FIELD_BITS / 64];
	uint64_t bits[GRAMS_BITS / 64];
};

/* A stretch that is being made. */
struct stretch {
	struct grams grams;
	uint64_t first_seq, last_seq;
	uint64_t from_ns, to_ns; /* wall clocks: the least and the most */
	size_t records, set;	 /* set: bits of .grams.bits */
};

/* It spans all numbers from @first_seq on, whether their records are whole or not. */
void stretch_begin(struct stretch *s, uint64_t first_seq);
void stretch_add(struct stretch *s, const struct event *e);
/* True if the next record should begin another one. */
bool stretch_is_full(const struct stretch *s);

bool grams_has_kind(const struct grams *g, enum event_kind kind);
bool grams_has_field(const struct grams *g, uint16_t field);
/* True unless the three bytes, in any case of ASCII letters, are for certain in no text. */
bool grams_has_row(const struct grams *g, const uint8_t row[3]);
