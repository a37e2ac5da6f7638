/*
 * Reading what is damaged: no record is missed that is whole, none is given that is not, and the
 * damage is named.
 */
#include "small_journal.h"

/* Read everything that can be had, over all damage. Every record given must be a true one. */
static void read_over_damage(const struct scratch *s, bool seen[RECORDS + 2], size_t *ret_stops,
			     struct reader_damage *ret_first)
{
	struct reader *r;
	struct event e;
	enum reader_state state;

	*ret_stops = 0;
	memset(ret_first, 0, sizeof(*ret_first));
	memset(seen, 0, RECORDS + 2);
	if (reader_open(s->fd, &r))
		return;
	while ((state = reader_next(r, &e)) != READER_END) {
		if (state == READER_STOPPED) {
			assert_non_null(reader_damage(r));
			assert_int_equal(reader_next(r, &e), READER_STOPPED);
			if (!(*ret_stops)++)
				*ret_first = *reader_damage(r);
			assert_true(*ret_stops < 10);
			if (!reader_skip_damage(r))
				break;
			continue;
		}
		assert_in_range(e.seq, 1, RECORDS);
		assert_true(is_sample_record(&e, e.seq));
		assert_false(seen[e.seq]);
		seen[e.seq] = true;
	}
	if (state == READER_END && reader_damage(r) && !(*ret_stops)++)
		*ret_first = *reader_damage(r);
	reader_free(r);
}

/*
 * Flip every bit of a byte, and one bit, at every place. Before the damage all is given; behind it
 * all but the record that was hit; and it is said where.
 */
static void a_flipped_byte_costs_what_it_hits(void **state)
{
	static const uint8_t flips[] = {0xff, 0x01, 0x80};
	uint64_t ends[RECORDS];
	size_t size;
	uint8_t *bytes = small_journal(true, false, &size);

	(void)state;
	record_ends(bytes, size, ends);
	for (size_t at = 0; at < size; at++) {
		for (size_t f = 0; f < sizeof(flips); f++) {
			struct scratch s = scratch_new();
			struct reader_damage first;
			bool seen[RECORDS + 2];
			size_t stops, missed = 0, whole = 0;

			bytes[at] ^= flips[f];
			scratch_write(&s, "000000.vtj", bytes, size);
			bytes[at] ^= flips[f];
			read_over_damage(&s, seen, &stops, &first);
			for (uint64_t seq = 1; seq <= RECORDS; seq++)
				missed += !seen[seq];
			if (at < SEGMENT_HEADS_SIZE) { /* the other head is good */
				assert_int_equal(stops, 0);
				assert_int_equal(missed, 0);
			} else {
				assert_true(stops > 0);
				assert_true(missed <= 1);
				while (whole < RECORDS && ends[whole] <= at)
					whole++;
				for (uint64_t seq = 1; seq <= whole; seq++)
					assert_true(seen[seq]);
				assert_int_equal(first.after_seq, whole);
				assert_true(first.offset <= at);
				assert_true(at - first.offset < 300);
			}
			scratch_free(&s);
		}
	}
	free(bytes);
}

static void a_flipped_byte_in_a_packed_segment(void **state)
{
	size_t size;
	uint8_t *bytes = small_journal(true, true, &size);

	(void)state;
	for (size_t at = SEGMENT_HEADS_SIZE; at < size; at++) {
		struct scratch s = scratch_new();
		struct reader_damage first;
		bool seen[RECORDS + 2];
		size_t stops, missed = 0;

		bytes[at] ^= 0x10;
		scratch_write(&s, "000000.vtj", bytes, size);
		bytes[at] ^= 0x10;
		read_over_damage(&s, seen, &stops, &first);
		for (uint64_t seq = 1; seq <= RECORDS; seq++)
			missed += !seen[seq];
		assert_true(stops > 0);
		assert_true(missed < 16); /* a block */
		for (uint64_t seq = 1; seq <= first.after_seq; seq++)
			assert_true(seen[seq]);
		scratch_free(&s);
	}
	free(bytes);
}

