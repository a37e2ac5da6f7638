/*
 * Draws with ncurses.
 */
#include "paint.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <wchar.h>

#define PAIR_OF_STYLE 1	 /* first number of a pair of colours, by style */
#define PAIR_OF_COLOR 20 /* and by a terminal's colour */

static const short style_colors[STYLE_COUNT] = {
	[STYLE_PLAIN] = -1,	     [STYLE_DIM] = -1,
	[STYLE_BOLD] = -1,	     [STYLE_PROCESS] = COLOR_GREEN,
	[STYLE_FILE] = COLOR_BLUE,   [STYLE_NET] = COLOR_CYAN,
	[STYLE_DNS] = COLOR_MAGENTA, [STYLE_POLICY] = COLOR_YELLOW,
	[STYLE_LOUD] = COLOR_RED,
};

static int cursor_y, cursor_x;

bool paint_has_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static void make_colors(void)
{
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	for (int i = 0; i < STYLE_COUNT; i++)
		init_pair((short)(PAIR_OF_STYLE + i), style_colors[i], -1);
	for (short i = 0; i < 8; i++)
		init_pair((short)(PAIR_OF_COLOR + i), i, -1);
}

int paint_open(FILE *in, FILE *out)
{
	SCREEN *screen;

	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, out, in);
	if (!screen)
		return -ENOTTY;
	set_term(screen);
	set_escdelay(50);
	make_colors();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	return 0;
}

void paint_close(void)
{
	SCREEN *screen = set_term(NULL);

	set_term(screen);
	endwin();
	delscreen(screen);
}

struct area paint_size(void)
{
	return (struct area){.height = LINES, .width = COLS};
}

void paint_begin(void)
{
	erase();
	cursor_x = -1;
}

void paint_end(void)
{
	curs_set(cursor_x >= 0);
	if (cursor_x >= 0)
		move(cursor_y, cursor_x);
	refresh();
}

void paint_cursor(int y, int x)
{
	cursor_y = y;
	cursor_x = x;
}

static void set_style(enum style style, bool reverse)
{
	attr_t attributes = reverse ? A_REVERSE : A_NORMAL;

	if (style == STYLE_DIM)
		attributes |= A_DIM;
	if (style == STYLE_BOLD || style == STYLE_LOUD)
		attributes |= A_BOLD;
	attr_set(attributes, has_colors() ? (short)(PAIR_OF_STYLE + style) : 0, NULL);
}

/* What stands for @code, and how many columns it takes. */
static int width_of(int32_t *code)
{
	int width;

	if (*code < 0 || !printable_code(*code) || (*code > 126 && !paint_has_utf8())) {
		*code = '?';
		return 1;
	}
	width = wcwidth((wchar_t)*code);
	if (width <= 0) {
		*code = '?';
		return 1;
	}
	return width;
}

static void put(int y, int x, int32_t code)
{
	wchar_t wide[2] = {(wchar_t)code, 0};

	mvaddnwstr(y, x, wide, 1);
}

/* Past "\033[...m", whose style it sets. False: that is not what stands at *cursor. */
static bool take_style(struct bytes text, size_t *cursor, enum style style, bool reverse)
{
	const char *data = text.data, *end;
	enum style inner;

	if (data[*cursor] != '\033' || *cursor + 2 >= text.size || data[*cursor + 1] != '[')
		return false;
	end = memchr(data + *cursor, 'm', text.size - *cursor);
	if (!end)
		return false;
	inner = style_of_code(data + *cursor + 2, (size_t)(end - data) - *cursor - 2);
	set_style(inner == STYLE_PLAIN ? style : inner, reverse);
	*cursor = (size_t)(end - data) + 1;
	return true;
}

int paint_text(int y, int x, int width, enum style style, bool reverse, bool fill,
	       struct bytes text)
{
	int used = 0;

	set_style(style, reverse);
	for (size_t cursor = 0; cursor < text.size;) {
		int32_t code;
		int columns;

		if (take_style(text, &cursor, style, reverse))
			continue;
		code = utf8_next(text, &cursor);
		columns = width_of(&code);
		if (used + columns > width)
			break;
		put(y, x + used, code);
		used += columns;
	}
	set_style(style, reverse);
	for (int i = used; fill && i < width; i++)
		put(y, x + i, ' ');
	attr_set(A_NORMAL, 0, NULL);
	return used;
}

int paint_string(int y, int x, int width, enum style style, bool reverse, bool fill,
		 const char *text)
{
	return paint_text(y, x, width, style, reverse, fill, bytes_of(text));
}

void paint_cell(int y, int x, int32_t code, int color, bool bold, bool reverse)
{
	attr_t attributes = (bold ? A_BOLD : A_NORMAL) | (reverse ? A_REVERSE : A_NORMAL);
	int columns = width_of(&code);

	attr_set(attributes, has_colors() && color >= 0 ? (short)(PAIR_OF_COLOR + color) : 0, NULL);
	if (columns == 1 || x + columns <= COLS)
		put(y, x, code);
	attr_set(A_NORMAL, 0, NULL);
}

size_t paint_fitting(struct bytes text, int width)
{
	size_t cursor = 0, fitting = 0;
	int used = 0;

	while (cursor < text.size) {
		int32_t code = utf8_next(text, &cursor);

		used += width_of(&code);
		if (used > width && fitting)
			break;
		fitting = cursor;
	}
	return fitting;
}
