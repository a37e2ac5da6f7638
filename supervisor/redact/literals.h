/*
 * Exact search for many texts at once. Every text that is looked for has at least LITERAL_LEAST
 * bytes.
 */
#pragma once

#include "../record/event.h"

#define LITERAL_LEAST 8

struct literal {
	uint32_t at, size;    /* in the vault */
	uint32_t source_size; /* of what its bytes are the letters of */
	uint16_t secret;
	uint8_t form;
	bool is_piece;		      /* of a longer text */
	bool open_before, open_after; /* the neighbour on that side holds bits of it too */
	uint32_t next;		      /* of those with the same end of their first window */
	uint32_t next_first;	      /* of those with the same first byte */
};

struct literals;

/* A set with room for @most; their texts are in @vault, which is borrowed, behind its first byte. 0
 * or -ENOMEM. */
int literals_new(const uint8_t *vault, size_t most, struct literals **ret_literals);
void literals_free(struct literals *l);

/* Add one whose text is in the vault already. False if that text was there before. */
bool literals_add(struct literals *l, struct literal literal);
size_t literals_count(const struct literals *l);
/* The longest text. */
size_t literals_longest(const struct literals *l);

/*
 * Call @take for the longest literal at each place of @text, in their order. Returns 0 or the first
 * error of @take.
 */
typedef int literal_take(void *context, const struct literal *literal, size_t at);
int literals_find(const struct literals *l, struct bytes text, literal_take *take, void *context);

/*
 * The first literal that begins at or behind *at and is not over at the end of @text, although all
 * of @text from there on belongs to it; NULL if there is none. *at is then where.
 */
const struct literal *literals_begun(const struct literals *l, struct bytes text, size_t *at);
