/*
 * Writing: segments and blocks, writes that fail, and going on where a journal ended.
 */
#include "supervisor/record/seal.h"
#include "world.h"

static void what_is_written_is_read(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, NULL);

	(void)state;
	assert_int_equal(journal_next_seq(j), 1);
	sample_append(j, 1000);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_whole(&s, 1000, false);
	sample_append(j, 1);
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 1001, true);
	scratch_free(&s);
}

static void nothing_is_kept_back_by_a_flush(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, NULL);

	(void)state;
	for (uint64_t i = 1; i <= 50; i++) {
		sample_append(j, 1);
		assert_int_equal(journal_flush(j, i), 0);
		assert_whole(&s, i, false);
	}
	journal_close(j);
	scratch_free(&s);
}

static void blocks_are_sealed_by_size_age_and_sync(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j =
		sample_open(&s, &(struct journal_options){.block_bytes = 4096, .block_ns = 1000});

	(void)state;
	sample_append(j, 1);
	assert_int_equal(journal_flush(j, 10), 0);
	assert_int_equal(journal_flush(j, 1009), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 0);
	assert_int_equal(journal_flush(j, 1010), 0); /* old */
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 1);
	assert_int_equal(journal_flush(j, 9999), 0); /* nothing to seal */
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 1);

	sample_append(j, 1); /* its age is its own */
	assert_int_equal(journal_flush(j, 10000), 0);
	assert_int_equal(journal_flush(j, 10999), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 1);
	assert_int_equal(journal_sync(j), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 2);
	assert_int_equal(journal_sync(j), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 2);

	sample_append(j, 200); /* some 75 bytes each */
	assert_int_equal(journal_flush(j, 11000), 0);
	assert_in_range(count_frames(&s, 0, FRAME_SEAL), 4, 7);
	journal_close(j);
	assert_whole(&s, 202, true);
	scratch_free(&s);
}

static void segments_follow_one_another(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(
		&s, &(struct journal_options){.segment_bytes = 8192, .block_bytes = 2048});
	struct stat st;
	uint64_t size = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		sample_append(j, 50);
		assert_int_equal(journal_flush(j, 1), 0);
	}
	assert_true(scratch_has(&s, "000005.vtj"));
	assert_int_equal(count_frames(&s, 0, FRAME_FINISH), 1);
	for (uint32_t i = 0; i < 100; i++) {
		char name[SEGMENT_NAME_SIZE];

		segment_name(i, "", name);
		if (!fstatat(s.fd, name, &st, 0))
			size += (uint64_t)st.st_size;
	}
	assert_int_equal(journal_bytes(j), size);
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 1000, true);
	scratch_free(&s);
}

static void one_flush_may_fill_many_segments(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(
		&s, &(struct journal_options){.segment_bytes = 4096, .block_bytes = 1024});

	(void)state;
	sample_append(j, 2000);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_whole(&s, 2000, false);
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 2000, true);
	scratch_free(&s);
}

static void a_closed_journal_goes_on_in_a_new_segment(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, NULL);

	(void)state;
	sample_append(j, 5);
	journal_close(j);
	j = sample_open(&s, NULL);
	assert_int_equal(journal_next_seq(j), 6);
	assert_int_equal(journal_close(j), 0); /* nothing came: nothing is made */
	assert_false(scratch_has(&s, "000001.vtj"));

	j = sample_open(&s, NULL);
	sample_append(j, 5);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_true(scratch_has(&s, "000001.vtj"));
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 10, true);
	scratch_free(&s);
}

static void an_open_block_goes_on_after_a_crash(void **state)
{
	struct scratch s = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal *j = sample_open(&s, &(struct journal_options){.system = WORLD(&w)});

	(void)state;
	sample_append(j, 10);
	assert_int_equal(journal_sync(j), 0);
	sample_append(j, 7);
	assert_int_equal(journal_flush(j, 1), 0);
	crash(j, &w);

	j = sample_open(&s, NULL);
	assert_int_equal(journal_next_seq(j), 18);
	sample_append(j, 3);
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 20, true); /* no gap: nothing was cut */
	assert_int_equal(count_frames(&s, 0, FRAME_SEAL), 2);
	scratch_free(&s);
}

