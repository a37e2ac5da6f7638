/*
 * A journal of one small segment, as bytes that a test can cut and bend.
 */
#pragma once

#include "sample_journal.h"
#include "supervisor/record/journal_format.h"
#include "supervisor/record/segment.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the two above */
#include <cmocka.h>

#define RECORDS 40

/* A journal of RECORDS records in blocks of eight or so; @closed: with its end. */
static inline uint8_t *small_journal(bool is_closed, bool is_packed, size_t *ret_size)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &(struct journal_options){.block_bytes = 700,
								      .compress = is_packed,
								      .compress_least = 1});
	uint8_t *bytes;

	sample_append(j, RECORDS);
	if (journal_flush(j, 1))
		abort();
	if (is_closed) {
		journal_close(j);
		j = NULL;
	}
	bytes = scratch_read(&s, "000000.vtj", ret_size);
	journal_close(j);
	scratch_free(&s);
	return bytes;
}

/* Ends of the whole records in @bytes, by their place in the file. */
static inline size_t record_ends(const uint8_t *bytes, size_t size, uint64_t ends[RECORDS])
{
	struct scratch s = scratch_new();
	struct segment *segment;
	struct frame frame;
	size_t count = 0;

	scratch_write(&s, "000000.vtj", bytes, size);
	assert_int_equal(segment_open(s.fd, 0, &segment), 0);
	while (segment_next_raw(segment, &frame) == SEGMENT_FRAME) {
		if (frame.type == FRAME_RECORD)
			ends[count++] = segment_offset(segment);
	}
	segment_free(segment);
	scratch_free(&s);
	return count;
}
