/*
 * A terminal of libvterm that is fed with the record's output. Whatever it holds, only the
 * characters and colours of its cells are taken from it, and it answers to nobody.
 *
 * Going back begins anew, some way before, so that no jump costs more than KEPT_BYTES of output.
 */
#include "picture.h"

#include "survey.h"

#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#define ROWS 24
#define COLUMNS 80
#define ROWS_MAX 300
#define COLUMNS_MAX 500
#define KEPT_BYTES (512u << 10)
#define FAR_RECORDS 4096 /* more than so many ahead: begin anew near the end */

struct picture {
	VTerm *terminal;
	VTermScreen *screen;
	int rows, columns;
	uint64_t seq;  /* last record that was fed */
	uint64_t exec; /* command whose terminal it is */
	bool left_out;
};

static void begin_anew(struct picture *p)
{
	vterm_set_size(p->terminal, ROWS, COLUMNS);
	p->rows = ROWS;
	p->columns = COLUMNS;
	vterm_screen_reset(p->screen, 1);
	p->seq = 0;
	p->left_out = false;
}

struct picture *picture_new(void)
{
	struct picture *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->terminal = vterm_new(ROWS, COLUMNS);
	if (!p->terminal) {
		free(p);
		return NULL;
	}
	vterm_set_utf8(p->terminal, 1);
	p->screen = vterm_obtain_screen(p->terminal);
	vterm_screen_enable_altscreen(p->screen, 1);
	begin_anew(p);
	return p;
}

void picture_free(struct picture *p)
{
	if (!p)
		return;
	vterm_free(p->terminal);
	free(p);
}

static int within(uint64_t number, int most)
{
	return number < 1 ? 1 : number > (uint64_t)most ? most : (int)number;
}

static void resize(struct picture *p, const struct event *e)
{
	p->rows = within(event_u64(e, FIELD_rows, ROWS), ROWS_MAX);
	p->columns = within(event_u64(e, FIELD_columns, COLUMNS), COLUMNS_MAX);
	vterm_set_size(p->terminal, p->rows, p->columns);
}

/* A terminal's own output has its carriage returns; that of a pipe gets them. */
static void feed(struct picture *p, const struct event *e)
{
	struct bytes data = event_bytes(e, FIELD_data), stream = event_bytes(e, FIELD_stream);
	bool is_terminal = stream.size == 3 && !memcmp(stream.data, "tty", 3);
	const char *at = data.data, *end = at + data.size;

	while (at && at < end) {
		const char *line = is_terminal ? NULL : memchr(at, '\n', (size_t)(end - at));

		vterm_input_write(p->terminal, at, (size_t)((line ? line : end) - at));
		if (line)
			vterm_input_write(p->terminal, "\r\n", 2);
		at = line ? line + 1 : end;
	}
}

static void take(struct picture *p, struct pages *pages, uint64_t seq)
{
	struct event e;

	p->seq = seq;
	if (!pages_get(pages, seq, &e, NULL) || event_u64(&e, FIELD_exec, 0) != p->exec)
		return;
	if (event_get(&e, FIELD_rows))
		resize(p, &e);
	if (e.kind == EVENT_output)
		feed(p, &e);
}

/* Where to begin for a picture at @seq: KEPT_BYTES of output before it. */
static uint64_t start_for(struct picture *p, struct pages *pages, const struct numbers *streams,
			  uint64_t seq)
{
	uint64_t at = seq + 1, before, size = 0;
	struct event e;

	while (size < KEPT_BYTES && (before = numbers_before(streams, at))) {
		at = before;
		if (pages_get(pages, at, &e, NULL))
			size += event_bytes(&e, FIELD_data).size + 512;
	}
	p->left_out = numbers_before(streams, at) != 0;
	return at - 1;
}

static bool is_far(const struct numbers *streams, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < FAR_RECORDS; i++) {
		from = numbers_next(streams, from);
		if (!from || from > to)
			return false;
	}
	return true;
}

/* Whose terminal is shown at @seq: that of the command whose stream is the last one there. */
static uint64_t exec_at(struct pages *pages, const struct numbers *streams, uint64_t seq)
{
	uint64_t last = numbers_before(streams, seq + 1);
	struct event e;

	return last && pages_get(pages, last, &e, NULL) ? event_u64(&e, FIELD_exec, 0) : 0;
}

bool picture_step(struct picture *p, struct pages *pages, const struct numbers *streams,
		  uint64_t seq, uint64_t budget_ns)
{
	uint64_t end = monotonic_ns() + budget_ns, next, exec = exec_at(pages, streams, seq);

	if (p->seq > seq || p->exec != exec || is_far(streams, p->seq, seq)) {
		begin_anew(p);
		p->exec = exec;
		p->seq = start_for(p, pages, streams, seq);
	}
	while ((next = numbers_next(streams, p->seq)) && next <= seq) {
		take(p, pages, next);
		if (monotonic_ns() >= end)
			return true;
	}
	return false;
}

/* The colour of 8 that comes nearest; -1: the terminal's own. */
static int color_of(const struct picture *p, VTermColor color)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(&color) || VTERM_COLOR_IS_DEFAULT_BG(&color))
		return -1;
	if (VTERM_COLOR_IS_INDEXED(&color) && color.indexed.idx < 16)
		return color.indexed.idx % 8;
	vterm_screen_convert_color_to_rgb(p->screen, &color);
	return (color.rgb.red > 127) + 2 * (color.rgb.green > 127) + 4 * (color.rgb.blue > 127);
}

static bool row_is_blank(const struct picture *p, int row)
{
	VTermScreenCell cell;

	for (int x = 0; x < p->columns; x++)
		if (vterm_screen_get_cell(p->screen, (VTermPos){row, x}, &cell) &&
		    cell.chars[0] > ' ')
			return false;
	return true;
}

/* The first row that is shown: the last ones that hold anything have to be seen. */
static int first_row(const struct picture *p, int height)
{
	int last = p->rows - 1;
	VTermPos cursor;

	vterm_state_get_cursorpos(vterm_obtain_state(p->terminal), &cursor);
	while (last > cursor.row && row_is_blank(p, last))
		last--;
	return last >= height ? last - height + 1 : 0;
}

void picture_draw(const struct picture *p, struct area area)
{
	int first = first_row(p, area.height);

	for (int y = 0; y < area.height && first + y < p->rows; y++) {
		for (int x = 0; x < area.width && x < p->columns;) {
			VTermScreenCell cell = {0};
			int width;

			if (!vterm_screen_get_cell(p->screen, (VTermPos){first + y, x}, &cell))
				break;
			width = cell.width > 1 ? cell.width : 1;
			/* Half a wide character has no place. */
			if (cell.chars[0] && cell.chars[0] != UINT32_MAX && x + width <= area.width)
				paint_cell(area.y + y, area.x + x, (int32_t)cell.chars[0],
					   color_of(p, cell.fg), cell.attrs.bold,
					   cell.attrs.reverse);
			x += width;
		}
	}
}

bool picture_is_partial(const struct picture *p)
{
	return p->left_out;
}
