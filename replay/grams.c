/*
 * Rows of three bytes are hashed with ASCII letters in lower case, so that one set answers for both
 * forms of a term.
 */
#include "grams.h"

#include "../supervisor/record/printable.h"

#include <string.h>

_Static_assert(EVENT_KIND_COUNT <= 64, "a kind is a bit");
_Static_assert(FIELD_COUNT <= GRAMS_FIELD_BITS, "a field is a bit");

static uint32_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c + 32u : c;
}

static uint32_t hash(uint32_t row)
{
	return (row & 0xffffff) * UINT32_C(2654435761) >> 17;
}

_Static_assert(GRAMS_BITS == 1 << (32 - 17), "a hash is a bit");

static void set(struct stretch *s, uint32_t bit)
{
	uint64_t *word = &s->grams.bits[bit / 64], mask = UINT64_C(1) << bit % 64;

	s->set += !(*word & mask);
	*word |= mask;
}

/* A row goes on over the border of two texts where @row says what was before. */
static uint32_t add_text(struct stretch *s, struct bytes text, uint32_t row, size_t before)
{
	const uint8_t *data = text.data;

	for (size_t i = 0; i < text.size; i++) {
		row = row << 8 | lower(data[i]);
		if (before + i >= 2)
			set(s, hash(row));
	}
	return row;
}

/* A key, a value, and "key=value". */
static void add_map(struct stretch *s, struct bytes packed)
{
	struct bytes key, value;
	size_t cursor = 0;

	while (bytes_next_item(packed, &cursor, &key) && bytes_next_item(packed, &cursor, &value)) {
		uint32_t row = add_text(s, key, 0, 0);

		row = add_text(s, (struct bytes){"=", 1}, row, key.size);
		add_text(s, value, row, key.size + 1);
	}
}

static void add_value(struct stretch *s, const struct event_value *value)
{
	struct bytes item;
	size_t cursor = 0;

	s->grams.fields[value->field / 64] |= UINT64_C(1) << value->field % 64;
	switch (field_table[value->field].type) {
	case FIELD_TYPE_TEXT:
	case FIELD_TYPE_JSON:
		add_text(s, value->bytes, 0, 0);
		break;
	case FIELD_TYPE_TEXTS:
		while (bytes_next_item(value->bytes, &cursor, &item))
			add_text(s, item, 0, 0);
		break;
	case FIELD_TYPE_MAP:
		add_map(s, value->bytes);
		break;
	default:
		break;
	}
}

void stretch_begin(struct stretch *s, uint64_t first_seq)
{
	memset(s, 0, sizeof(*s));
	s->first_seq = first_seq;
	s->from_ns = UINT64_MAX;
}

void stretch_add(struct stretch *s, const struct event *e)
{
	s->records++;
	s->last_seq = e->seq;
	s->from_ns = e->time_ns < s->from_ns ? e->time_ns : s->from_ns;
	s->to_ns = e->time_ns > s->to_ns ? e->time_ns : s->to_ns;
	if (e->kind < EVENT_KIND_COUNT) {
		s->grams.kinds |= UINT64_C(1) << e->kind;
		/* A bare word is looked for in the name of the kind, too. */
		if (e->kind != EVENT_KIND_NONE)
			add_text(s, bytes_of(kind_table[e->kind].name), 0, 0);
	}
	for (size_t i = 0; i < e->count; i++)
		add_value(s, &e->values[i]);
}

bool stretch_is_full(const struct stretch *s)
{
	return s->records >= GRAMS_RECORDS || s->set >= GRAMS_FULL;
}

bool grams_has_kind(const struct grams *g, enum event_kind kind)
{
	return kind < EVENT_KIND_COUNT && g->kinds >> kind & 1;
}

bool grams_has_field(const struct grams *g, uint16_t field)
{
	return field < FIELD_COUNT && g->fields[field / 64] >> field % 64 & 1;
}

bool grams_has_row(const struct grams *g, const uint8_t row[3])
{
	uint32_t bit = hash(lower(row[0]) << 16 | lower(row[1]) << 8 | lower(row[2]));

	return g->bits[bit / 64] >> bit % 64 & 1;
}