/* Frames that are whole, but not where they belong. */
static void frames_taken_out_put_in_or_swapped_are_seen(void **state)
{
	uint64_t ends[RECORDS];
	size_t size;
	uint8_t *bytes = small_journal(true, false, &size), *bent = malloc(2 * size);

	(void)state;
	record_ends(bytes, size, ends);
	for (size_t i = 0; i + 2 < RECORDS; i++) {
		size_t from = i ? ends[i - 1] : SEGMENT_HEADS_SIZE, to = ends[i],
		       next = ends[i + 1];
		struct scratch s = scratch_new();
		struct reader_damage damage;
		bool is_complete, seen[RECORDS + 2];
		uint64_t count;
		size_t stops;

		memcpy(bent, bytes, from); /* taken out; between two blocks a seal goes along */
		memcpy(bent + from, bytes + to, size - to);
		scratch_write(&s, "000000.vtj", bent, size - (to - from));
		assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
		assert_int_equal(count, i);
		assert_int_equal(damage.after_seq, i);

		memcpy(bent, bytes, to); /* said twice */
		memcpy(bent + to, bytes + from, size - from);
		scratch_write(&s, "000000.vtj", bent, size + (to - from));
		assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
		assert_int_equal(count, i + 1);

		memcpy(bent, bytes, from); /* swapped */
		memcpy(mempcpy(bent + from, bytes + to, next - to), bytes + from, to - from);
		memcpy(bent + next, bytes + next, size - next);
		scratch_write(&s, "000000.vtj", bent, size);
		assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
		assert_int_equal(count, i);
		read_over_damage(&s, seen, &stops, &damage);
		for (uint64_t seq = 1; seq <= RECORDS; seq++)
			assert_true(seen[seq]);
		scratch_free(&s);
	}
	free(bent);
	free(bytes);
}

/* The place of the @nth frame of @type. */
static uint8_t *frame_of(uint8_t *bytes, size_t size, enum frame_type type, size_t nth,
			 struct frame_head *ret_head)
{
	struct segment_head head;
	size_t at = SEGMENT_HEADS_SIZE;

	assert_true(segment_head_get(bytes, &head));
	for (; at < size; at += FRAME_HEAD_SIZE + ret_head->length) {
		assert_true(frame_head_get(head.salt, bytes + at, ret_head));
		if (ret_head->type == type && !nth--)
			return bytes + at;
	}
	fail_msg("no such frame");
	return NULL;
}

/* Change one byte of what a frame says and make its checksums right again. */
static void bend(uint8_t *bytes, size_t size, enum frame_type type, size_t nth, size_t at)
{
	struct segment_head segment;
	struct frame_head head;
	uint8_t *frame = frame_of(bytes, size, type, nth, &head);

	assert_true(segment_head_get(bytes, &segment));
	frame[FRAME_HEAD_SIZE + at] ^= 1;
	frame_head_put(segment.salt, type, (struct bytes){frame + FRAME_HEAD_SIZE, head.length},
		       frame);
}

/* Whole frames that say what is not so: each is seen, and costs no record. */
static void seals_and_ends_are_held_against_the_records(void **state)
{
	static const struct {
		enum frame_type type;
		size_t nth, at;
	} bends[] = {
		{FRAME_SEAL, 1, 8},   {FRAME_SEAL, 1, 16},   {FRAME_SEAL, 1, 40},
		{FRAME_SEAL, 1, 48},  {FRAME_SEAL, 1, 52},   {FRAME_SEAL, 1, 88},
		{FRAME_SEAL, 0, 119}, {FRAME_SEAL, 1, 56},   {FRAME_FINISH, 0, 0},
		{FRAME_FINISH, 0, 9}, {FRAME_FINISH, 0, 16},
	};
	size_t size;
	uint8_t *bytes = small_journal(true, false, &size), *bent = malloc(size);

	(void)state;
	for (size_t i = 0; i < sizeof(bends) / sizeof(*bends); i++) {
		struct scratch s = scratch_new();
		struct reader_damage first;
		bool seen[RECORDS + 2];
		size_t stops;

		memcpy(bent, bytes, size);
		bend(bent, size, bends[i].type, bends[i].nth, bends[i].at);
		scratch_write(&s, "000000.vtj", bent, size);
		read_over_damage(&s, seen, &stops, &first);
		assert_true(stops > 0);
		for (uint64_t seq = 1; seq <= RECORDS; seq++)
			assert_true(seen[seq]);
		scratch_free(&s);
	}
	free(bent);
	free(bytes);
}

