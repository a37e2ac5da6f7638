/*
 * Looking for secrets: in each reading of a text (as it is written, and as a terminal shows and
 * draws it) among its letters; what is found there is brought back to the bytes of the text.
 */
#include "secrets_internal.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

static int make_room(struct secrets *s, size_t size)
{
	if (s->room_size >= size)
		return 0;
	if (s->room)
		OPENSSL_cleanse(s->room, s->room_size);
	free(s->room);
	s->room = malloc(size);
	s->room_size = s->room ? size : 0;
	return s->room ? 0 : -ENOMEM;
}

static struct span span_of(const struct secrets *s, const struct literal *l, size_t start,
			   size_t end)
{
	return (struct span){
		.start = start,
		.end = end,
		.rule = l->secret,
		.tag = s->items[l->secret].tag,
		.form = form_names[l->form],
		.source_size = l->form == FORM_RAW ? l->source_size : 0,
		.is_piece = l->is_piece,
	};
}

/* ---- all that is there ---- */

struct search {
	struct secrets *s;
	struct bytes text; /* of the bytes that are searched */
};

/* A digit of base64 or base32, or what fills up the last ones. */
static bool is_digit(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("+/-_=", c));
}

static int take_literal(void *context, const struct literal *l, size_t at)
{
	const struct search *f = context;
	struct spans *hits = &f->s->hits;
	struct span *last = hits->count ? &hits->items[hits->count - 1] : NULL;
	const uint8_t *bytes = f->text.data;
	struct span span = span_of(f->s, l, at, at + l->size);
	bool goes_on;

	if (l->open_before && at > 0 && is_digit(bytes[at - 1]))
		span.start--;
	if (l->open_after && span.end < f->text.size && is_digit(bytes[span.end]))
		span.end++;
	goes_on = last && span.start == last->end && last->is_piece && span.is_piece &&
		  last->rule == span.rule;
	if (!last || (span.start >= last->end && !goes_on))
		return spans_add(hits, span);
	if (span.end > last->end) {
		last->end = span.end;
		last->source_size = 0;
	}
	return 0;
}

static int find(struct secrets *s, const struct literals *l, struct bytes text)
{
	struct search f = {s, text};

	s->hits.count = 0;
	return literals_count(l) ? literals_find(l, text, take_literal, &f) : 0;
}

/* From hits in the bytes of @reading to spans of the text. */
static int place_hits(struct secrets *s, const struct reading *reading, struct spans *spans)
{
	for (size_t i = 0; i < s->hits.count; i++) {
		struct span span = s->hits.items[i];
		int error;

		reading_place(reading, span.start, span.end, &span.start, &span.end);
		if (span.source_size && span.source_size != span.end - span.start)
			span.form = form_names[FORM_SPLIT];
		error = spans_merge(spans, span);
		if (error)
			return error;
	}
	return 0;
}

/* From hits among letters to hits in the bytes that they are the letters of. */
static void place_letters(struct secrets *s, struct bytes bytes)
{
	size_t letter = 0, at = 0;

	for (size_t i = 0; i < s->hits.count; i++) {
		struct span *span = &s->hits.items[i];

		span->start = letters_place(&s->letters, bytes, span->start, &letter, &at);
		span->end = letters_place(&s->letters, bytes, span->end - 1, &letter, &at) + 1;
	}
}

static int find_in(struct secrets *s, const struct reading *reading, struct spans *spans)
{
	struct bytes bytes = reading->bytes, letters;
	int error = find(s, s->signs, bytes);

	if (!error)
		error = place_hits(s, reading, spans);
	if (!error)
		error = make_room(s, bytes.size + LETTERS_SLACK);
	if (error)
		return error;
	letters = (struct bytes){s->room, letters_take(&s->letters, bytes, s->room)};
	error = find(s, s->words, letters);
	if (error || !s->hits.count)
		return error;
	place_letters(s, bytes);
	return place_hits(s, reading, spans);
}

