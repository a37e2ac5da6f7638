/*
 * Events with a value in every field of their kind, always the same for the same kind and variant.
 */
#pragma once

#include "supervisor/record/event.h"

#include <string.h>

/* What texts are made of, by variant: plain, hostile, not UTF-8, empty. */
#define SAMPLE_VARIANTS 4

static inline struct bytes sample_text(unsigned variant)
{
#define SPAN(text) ((struct bytes){text, sizeof(text) - 1})
	switch (variant % SAMPLE_VARIANTS) {
	case 0:
		return SPAN("/usr/bin/make");
	case 1:
		return SPAN("a\x1b[31m\n\"b\\\x00\x7f \xc2\x9b \xe2\x80\xae\xf0\x9f\x98\x80");
	case 2:
		return SPAN("caf\xe9 \xff\xc0\x80 \xed\xa0\x80");
	default:
		return SPAN("");
	}
}

static inline struct bytes sample_texts(unsigned variant)
{
	switch (variant % SAMPLE_VARIANTS) {
	case 0:
		return SPAN("make\0-j\0all\0");
	case 1:
		return SPAN("sh\0\0-c\0line\none\0");
	case 2:
		return SPAN("good\0\xff\xfe\0\0");
	default:
		return SPAN("");
	}
}

static inline struct bytes sample_map(unsigned variant)
{
	switch (variant % SAMPLE_VARIANTS) {
	case 0:
		return SPAN("team\0blue\0ticket\0\0");
	case 1:
		return SPAN("\0empty key\0new\nline\0\"\0");
	case 2:
		return SPAN("k\xff\0v\xfe\0k\0v\0");
	default:
		return SPAN("");
	}
}

static inline struct bytes sample_json(unsigned variant)
{
	switch (variant % SAMPLE_VARIANTS) {
	case 0:
		return SPAN("{\"file\":{\"produced\":3,\"lost\":0},\"on\":true,\"ratio\":0.5}");
	case 1:
		return SPAN("[\"\\u001b\\n\",{},[],null,-1]");
	case 2:
		return SPAN("\"text\"");
	default:
		return SPAN("0");
	}
}
#undef SPAN

static inline void sample_value(struct event *e, enum event_field field, unsigned variant)
{
	struct bytes bytes;

	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
		event_put_u64(e, field, variant == 1 ? UINT64_MAX : variant == 3 ? 0 : 100 + field);
		return;
	case FIELD_TYPE_I64:
		event_put_i64(e, field, variant == 1 ? INT64_MIN : variant == 2 ? INT64_MAX : -2);
		return;
	case FIELD_TYPE_BOOL:
		event_put_bool(e, field, variant % 2);
		return;
	case FIELD_TYPE_TEXT:
		bytes = sample_text(variant);
		break;
	case FIELD_TYPE_TEXTS:
		bytes = sample_texts(variant);
		break;
	case FIELD_TYPE_MAP:
		bytes = sample_map(variant);
		break;
	default:
		bytes = sample_json(variant);
	}
	event_put_bytes(e, field, bytes.data, bytes.size);
	if (variant == 1)
		event_mark_cut(e, field, 70000 + field, NULL);
	if (variant == 2)
		event_mark_cut(e, field, UINT64_MAX,
			       (const uint8_t *)"0123456789abcdef0123456789ABCDEF");
}

static inline void sample_event(struct event *e, enum event_kind kind, unsigned variant)
{
	event_init(e, kind, UINT64_C(1767323045123456789) + kind, UINT64_C(86400000000000) + kind);
	for (size_t i = 0; i < kind_table[kind].field_count; i++)
		sample_value(e, kind_table[kind].fields[i], variant);
}

static inline bool same_value(const struct event_value *one, const struct event_value *other)
{
	if (one->is_cut != other->is_cut)
		return false;
	if (one->is_cut && (one->cut.full_length != other->cut.full_length ||
			    one->cut.has_digest != other->cut.has_digest ||
			    (one->cut.has_digest &&
			     memcmp(one->cut.digest, other->cut.digest, EVENT_DIGEST_SIZE))))
		return false;
	if (field_table[one->field].type < FIELD_TYPE_TEXT)
		return one->u64 == other->u64;
	return one->bytes.size == other->bytes.size &&
	       (!one->bytes.size || !memcmp(one->bytes.data, other->bytes.data, one->bytes.size));
}

static inline bool same_event(const struct event *one, const struct event *other)
{
	if (one->kind != other->kind || one->seq != other->seq || one->time_ns != other->time_ns ||
	    one->boot_ns != other->boot_ns || one->count != other->count)
		return false;
	for (size_t i = 0; i < one->count; i++) {
		const struct event_value *value = event_get(other, one->values[i].field);

		if (!value || !same_value(&one->values[i], value))
			return false;
	}
	return true;
}