static void nothing_stands_behind_the_end(void **state)
{
	struct scratch s = scratch_new();
	struct reader_damage damage;
	struct frame_head head;
	size_t size;
	uint8_t *bytes = small_journal(true, false, &size), *longer = malloc(2 * size), *frame;
	bool is_complete;
	uint64_t count;

	(void)state;
	memcpy(longer, bytes, size);
	frame = frame_of(bytes, size, FRAME_SEAL, 0, &head);
	memcpy(longer + size, frame, FRAME_HEAD_SIZE + head.length);
	for (size_t more = 1; more <= FRAME_HEAD_SIZE + head.length; more++) {
		scratch_write(&s, "000000.vtj", longer, size + more);
		assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
		assert_int_equal(count, RECORDS);
		assert_int_equal(damage.offset, size);
	}
	free(longer);
	free(bytes);
	scratch_free(&s);
}

static void another_journals_frames_are_not_taken(void **state)
{
	struct scratch s = scratch_new();
	size_t size, other_size;
	uint8_t *bytes = small_journal(true, false, &size);
	uint8_t *other = small_journal(true, false, &other_size);
	struct reader_damage damage;
	bool is_complete;
	uint64_t count;

	(void)state;
	assert_int_equal(size, other_size);
	memcpy(bytes + size / 2, other + size / 2, size - size / 2);
	scratch_write(&s, "000000.vtj", bytes, size);
	assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
	assert_in_range(count, RECORDS / 3, RECORDS * 2 / 3);
	free(bytes);
	free(other);
	scratch_free(&s);
}

/* A session writes whole frames into its own output: looking for the next frame, none is found. */
static void forged_frames_in_the_data_are_not_taken(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, NULL);
	size_t size, forged_size;
	uint8_t *forged = small_journal(false, false, &forged_size), *bytes;
	struct redacted record;
	struct reader *r;
	struct event e;

	(void)state;
	event_init(&record.event, EVENT_output, 1, 1);
	event_put_bytes(&record.event, FIELD_data, forged, forged_size);
	assert_int_equal(journal_append(j, &record, NULL), 0);
	assert_int_equal(journal_append(j, &record, NULL), 0);
	event_init(&record.event, EVENT_clock, 1, 1);
	assert_int_equal(journal_append(j, &record, NULL), 0);
	journal_close(j);
	bytes = scratch_read(&s, "000000.vtj", &size);
	bytes[SEGMENT_HEADS_SIZE + 1] ^= 1; /* the head of the first: where the next is, is lost */
	scratch_write(&s, "000000.vtj", bytes, size);

	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_STOPPED);
	assert_true(reader_skip_damage(r));
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_int_equal(e.kind, EVENT_output);
	assert_int_equal(e.seq, 2);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_int_equal(e.kind, EVENT_clock);
	assert_int_equal(reader_next(r, &e), READER_END);
	assert_true(reader_is_complete(r));
	reader_free(r);
	free(bytes);
	free(forged);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flipped_byte_costs_what_it_hits),
		cmocka_unit_test(a_flipped_byte_in_a_packed_segment),
		cmocka_unit_test(frames_taken_out_put_in_or_swapped_are_seen),
		cmocka_unit_test(seals_and_ends_are_held_against_the_records),
		cmocka_unit_test(nothing_stands_behind_the_end),
		cmocka_unit_test(another_journals_frames_are_not_taken),
		cmocka_unit_test(forged_frames_in_the_data_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
