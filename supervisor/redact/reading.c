/*
 * Sequences are those of ECMA-48 and what xterm makes of them. The line is cells that name a byte
 * of the text; what stands in it when it ends is what was read.
 */
#include "reading.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define ESC 0x1b
#define COLUMNS_MOST 4096 /* a longer line goes on in the next */

void reading_free(struct reading *r)
{
	if (r->room)
		OPENSSL_cleanse(r->room, r->room_size);
	free(r->room);
	free(r->room_places);
	*r = (struct reading){0};
}

static int make_room(struct reading *r, size_t size)
{
	if (r->room_size < size) {
		reading_free(r);
		r->room = malloc(size);
		r->room_places = calloc(size, sizeof(*r->room_places));
		r->room_size = size;
		if (!r->room || !r->room_places) {
			free(r->room);
			free(r->room_places);
			*r = (struct reading){0};
			return -ENOMEM;
		}
	}
	r->bytes = (struct bytes){r->room, 0};
	r->places = r->room_places;
	return 0;
}

static void put(struct reading *r, struct bytes text, size_t at)
{
	r->room[r->bytes.size] = ((const uint8_t *)text.data)[at];
	r->room_places[r->bytes.size++] = (uint32_t)at;
}

/* The one control character that begins a sequence by itself, in UTF-8. */
static bool has_csi(struct bytes text)
{
	const uint8_t *at = text.data, *end = at + text.size;

	while (at < end && (at = memchr(at, 0x9b, (size_t)(end - at)))) {
		if (at > (const uint8_t *)text.data && at[-1] == 0xc2)
			return true;
		at++;
	}
	return false;
}

bool reading_differs(struct bytes text, bool *ret_is_drawn)
{
	const char *at = text.data, *end = at + text.size;
	bool has_sequence = text.size && (memchr(at, ESC, text.size) || has_csi(text));

	*ret_is_drawn = text.size && (has_sequence || memchr(at, '\b', text.size));
	/* A carriage return before a line feed draws over nothing. */
	while (!*ret_is_drawn && at < end && (at = memchr(at, '\r', (size_t)(end - at)))) {
		at++;
		*ret_is_drawn = at < end && *at != '\n';
	}
	return has_sequence || *ret_is_drawn;
}

void reading_place(const struct reading *r, size_t start, size_t end, size_t *ret_start,
		   size_t *ret_end)
{
	if (!r->places) {
		*ret_start = start;
		*ret_end = end;
		return;
	}

	size_t least = SIZE_MAX, most = 0;

	for (size_t i = start; i < end; i++) {
		least = r->places[i] < least ? r->places[i] : least;
		most = r->places[i] > most ? r->places[i] : most;
	}
	*ret_start = least;
	*ret_end = most + 1;
}

/* ---- sequences ---- */

struct sequence {
	size_t size;	/* 0: none begins here */
	uint8_t final;	/* of a control sequence that moves or erases; else 0 */
	unsigned int n; /* its first parameter; 0 if it has none */
};

/* ... up to BEL or ESC \; what is not over goes on to the end of the text. */
static size_t size_of_string(const uint8_t *at, size_t left, size_t head)
{
	for (size_t i = head; i < left; i++) {
		if (at[i] == 0x07)
			return i + 1;
		if (at[i] == ESC && i + 1 < left && at[i + 1] == '\\')
			return i + 2;
	}
	return left;
}

static struct sequence control_sequence(const uint8_t *at, size_t left, size_t head)
{
	struct sequence s = {.size = head};
	bool is_first = true;

	for (; s.size < left && at[s.size] >= 0x20 && at[s.size] <= 0x3f; s.size++) {
		uint8_t c = at[s.size];

		is_first &= c >= '0' && c <= '9';
		if (is_first && s.n < COLUMNS_MOST)
			s.n = s.n * 10 + (c - '0');
	}
	if (s.size < left)
		s.final = at[s.size++];
	return s;
}

static struct sequence sequence_at(struct bytes text, size_t start)
{
	const uint8_t *at = (const uint8_t *)text.data + start;
	size_t left = text.size - start;
	struct sequence s = {0};

