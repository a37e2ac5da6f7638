/*
 * A text as somebody reads it before a terminal: without the sequences that colour it and move the
 * cursor, and drawn over where the cursor went back.
 */
#pragma once

#include "../record/event.h"

/* Bytes of a text, each with its place there; what is read as it is written has no places. */
struct reading {
	struct bytes bytes;
	const uint32_t *places; /* NULL: each byte stands at its own number */
	uint8_t *room;		/* owned, wiped when it is freed; likewise room_places */
	uint32_t *room_places;
	size_t room_size;
};

void reading_free(struct reading *r);

/* What a terminal would make of @text differs from it; *ret_is_drawn: the cursor goes back too. */
bool reading_differs(struct bytes text, bool *ret_is_drawn);

/* Without sequences. 0 or -ENOMEM. */
int reading_show(struct reading *r, struct bytes text);
/*
 * As the lines look in the end: backspace, carriage return, and what moves the cursor in its line,
 * erases, inserts or deletes there. What moves it to another line begins a line. 0 or -ENOMEM.
 */
int reading_draw(struct reading *r, struct bytes text);

/* The part of the text that bytes @start to @end of the reading come from. */
void reading_place(const struct reading *r, size_t start, size_t end, size_t *ret_start,
		   size_t *ret_end);
