/*
 * Reading what is whole, growing, cut or bent: no record is missed that is whole, none is given
 * that is not, and damage is named.
 */
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
static uint8_t *small_journal(bool is_closed, bool is_packed, size_t *ret_size)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(
		&s, &(struct journal_options){.block_bytes = 700, .compress = is_packed});
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
static size_t record_ends(const uint8_t *bytes, size_t size, uint64_t ends[RECORDS])
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

static void a_cut_file_gives_all_whole_records(void **state)
{
	uint64_t ends[RECORDS];
	size_t size;
	uint8_t *bytes = small_journal(true, false, &size);

	(void)state;
	assert_int_equal(record_ends(bytes, size, ends), RECORDS);
	for (size_t cut = 0; cut <= size; cut++) {
		struct scratch s = scratch_new();
		struct reader_damage damage;
		uint64_t count, whole = 0;
		bool is_complete;

		while (whole < RECORDS && ends[whole] <= cut)
			whole++;
		scratch_write(&s, "000000.vtj", bytes, cut);
		assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_END);
		assert_int_equal(count, whole);
		assert_int_equal(is_complete, cut == size);
		if (damage.why) {
			assert_string_equal(damage.segment, "000000.vtj");
			assert_int_equal(damage.after_seq, whole);
			assert_true(damage.offset <= cut);
		} else if (cut < size && cut > SEGMENT_HEADS_SIZE) {
			/* Nothing to say: it ends behind a frame. */
			assert_true(!whole || cut >= ends[whole - 1]);
		}
		scratch_free(&s);
	}
	free(bytes);
}

/* Cut within a frame is said; cut behind one is not. */
static void a_torn_record_is_said(void **state)
{
	uint64_t ends[RECORDS], count;
	struct reader_damage damage;
	size_t size;
	uint8_t *bytes = small_journal(false, false, &size);
	bool is_complete;

	(void)state;
	record_ends(bytes, size, ends);
	for (uint64_t cut = ends[2]; cut <= ends[3]; cut++) {
		struct scratch s = scratch_new();

		scratch_write(&s, "000000.vtj", bytes, cut);
		assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_END);
		assert_int_equal(damage.why != NULL, cut > ends[2] && cut < ends[3]);
		if (damage.why)
			assert_int_equal(damage.offset, ends[2]);
		scratch_free(&s);
	}
	free(bytes);
}

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

/* ---- many segments ---- */

static struct scratch many_segments(bool is_packed)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &(struct journal_options){.segment_bytes = 3000,
								      .block_bytes = 600,
								      .compress = is_packed});

	sample_append(j, 500);
	if (journal_close(j))
		abort();
	return s;
}

static void seek_goes_to_any_record(void **state)
{
	(void)state;
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		struct scratch s = many_segments(is_packed);
		struct reader *r;
		struct event e;

		assert_int_equal(reader_open(s.fd, &r), 0);
		assert_null(reader_session(r));
		for (uint64_t i = 0; i <= 600; i++) {
			uint64_t seq = i * 211 % 601; /* all of them, here and there */

			assert_int_equal(reader_seek(r, seq), 0);
			for (uint64_t next = seq ? seq : 1; next < seq + 30; next++) {
				if (next > 500) {
					assert_int_equal(reader_next(r, &e), READER_END);
					break;
				}
				assert_int_equal(reader_next(r, &e), READER_RECORD);
				assert_true(is_sample_record(&e, next));
			}
			assert_null(reader_damage(r));
		}
		assert_string_equal(reader_session(r), SAMPLE_SESSION);
		reader_free(r);
		scratch_free(&s);
	}
}

/* A seek reads heads and seals, not the records: one that is damaged on the way does not matter. */
static void seek_does_not_read_what_it_passes(void **state)
{
	struct scratch s = scratch_new();
	size_t size;
	uint64_t ends[RECORDS];
	uint8_t *bytes = small_journal(true, false, &size);
	struct reader *r;
	struct event e;

	(void)state;
	record_ends(bytes, size, ends);
	bytes[ends[1] - 1] ^= 1;
	scratch_write(&s, "000000.vtj", bytes, size);
	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_seek(r, 30), 0);
	for (uint64_t seq = 30; seq <= RECORDS; seq++) {
		assert_int_equal(reader_next(r, &e), READER_RECORD);
		assert_true(is_sample_record(&e, seq));
	}
	assert_int_equal(reader_next(r, &e), READER_END);
	reader_free(r);
	free(bytes);
	scratch_free(&s);
}

