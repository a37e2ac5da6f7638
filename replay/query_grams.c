/*
 * A term held against what a stretch of a record can hold. For each way in which term_match can be
 * true it asks what has to be there for that.
 */
#include "grams.h"
#include "query_term.h"

/* Every row of three bytes that any text has to have for the pattern to match. */
static bool pattern_can_match(const struct pattern *p, const struct grams *g)
{
	uint8_t row[3] = {0};
	size_t length = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->codes[i] > 255) {
			length = 0;
			continue;
		}
		row[0] = row[1];
		row[1] = row[2];
		row[2] = (uint8_t)p->codes[i];
		if (++length >= 3 && !grams_has_row(g, row))
			return false;
	}
	return true;
}

static bool kinds_can_match(const struct term *t, const struct grams *g)
{
	for (size_t kind = 0; kind < EVENT_KIND_COUNT; kind++)
		if (t->kinds[kind] && grams_has_kind(g, (enum event_kind)kind))
			return true;
	return false;
}

/* True if the field's value is compared as a text, by the pattern alone. */
static bool is_by_pattern(const struct term *t, uint16_t field)
{
	switch (field_table[field].type) {
	case FIELD_TYPE_TEXT:
		return t->is_part || !t->network.family ||
		       (field != FIELD_src_address && field != FIELD_dst_address);
	case FIELD_TYPE_JSON:
	case FIELD_TYPE_TEXTS:
	case FIELD_TYPE_MAP:
		return true;
	default:
		return false;
	}
}

static bool fields_can_match(const struct term *t, const struct grams *g)
{
	for (size_t i = 0; i < t->field_count; i++) {
		if (!grams_has_field(g, t->fields[i]))
			continue;
		if (t->any || !is_by_pattern(t, t->fields[i]) || pattern_can_match(&t->pattern, g))
			return true;
	}
	return false;
}

bool term_can_match(const struct term *t, const struct grams *g)
{
	switch (t->subject) {
	case SUBJECT_TEXTS:
		return t->any || pattern_can_match(&t->pattern, g);
	case SUBJECT_FIELDS:
		return fields_can_match(t, g);
	case SUBJECT_KIND:
		return kinds_can_match(t, g);
	case SUBJECT_SEQ:
	case SUBJECT_TIME:
	case SUBJECT_ATTACK:
		break;
	}
	return true;
}