	if (left > 1 && at[0] == 0xc2 && at[1] == 0x9b)
		return control_sequence(at, left, 2);
	if (at[0] != ESC)
		return s;
	if (left == 1) {
		s.size = 1;
		return s;
	}
	if (at[1] == '[')
		return control_sequence(at, left, 2);
	if (strchr("]PX^_", at[1]) && at[1]) {
		s.size = size_of_string(at, left, 2);
		return s;
	}
	s.size = 1;
	while (s.size < left && at[s.size] >= 0x20 && at[s.size] <= 0x2f)
		s.size++;
	if (s.size < left && at[s.size] >= 0x30 && at[s.size] <= 0x7e)
		s.size++;
	return s;
}

int reading_show(struct reading *r, struct bytes text)
{
	int error = make_room(r, text.size);

	if (error)
		return error;
	for (size_t at = 0; at < text.size;) {
		struct sequence s = sequence_at(text, at);

		if (!s.size)
			put(r, text, at);
		at += s.size ? s.size : 1;
	}
	return 0;
}

/* ---- drawing ---- */

struct line {
	uint32_t cells[COLUMNS_MOST]; /* place + 1; 0: nothing there */
	size_t width, column;
};

static void end_line(struct reading *r, struct bytes text, struct line *line)
{
	for (size_t i = 0; i < line->width; i++) {
		if (line->cells[i])
			put(r, text, line->cells[i] - 1);
	}
	memset(line->cells, 0, line->width * sizeof(*line->cells));
	line->width = line->column = 0;
}

static void draw(struct reading *r, struct bytes text, struct line *line, size_t at)
{
	if (line->column == COLUMNS_MOST)
		end_line(r, text, line);
	line->cells[line->column++] = (uint32_t)at + 1;
	if (line->column > line->width)
		line->width = line->column;
}

static void erase(struct line *line, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < line->width; i++)
		line->cells[i] = 0;
}

/* Move what stands at the cursor @count to the right; what leaves the line is gone. */
static void insert(struct line *line, size_t count)
{
	size_t at = line->column, width = line->width + count;

	if (at >= line->width)
		return;
	line->width = width < COLUMNS_MOST ? width : COLUMNS_MOST;
	for (size_t i = line->width; i-- > at;)
		line->cells[i] = i >= at + count ? line->cells[i - count] : 0;
}

static void delete (struct line *line, size_t count)
{
	for (size_t i = line->column; i < line->width; i++)
		line->cells[i] = i + count < line->width ? line->cells[i + count] : 0;
}

static void go_to(struct line *line, size_t column)
{
	line->column = column < COLUMNS_MOST ? column : COLUMNS_MOST - 1;
}

static void move(struct reading *r, struct bytes text, struct line *line, const struct sequence *s)
{
	size_t n = s->n ? s->n : 1;

	switch (s->final) {
	case 'C':
		go_to(line, line->column + n);
		break;
	case 'D':
		go_to(line, line->column > n ? line->column - n : 0);
		break;
	case 'G':
	case '`':
		go_to(line, n - 1);
		break;
	case 'K':
		erase(line, s->n ? 0 : line->column, s->n == 1 ? line->column + 1 : line->width);
		break;
	case 'X':
		erase(line, line->column, line->column + n);
		break;
	case '@':
		insert(line, n);
		break;
	case 'P':
		delete (line, n);
		break;
	case 'A':
	case 'B':
	case 'E':
	case 'F':
	case 'H':
	case 'd':
	case 'f':
		end_line(r, text, line);
		break;
	default:
		break;
	}
}

static void draw_byte(struct reading *r, struct bytes text, struct line *line, size_t at)
{
	uint8_t c = ((const uint8_t *)text.data)[at];

	if (c == '\b')
		line->column -= line->column > 0;
	else if (c == '\r')
		line->column = 0;
	else if (c == '\n')
		end_line(r, text, line);
	else if (c >= ' ' && c != 0x7f)
		draw(r, text, line, at);
}

int reading_draw(struct reading *r, struct bytes text)
{
	struct line line;
	int error = make_room(r, text.size);

	if (error)
		return error;
	memset(&line, 0, sizeof(line));
	for (size_t at = 0; at < text.size;) {
		struct sequence s = sequence_at(text, at);

		if (s.size)
			move(r, text, &line, &s);
		else
			draw_byte(r, text, &line, at);
		at += s.size ? s.size : 1;
	}
	end_line(r, text, &line);
	return 0;
}
