/*
 * The wire decoder. It looks at the head and at the lengths of the tails; what a session put into
 * the tails is not touched here.
 */
#include "wire_record.h"

#include <errno.h>
#include <string.h>

#define NOTHING(name)
#define ONE(name) +1
#define OFFSET(name) offsetof(row, name##_length),

#define RECORD(name, class)                                                                        \
	_Static_assert((0 WIRE_##name(NOTHING, NOTHING, ONE)) <= WIRE_TAILS_MAX,                   \
		       #name " has too many tails");                                               \
	_Static_assert(sizeof(struct wire_##name) == offsetof(struct wire_##name, tails),          \
		       #name " has a hole at its end");                                            \
	_Static_assert(sizeof(struct wire_##name) < WIRE_LENGTH_MAX, #name " is too long");
WIRE_RECORDS(RECORD)
#undef RECORD

/* Each case has its row's struct under one local name, because a TAIL does not know its row. */
const struct wire_info *wire_info(unsigned int kind)
{
	switch (kind) {
#define RECORD(name_, class_)                                                                      \
	case WIRE_KIND_##name_: {                                                                  \
		typedef struct wire_##name_ row;                                                   \
		static const struct wire_info info = {                                             \
			.name = #name_,                                                            \
			.class = WIRE_CLASS_##class_,                                              \
			.fixed_size = sizeof(row),                                                 \
			.tail_count = (0 WIRE_##name_(NOTHING, NOTHING, ONE)),                     \
			.tail_offsets = {WIRE_##name_(NOTHING, NOTHING, OFFSET)},                  \
		};                                                                                 \
		return &info;                                                                      \
	}
		WIRE_RECORDS(RECORD)
#undef RECORD
	default:
		return NULL;
	}
}

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EBADMSG;
}

int wire_decode(const void *data, size_t size, struct wire_record *ret_record, const char **ret_why)
{
	const struct wire_head *head = data;

	if (size < sizeof(*head))
		return refuse(ret_why, "shorter than a head");
	if (head->length > size || head->length > WIRE_LENGTH_MAX)
		return refuse(ret_why, "longer than its room");

	const struct wire_info *info = wire_info(head->kind);
	if (!info)
		return refuse(ret_why, "unknown kind");
	if (head->kind == WIRE_KIND_chunk ? head->class >= WIRE_CLASS_COUNT
					  : head->class != info->class)
		return refuse(ret_why, "not the class of its kind");
	if (head->length < info->fixed_size)
		return refuse(ret_why, "shorter than its fixed part");

	struct wire_record record = {.head = head, .tail_count = info->tail_count};
	const uint8_t *bytes = data;
	size_t offset = info->fixed_size;
	for (size_t i = 0; i < info->tail_count; i++) {
		uint32_t length;

		memcpy(&length, bytes + info->tail_offsets[i], sizeof(length));
		if (length > head->length - offset)
			return refuse(ret_why, "a tail leaves the record");
		record.tails[i] = (struct bytes){bytes + offset, length};
		offset += length;
	}
	if (offset != head->length)
		return refuse(ret_why, "bytes behind the last tail");

	*ret_record = record;
	return 0;
}