int secrets_find(struct secrets *s, struct bytes text, struct spans *spans)
{
	const struct reading written = {.bytes = text};
	bool is_drawn;
	int error;

	spans->count = 0;
	if (!s->count || text.size < REDACT_SECRET_MIN)
		return 0;
	error = find_in(s, &written, spans);
	if (error || !reading_differs(text, &is_drawn))
		return error;
	error = reading_show(&s->shown, text);
	if (!error)
		error = find_in(s, &s->shown, spans);
	if (!error && is_drawn)
		error = reading_draw(&s->drawn, text);
	if (!error && is_drawn)
		error = find_in(s, &s->drawn, spans);
	return error;
}

/* ---- what has begun ---- */

static void take_tail(const struct secrets *s, const struct reading *reading, bool has_all,
		      size_t longest, struct tail *tail)
{
	const uint8_t *bytes = reading->bytes.data;

	tail->first = TAIL_MOST;
	if (longest > TAIL_MOST)
		longest = TAIL_MOST;
	for (size_t at = reading->bytes.size; at-- > 0 && TAIL_MOST - tail->first < longest;) {
		uint8_t byte = has_all ? bytes[at] : s->letters.of[bytes[at]];

		if (!has_all && !byte)
			continue;
		tail->bytes[--tail->first] = byte;
		tail->places[tail->first] = (uint32_t)at;
	}
}

/* No line and no word ends there. */
static bool goes_on(struct bytes text)
{
	char last = ((const char *)text.data)[text.size - 1];

	return last != ' ' && last != '\t' && last != '\r' && last != '\n';
}

static void look_at_tail(struct secrets *s, const struct reading *reading, bool has_all,
			 const struct literals *l, struct bytes text, struct begun *b)
{
	struct tail *tail = &s->tail;
	const struct literal *literal;
	size_t at = 0, start, end;

	if (!literals_count(l))
		return;
	take_tail(s, reading, has_all, literals_longest(l), tail);
	if (tail->first == TAIL_MOST)
		return;

	struct bytes letters = {tail->bytes + tail->first, TAIL_MOST - tail->first};
	literal = literals_begun(l, letters, &at);
	if (!literal)
		return;
	reading_place(reading, tail->places[tail->first + at], tail->places[TAIL_MOST - 1] + 1,
		      &start, &end);
	if (start >= b->start)
		return;
	b->start = start;
	b->letters = letters.size - at;
	b->goes_on = goes_on(text);
	b->span = span_of(s, literal, start, end);
	b->span.is_partial = true;
	b->prefix = (struct bytes){s->vault + literal->at, b->letters};
}

static void look_at(struct secrets *s, const struct reading *reading, struct bytes text,
		    struct begun *b)
{
	look_at_tail(s, reading, false, s->words, text, b);
	look_at_tail(s, reading, true, s->signs, text, b);
}

int secrets_begun(struct secrets *s, struct bytes text, struct begun *ret_begun)
{
	const struct reading written = {.bytes = text};
	bool is_drawn;
	int error;

	*ret_begun = (struct begun){.start = text.size};
	if (!s->count || !text.size)
		return 0;
	look_at(s, &written, text, ret_begun);
	if (!reading_differs(text, &is_drawn))
		return 0;
	error = reading_show(&s->shown, text);
	if (error)
		return error;
	look_at(s, &s->shown, text, ret_begun);
	error = is_drawn ? reading_draw(&s->drawn, text) : 0;
	if (!error && is_drawn)
		look_at(s, &s->drawn, text, ret_begun);
	return error;
}

bool begun_has_to_wait(const struct begun *b)
{
	return b->letters >= BEGUN_LEAST || b->goes_on;
}

bool begun_is_certain(const struct begun *b)
{
	return b->letters >= (b->goes_on ? BEGUN_LEAST : REDACT_SECRET_MIN);
}