/* Over crashes, ends and segments: blocks are numbered through, and each names the one before. */
static void the_chain_has_no_break(void **state)
{
	struct scratch s = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal_options options = {
		.segment_bytes = 3000, .block_bytes = 700, .system = WORLD(&w)};
	uint8_t previous[HASH_SIZE] = {0};
	uint64_t blocks = 0;
	uint32_t number;

	(void)state;
	for (int round = 0; round < 6; round++) {
		struct journal *j = sample_open(&s, &options);

		sample_append(j, 30);
		assert_int_equal(journal_flush(j, 1), 0);
		if (round % 2)
			journal_close(j);
		else
			crash(j, &w);
		w = (struct world){.room = UINT64_MAX};
	}
	for (int64_t at = -1; !segment_after(s.fd, at, &number); at = number) {
		struct segment *segment;
		struct finish finish;
		struct frame frame;
		struct seal seal;

		assert_int_equal(segment_open(s.fd, number, &segment), 0);
		assert_int_equal(segment_head(segment)->blocks, blocks);
		assert_memory_equal(segment_head(segment)->previous, previous, HASH_SIZE);
		while (segment_next_raw(segment, &frame) == SEGMENT_FRAME) {
			if (frame.type == FRAME_SEAL) {
				assert_true(seal_get(frame.payload, &seal));
				assert_int_equal(seal.block, blocks++);
				assert_memory_equal(seal.previous, previous, HASH_SIZE);
				seal_hash(frame.payload.data, previous);
			} else if (frame.type == FRAME_FINISH) {
				assert_true(finish_get(frame.payload, &finish));
				assert_int_equal(finish.blocks, blocks);
			}
		}
		segment_free(segment);
	}
	assert_in_range(blocks, 12, 60);
	assert_whole(&s, 180, true);
	scratch_free(&s);
}

/* A disk that fills up at byte after byte: after a retry the file is as if nothing had been. */
static void a_failed_write_goes_on_at_its_byte(void **state)
{
	(void)state;
	for (size_t step = 1; step < 200; step += 3) {
		struct scratch s = scratch_new();
		struct world w = {.room = UINT64_MAX, .most = 37};
		struct journal_options options = {
			.segment_bytes = 2048, .block_bytes = 512, .system = WORLD(&w)};
		struct journal *j = sample_open(&s, &options);
		uint64_t failures = 0;

		w.room = 0;
		for (uint64_t i = 1; i <= 100; i++) {
			struct redacted record;
			int r;

			sample_record(&record, i);
			r = journal_append(j, &record, NULL);
			if (!r)
				r = journal_flush(j, 1);
			while (r) {
				uint64_t next = journal_next_seq(j);

				assert_int_equal(r, -ENOSPC);
				assert_int_equal(journal_append(j, &record, NULL), -ENOSPC);
				assert_int_equal(journal_flush(j, 1), -ENOSPC);
				assert_int_equal(journal_sync(j), -ENOSPC);
				assert_int_equal(journal_next_seq(j), next);
				failures++;
				w.room += step;
				r = journal_retry(j);
				if (!r && next == i) /* it was refused: once more */
					r = journal_append(j, &record, NULL);
			}
			assert_int_equal(journal_next_seq(j), i + 1);
		}
		assert_true(failures >= 7000 / step / 2);
		w.room = UINT64_MAX;
		assert_int_equal(journal_close(j), 0);
		assert_whole(&s, 100, true);
		scratch_free(&s);
	}
}

static void a_failed_sync_is_for_good(void **state)
{
	struct scratch s = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal *j = sample_open(&s, &(struct journal_options){.system = WORLD(&w)});
	struct redacted record;

	(void)state;
	sample_append(j, 3);
	w.sync_error = EDQUOT;
	assert_int_equal(journal_sync(j), -EDQUOT);
	w.sync_error = 0;
	sample_record(&record, 4);
	assert_true(journal_append(j, &record, NULL) < 0);
	assert_int_equal(journal_retry(j), -EIO);
	assert_int_equal(journal_append(j, &record, NULL), -EIO);
	assert_int_equal(journal_close(j), -EIO);
	assert_whole(&s, 3, false);
	scratch_free(&s);
}

