/* What making secrets and looking for them share. */
#pragma once

#include "letters.h"
#include "literals.h"
#include "reading.h"
#include "secrets.h"

#define NAME_MOST 64

struct secret {
	char name[NAME_MOST + 1];
	uint32_t tag;
};

#define TAIL_MOST 1024 /* as long as the longest literal */

/* The last letters (or bytes) of a reading, and where they stand in it. */
struct tail {
	uint8_t bytes[TAIL_MOST];
	uint32_t places[TAIL_MOST];
	size_t first; /* what is before it is not in use */
};

/* All of it is wiped at the end. */
struct secrets {
	uint8_t *vault; /* the key, then the literals */
	size_t vault_size, used;
	struct secret *items;
	size_t count;
	struct letters letters;
	struct literals *words; /* looked for among the letters of a text; NULL: none */
	struct literals *signs; /* of too few letters: looked for as they are; NULL: none */

	/* For the text in hand. */
	struct reading shown, drawn;
	uint8_t *room; /* its letters */
	size_t room_size;
	struct spans hits;
	struct tail tail;
};
