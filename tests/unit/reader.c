/*
 * Reading journals that are whole, cut off or growing, of one segment and of many.
 */
#include "small_journal.h"

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
	struct reader_damage damage = {0};
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

static struct scratch many_segments(bool is_packed)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &(struct journal_options){.segment_bytes = 3000,
								      .block_bytes = 600,
								      .compress = is_packed,
								      .compress_least = 1});

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
								      .compress = true,
								      .compress_least = 1});
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_file_gives_all_whole_records),
		cmocka_unit_test(a_torn_record_is_said),
		cmocka_unit_test(seek_goes_to_any_record),
		cmocka_unit_test(seek_does_not_read_what_it_passes),
		cmocka_unit_test(a_missing_segment_is_said_and_passed),
		cmocka_unit_test(a_segment_cut_in_the_middle_is_no_end),
		cmocka_unit_test(a_segment_of_another_session_is_said),
		cmocka_unit_test(a_live_journal_is_followed),
		cmocka_unit_test(half_a_record_is_waited_for),
		cmocka_unit_test(a_torn_tail_that_is_cut_is_not_remembered),
		cmocka_unit_test(records_of_a_newer_version_are_said),
		cmocka_unit_test(what_is_no_journal_is_refused),
		cmocka_unit_test(a_head_that_names_another_block_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
