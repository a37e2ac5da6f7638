/*
 * The only way to the terminal: what is drawn goes through here, and is looked at once more, so
 * that nothing that a record holds can do anything but stand in its place.
 */
#pragma once

#include "../line.h"

#include <stdbool.h>
#include <stdio.h>

struct area {
	int y, x, height, width;
};

/* Take the terminal. 0, or -ENOTTY: it is none that can be drawn on. */
int paint_open(FILE *in, FILE *out);
void paint_close(void);

/* True where the terminal speaks UTF-8. */
bool paint_has_utf8(void);

struct area paint_size(void);
void paint_begin(void); /* an empty picture */
void paint_end(void);	/* to the terminal */

/*
 * Write @text from column @x of line @y on, @width columns at most, and fill them up if @fill. What
 * pen_style wrote into it is its style, beside @style. Returns the columns used.
 */
int paint_text(int y, int x, int width, enum style style, bool reverse, bool fill,
	       struct bytes text);
int paint_string(int y, int x, int width, enum style style, bool reverse, bool fill,
		 const char *text);

/* One character of a terminal's picture, with the colour (0 to 7, -1: none) that it had there. */
void paint_cell(int y, int x, int32_t code, int color, bool bold, bool reverse);

/* How many bytes of @text fit into @width columns: one character at least. */
size_t paint_fitting(struct bytes text, int width);

/* Where the terminal's own cursor stands; x < 0 hides it. */
void paint_cursor(int y, int x);