static void large_records_are_kept_whole(void **state)
{
	size_t size = 3 << 20;
	char *argument = malloc(size);
	struct scratch s = scratch_new();
	struct journal *j =
		sample_open(&s, &(struct journal_options){.compress = true, .compress_least = 1});
	struct redacted record;
	struct reader *r;
	struct event e;

	(void)state;
	memset(argument, 'x', size);
	argument[size - 1] = 0;
	event_init(&record.event, EVENT_process_exec, 1, 1);
	event_put_bytes(&record.event, FIELD_argv, argument, size);
	assert_int_equal(journal_append(j, &record, NULL), 0);
	sample_append(j, 1);
	assert_int_equal(journal_close(j), 0);

	assert_int_equal(reader_open(s.fd, &r), 0);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_int_equal(event_bytes(&e, FIELD_argv).size, size);
	assert_memory_equal(event_bytes(&e, FIELD_argv).data, argument, size);
	assert_int_equal(reader_next(r, &e), READER_RECORD);
	assert_true(is_sample_record(&e, 2));
	reader_free(r);
	free(argument);
	scratch_free(&s);
}

static void a_record_that_is_too_large_is_refused(void **state)
{
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, NULL);
	char *argument = calloc(1, JOURNAL_RECORD_MAX);
	struct redacted record;

	(void)state;
	event_init(&record.event, EVENT_process_exec, 1, 1);
	event_put_bytes(&record.event, FIELD_argv, argument, JOURNAL_RECORD_MAX);
	assert_int_equal(journal_append(j, &record, NULL), -E2BIG);
	assert_int_equal(journal_next_seq(j), 1);
	sample_append(j, 1);
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 1, true);
	free(argument);
	scratch_free(&s);
}

static void what_is_no_journal_of_ours_is_refused(void **state)
{
	struct journal_options options = {.session = "another"};
	struct scratch s = scratch_new();
	struct journal *j;
	uint8_t *bytes;
	size_t size;

	(void)state;
	journal_close(sample_open(&s, NULL));
	assert_int_equal(journal_open(s.fd, &options, &j), -EBADMSG);
	bytes = scratch_read(&s, "000000.vtj", &size);
	bytes[3] ^= 1;
	bytes[SEGMENT_HEAD_SIZE + 3] ^= 1;
	scratch_write(&s, "000000.vtj", bytes, size);
	free(bytes);
	options.session = SAMPLE_SESSION;
	assert_int_equal(journal_open(s.fd, &options, &j), -EBADMSG);

	options.session = "";
	assert_int_equal(journal_open(s.fd, &options, &j), -EINVAL);
	options.session = "a name of more than thirty-two bytes";
	assert_int_equal(journal_open(s.fd, &options, &j), -EINVAL);
	assert_int_equal(unlinkat(s.fd, "000000.vtj", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", s.fd, "000000.vtj"), 0);
	options.session = SAMPLE_SESSION;
	assert_int_equal(journal_open(s.fd, &options, &j), -ELOOP);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(nothing_is_kept_back_by_a_flush),
		cmocka_unit_test(blocks_are_sealed_by_size_age_and_sync),
		cmocka_unit_test(segments_follow_one_another),
		cmocka_unit_test(one_flush_may_fill_many_segments),
		cmocka_unit_test(a_closed_journal_goes_on_in_a_new_segment),
		cmocka_unit_test(an_open_block_goes_on_after_a_crash),
		cmocka_unit_test(the_chain_has_no_break),
		cmocka_unit_test(a_failed_write_goes_on_at_its_byte),
		cmocka_unit_test(a_failed_sync_is_for_good),
		cmocka_unit_test(large_records_are_kept_whole),
		cmocka_unit_test(a_record_that_is_too_large_is_refused),
		cmocka_unit_test(what_is_no_journal_of_ours_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