static void a_missing_segment_is_said_and_passed(void **state)
{
	static const char *const names[] = {"000000.vtj", "000002.vtj"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct scratch s = many_segments(false);
		struct reader_damage damage = {0};
		struct reader *r;
		struct event e;
		uint64_t last = 0, count = 0;
		enum reader_state state_now;

		assert_int_equal(unlinkat(s.fd, names[i], 0), 0);
		assert_int_equal(reader_open(s.fd, &r), 0);
		while ((state_now = reader_next(r, &e)) != READER_END) {
			if (state_now == READER_STOPPED) {
				assert_null(damage.why);
				damage = *reader_damage(r);
				assert_int_equal(damage.after_seq, last);
				assert_true(reader_skip_damage(r));
				continue;
			}
			assert_true(is_sample_record(&e, e.seq));
			assert_true(e.seq > last);
			last = e.seq;
			count++;
		}
		assert_non_null(damage.why);
		assert_string_equal(damage.segment, names[i]);
		assert_int_equal(last, 500);
		assert_in_range(count, 420, 490);
		reader_free(r);
		scratch_free(&s);
	}
}

static void a_segment_cut_in_the_middle_is_no_end(void **state)
{
	struct scratch s = many_segments(false);
	struct reader_damage damage;
	bool is_complete;
	uint64_t count;
	size_t size;
	uint8_t *bytes = scratch_read(&s, "000002.vtj", &size);

	(void)state;
	scratch_write(&s, "000002.vtj", bytes, size - FRAME_HEAD_SIZE - FINISH_SIZE);
	assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
	assert_string_equal(damage.segment, "000002.vtj");
	assert_int_equal(damage.offset, size - FRAME_HEAD_SIZE - FINISH_SIZE);
	assert_int_equal(damage.after_seq, count);

	scratch_write(&s, "000002.vtj", bytes, size - 1);
	assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
	assert_string_equal(damage.segment, "000002.vtj");
	assert_int_equal(damage.offset, size - FRAME_HEAD_SIZE - FINISH_SIZE);

	scratch_write(&s, "000002.vtj", bytes, 100);
	assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
	assert_string_equal(damage.segment, "000002.vtj");
	free(bytes);
	scratch_free(&s);
}

static void a_segment_of_another_session_is_said(void **state)
{
	struct scratch s = many_segments(false);
	struct scratch other = scratch_new();
	struct journal_options options = {.session = "ffffffffffff", .segment_bytes = 3000};
	struct reader_damage damage;
	struct journal *j;
	bool is_complete;
	uint64_t count;
	size_t size;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(journal_open(other.fd, &options, &j), 0);
	sample_append(j, 500);
	journal_close(j);
	bytes = scratch_read(&other, "000001.vtj", &size);
	scratch_write(&s, "000001.vtj", bytes, size);
	assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
	assert_string_equal(damage.segment, "000001.vtj");
	assert_string_equal(damage.why, "the segment belongs to another session");
	free(bytes);
	scratch_free(&other);
	scratch_free(&s);
}

static void a_live_journal_is_followed(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &(struct journal_options){.segment_bytes = 2000,
								      .block_bytes = 500,
								      .compress = true});
	struct reader *r;
	struct event e;
	uint64_t seq = 0;

	(void)state;
	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_END);
	for (size_t round = 1; round < 60; round++) {
		sample_append(j, round % 7);
		assert_int_equal(journal_flush(j, round), 0);
		if (round % 3 == 0)
			while (journal_tidy(j))
				;
		if (round % 2)
			continue;
		while (seq + 1 < journal_next_seq(j)) {
			assert_int_equal(reader_next(r, &e), READER_RECORD);
			assert_true(is_sample_record(&e, ++seq));
		}
		assert_int_equal(reader_next(r, &e), READER_END);
		assert_null(reader_damage(r));
		assert_false(reader_is_complete(r));
	}
	journal_close(j);
	while (reader_next(r, &e) == READER_RECORD)
		assert_true(is_sample_record(&e, ++seq));
	assert_true(reader_is_complete(r));
	reader_free(r);
	scratch_free(&s);
}

/* A record that comes in two writes: the reader looks between them. */
static void half_a_record_is_waited_for(void **state)
{
	struct scratch s = scratch_new();
	uint64_t ends[RECORDS];
	size_t size;
	uint8_t *bytes = small_journal(false, false, &size);
	struct reader *r;
	struct event e;

	(void)state;
	record_ends(bytes, size, ends);
	scratch_write(&s, "000000.vtj", bytes, ends[0]);
	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	for (uint64_t end = ends[0] + 1; end < ends[1]; end++) {
		scratch_write(&s, "000000.vtj", bytes, end);
		assert_int_equal(reader_next(r, &e), READER_END);
		assert_int_equal(reader_damage(r)->offset, ends[0]);
	}
	scratch_write(&s, "000000.vtj", bytes, ends[1]);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_true(is_sample_record(&e, 2));
	assert_int_equal(reader_next(r, &e), READER_END);
	assert_null(reader_damage(r));
	reader_free(r);
	free(bytes);
	scratch_free(&s);
}

