/*
 * Events to journal payloads and back. The decoder trusts nothing that it reads.
 */
#include "codec.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define VARINT_MAX 10
#define HEAD_MAX (2 * VARINT_MAX + 2 * sizeof(uint64_t))
#define VALUE_MAX (3 * VARINT_MAX + 1 + EVENT_DIGEST_SIZE) /* beside the bytes themselves */

size_t codec_bound(const struct event *e)
{
	size_t size = HEAD_MAX + e->count * VALUE_MAX;

	for (size_t i = 0; i < e->count; i++) {
		if (field_table[e->values[i].field].type >= FIELD_TYPE_TEXT)
			size += e->values[i].bytes.size;
	}
	return size;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = value | 0x80;
	*at++ = value;
	return at;
}

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static uint8_t *put_bytes(uint8_t *at, struct bytes bytes)
{
	at = put_varint(at, bytes.size);
	if (bytes.size)
		memcpy(at, bytes.data, bytes.size);
	return at + bytes.size;
}

static uint8_t *put_value(uint8_t *at, const struct event_value *value)
{
	at = put_varint(at, (uint64_t)value->field << 1 | value->is_cut);
	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		at = put_varint(at, value->u64);
		break;
	case FIELD_TYPE_I64:
		at = put_varint(at, (uint64_t)value->i64 << 1 ^ (value->i64 < 0 ? UINT64_MAX : 0));
		break;
	case FIELD_TYPE_BOOL:
		*at++ = !!value->u64;
		break;
	default:
		at = put_bytes(at, value->bytes);
	}
	if (!value->is_cut)
		return at;
	at = put_varint(at, value->cut.full_length);
	*at++ = value->cut.has_digest;
	if (value->cut.has_digest) {
		memcpy(at, value->cut.digest, EVENT_DIGEST_SIZE);
		at += EVENT_DIGEST_SIZE;
	}
	return at;
}

size_t codec_encode(const struct event *e, uint64_t seq, void *ret_data)
{
	uint8_t *at = ret_data;

	at = put_varint(at, e->kind);
	at = put_varint(at, seq);
	at = put_u64(at, e->time_ns);
	at = put_u64(at, e->boot_ns);
	for (size_t i = 0; i < e->count; i++)
		at = put_value(at, &e->values[i]);
	return at - (uint8_t *)ret_data;
}

/* What is left to read. The first thing that is wrong stays in `why`; after it everything reads as
 * 0. */
struct source {
	const uint8_t *at, *end;
	const char *why;
};

static const uint8_t *get(struct source *s, uint64_t size)
{
	const uint8_t *at = s->at;

	if (s->why || size > (uint64_t)(s->end - s->at)) {
		s->why = s->why ? s->why : "the record ends in the middle of a value";
		return NULL;
	}
	s->at += size;
	return at;
}

static uint8_t get_byte(struct source *s)
{
	const uint8_t *at = get(s, 1);

	return at ? *at : 0;
}

static bool get_flag(struct source *s)
{
	uint8_t byte = get_byte(s);

	if (byte > 1 && !s->why)
		s->why = "neither true nor false";
	return byte;
}

static uint64_t get_varint(struct source *s)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(s);

		if ((shift == 63 && byte > 1) || (shift && !byte))
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	if (!s->why)
		s->why = "a malformed number";
	return 0;
}

static uint64_t get_u64(struct source *s)
{
	const uint8_t *at = get(s, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static void get_cut(struct source *s, struct event *e, enum event_field field)
{
	uint64_t full_length = get_varint(s);
	const uint8_t *digest = get_flag(s) ? get(s, EVENT_DIGEST_SIZE) : NULL;

	if (field_table[field].type < FIELD_TYPE_TEXT && !s->why)
		s->why = "a number that says it was cut";
	if (!s->why)
		event_mark_cut(e, field, full_length, digest);
}

static void get_value(struct source *s, struct event *e, enum event_field field)
{
	const uint8_t *data;
	uint64_t number;

	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
		event_put_u64(e, field, get_varint(s));
		break;
	case FIELD_TYPE_I64:
		number = get_varint(s);
		event_put_i64(e, field, (int64_t)(number >> 1 ^ -(number & 1)));
		break;
	case FIELD_TYPE_BOOL:
		event_put_bool(e, field, get_flag(s));
		break;
	default:
		number = get_varint(s);
		data = get(s, number);
		event_put_bytes(e, field, data, number);
	}
}

static int get_values(struct source *s, struct event *e)
{
	while (s->at < s->end && !s->why) {
		uint64_t tag = get_varint(s);
		uint64_t field = tag >> 1;

		if (s->why)
			break;
		if (field == FIELD_NONE) {
			s->why = "a value without a field";
		} else if (field >= FIELD_COUNT || !kind_has_field(e->kind, field)) {
			s->why = "a field that this version does not know";
			return -ENOTSUP;
		} else if (event_get(e, field)) {
			s->why = "a field that is there twice";
		} else if (e->count == EVENT_VALUES_MAX) {
			s->why = "too many values";
		} else {
			get_value(s, e, field);
			if (tag & 1)
				get_cut(s, e, field);
		}
	}
	return s->why ? -EBADMSG : 0;
}

int codec_decode(struct bytes payload, struct event *ret_event, const char **ret_why)
{
	struct source s = {.at = payload.data, .end = (const uint8_t *)payload.data + payload.size};
	uint64_t kind, seq, time_ns, boot_ns;
	int r;

	kind = get_varint(&s);
	seq = get_varint(&s);
	time_ns = get_u64(&s);
	boot_ns = get_u64(&s);
	if (!s.why && kind == EVENT_KIND_NONE)
		s.why = "a record without a kind";
	if (s.why) {
		*ret_why = s.why;
		return -EBADMSG;
	}
	if (kind >= EVENT_KIND_COUNT) {
		*ret_why = "a kind of record that this version does not know";
		return -ENOTSUP;
	}

	event_init(ret_event, kind, time_ns, boot_ns);
	ret_event->seq = seq;
	r = get_values(&s, ret_event);
	if (r)
		*ret_why = s.why;
	return r;
}
