/*
 * A wire record that was checked: the line between what came out of a ring and what the rest of
 * capture may trust to have the right shape. Its strings stay what a session made them.
 */
#pragma once

#include "../../bpf/wire.h"
#include "../record/event.h"

#define WIRE_TAILS_MAX 8

struct wire_record {
	const struct wire_head *head; /* cast to struct wire_<kind> for the fixed part */
	size_t tail_count;
	struct bytes tails[WIRE_TAILS_MAX]; /* in the order of the row; chunks are joined already */
	uint64_t missing[WIRE_TAILS_MAX];   /* bytes of that tail that were lost on the way (a chunk
					       fell into a hole); where nothing says how many, 1 */
};

struct wire_info {
	const char *name;
	enum wire_class class;
	size_t fixed_size; /* head and fixed part */
	size_t tail_count;
	uint32_t tail_offsets[WIRE_TAILS_MAX]; /* where in the fixed part the length of each tail
						  stands */
};

/* What the row of @kind says; static. NULL if there is no such kind. */
const struct wire_info *wire_info(unsigned int kind);

/*
 * Check @size bytes at @data, aligned to 8, as one wire record: known kind, the class of its row
 * (a chunk has the class of the record that it continues), tails that fill its length exactly. The
 * room may be longer than the record: a program that reserves a fixed room leaves its end unused.
 * Returns 0 or -EBADMSG with a static reason. The result points into @data.
 */
int wire_decode(const void *data, size_t size, struct wire_record *ret_record,
		const char **ret_why);