/* The writer dies within a record, and the next one cuts it off and writes something else. */
static void a_torn_tail_that_is_cut_is_not_remembered(void **state)
{
	struct scratch s = scratch_new();
	uint64_t ends[RECORDS];
	size_t size;
	uint8_t *bytes = small_journal(false, false, &size);
	struct journal *j;
	struct reader *r;
	struct event e;

	(void)state;
	record_ends(bytes, size, ends);
	scratch_write(&s, "000000.vtj", bytes, ends[1] - 1);
	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_int_equal(reader_next(r, &e), READER_END);
	assert_non_null(reader_damage(r));

	j = sample_open(&s, NULL);
	sample_append(j, 3);
	assert_int_equal(journal_close(j), 0);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_int_equal(e.kind, EVENT_gap);
	for (uint64_t seq = 3; seq <= 5; seq++) {
		assert_int_equal(reader_next(r, &e), READER_RECORD);
		assert_true(is_sample_record(&e, seq));
	}
	assert_int_equal(reader_next(r, &e), READER_END);
	assert_null(reader_damage(r));
	reader_free(r);
	free(bytes);
	scratch_free(&s);
}

static void a_head_that_names_another_block_is_seen(void **state)
{
	struct scratch s = many_segments(false);
	struct reader_damage damage;
	struct segment_head head;
	bool is_complete;
	uint64_t count;
	size_t size;
	uint8_t *bytes = scratch_read(&s, "000001.vtj", &size);

	(void)state;
	assert_true(segment_head_get(bytes, &head));
	head.previous[5] ^= 1;
	segment_head_put(&head, bytes);
	scratch_write(&s, "000001.vtj", bytes, size);
	assert_int_equal(sample_read(&s, &count, &damage, &is_complete), READER_STOPPED);
	assert_string_equal(damage.segment, "000001.vtj");
	assert_int_equal(damage.after_seq, count);
	assert_int_equal(head.first_seq, count + 1);
	free(bytes);
	scratch_free(&s);
}

/* Written by a newer version: said, and what is known goes on. */
static void records_of_a_newer_version_are_said(void **state)
{
	struct scratch s = scratch_new();
	size_t size;
	uint8_t *bytes = small_journal(false, false, &size), *payload;
	uint64_t ends[RECORDS];
	struct segment_head head;
	struct reader *r;
	struct event e;

	(void)state;
	record_ends(bytes, size, ends);
	assert_true(segment_head_get(bytes, &head));
	payload = bytes + ends[0] + FRAME_HEAD_SIZE;
	payload[0] = 0x7f; /* its kind */
	frame_head_put(head.salt, FRAME_RECORD,
		       (struct bytes){payload, ends[1] - ends[0] - FRAME_HEAD_SIZE},
		       bytes + ends[0]);
	scratch_write(&s, "000000.vtj", bytes, ends[3]);
	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_int_equal(reader_next(r, &e), READER_STOPPED);
	assert_non_null(strstr(reader_damage(r)->why, "this version does not know"));
	assert_int_equal(reader_damage(r)->offset, ends[0]);
	assert_true(reader_skip_damage(r));
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_true(is_sample_record(&e, 3));
	reader_free(r);
	free(bytes);
	scratch_free(&s);
}

static void what_is_no_journal_is_refused(void **state)
{
	struct scratch s = scratch_new();
	struct reader *r;
	struct event e;

	(void)state;
	assert_int_equal(reader_open(s.fd, &r), -ENOENT);
	scratch_write(&s, "000000.vtx", "x", 1);
	scratch_write(&s, "00000.vtj", "x", 1);
	scratch_write(&s, "000000.vtj.tmp", "x", 1);
	assert_int_equal(reader_open(s.fd, &r), -ENOENT);
	assert_int_equal(mkfifoat(s.fd, "000000.vtj", 0600), 0);
	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_STOPPED);
	assert_false(reader_skip_damage(r));
	assert_int_equal(reader_seek(r, 1), -EBADMSG);
	reader_free(r);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_file_gives_all_whole_records),
		cmocka_unit_test(a_torn_record_is_said),
		cmocka_unit_test(a_flipped_byte_costs_what_it_hits),
		cmocka_unit_test(a_flipped_byte_in_a_packed_segment),
		cmocka_unit_test(frames_taken_out_put_in_or_swapped_are_seen),
		cmocka_unit_test(seals_and_ends_are_held_against_the_records),
		cmocka_unit_test(nothing_stands_behind_the_end),
		cmocka_unit_test(another_journals_frames_are_not_taken),
		cmocka_unit_test(forged_frames_in_the_data_are_not_taken),
		cmocka_unit_test(seek_goes_to_any_record),
		cmocka_unit_test(seek_does_not_read_what_it_passes),
		cmocka_unit_test(a_missing_segment_is_said_and_passed),
		cmocka_unit_test(a_segment_cut_in_the_middle_is_no_end),
		cmocka_unit_test(a_segment_of_another_session_is_said),
		cmocka_unit_test(a_live_journal_is_followed),
		cmocka_unit_test(half_a_record_is_waited_for),
		cmocka_unit_test(a_torn_tail_that_is_cut_is_not_remembered),
		cmocka_unit_test(a_head_that_names_another_block_is_seen),
		cmocka_unit_test(records_of_a_newer_version_are_said),
		cmocka_unit_test(what_is_no_journal_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
