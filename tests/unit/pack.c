/*
 * Compressing segments: nothing of the record changes, and a rewrite that fails changes nothing.
 */
#include "world.h"

static void segments_are_compressed(void **state)
{
	struct journal_options options = {
		.segment_bytes = 16384, .block_bytes = 4096, .compress = true, .compress_least = 1};
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &options);
	struct stat st, again;

	(void)state;
	sample_append(j, 1000);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_PACKED), 0);
	while (journal_tidy(j))
		assert_whole(&s, 1000, false); /* at every step */
	assert_in_range(count_frames(&s, 0, FRAME_PACKED), 3, 6);
	assert_int_equal(count_frames(&s, 0, FRAME_RECORD), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_FINISH), 1);
	assert_false(scratch_has(&s, "000000.vtj.tmp"));
	assert_int_equal(fstatat(s.fd, "000000.vtj", &st, 0), 0);
	assert_true(st.st_size < 8192);
	sample_append(j, 1000);
	assert_int_equal(journal_close(j), 0);
	assert_whole(&s, 2000, true);
	assert_int_equal(count_frames(&s, 0, FRAME_RECORD), 0);

	assert_int_equal(fstatat(s.fd, "000000.vtj", &st, 0), 0);
	journal_close(sample_open(&s, &options));
	assert_int_equal(fstatat(s.fd, "000000.vtj", &again, 0), 0);
	assert_int_equal(st.st_ino, again.st_ino); /* not once more */
	scratch_free(&s);
}

static void a_small_segment_is_not_worth_it(void **state)
{
	struct journal_options options = {.compress = true, .compress_least = 2000};
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &options);

	(void)state;
	sample_append(j, 10);
	journal_close(j);
	j = sample_open(&s, &options);
	sample_append(j, 50);
	journal_close(j);
	assert_int_equal(count_frames(&s, 0, FRAME_RECORD), 10);
	assert_int_equal(count_frames(&s, 1, FRAME_RECORD), 0);
	assert_whole(&s, 60, true);
	scratch_free(&s);
}

/* The disk is full, or the machine dies, at any byte of the rewrite: the segment stays as it is. */
static void a_rewrite_that_fails_changes_nothing(void **state)
{
	struct scratch s = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal_options options = {.segment_bytes = 4096,
					  .block_bytes = 1024,
					  .compress = true,
					  .compress_least = 1,
					  .system = WORLD(&w)};
	struct journal *j = sample_open(&s, &options);
	uint8_t *before, *after;
	size_t size, size_after;

	(void)state;
	sample_append(j, 60);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_true(scratch_has(&s, "000001.vtj"));
	before = scratch_read(&s, "000000.vtj", &size);
	for (uint64_t room = 0; room < 600; room += 7) {
		w.room = room;
		while (journal_tidy(j))
			;
		after = scratch_read(&s, "000000.vtj", &size_after);
		assert_int_equal(size_after, size);
		assert_memory_equal(before, after, size);
		free(after);
		assert_false(scratch_has(&s, "000000.vtj.tmp"));
		w.room = UINT64_MAX;
		assert_int_equal(journal_flush(j, 1), 0); /* none of the journal's */

		crash(j, &w); /* a new one tries again */
		w = (struct world){.room = UINT64_MAX};
		scratch_write(&s, "000000.vtj.tmp", before, room);
		j = sample_open(&s, &options);
	}
	assert_whole(&s, 60, false);
	assert_int_equal(journal_close(j), 0);
	assert_int_equal(count_frames(&s, 0, FRAME_RECORD), 0);
	assert_false(scratch_has(&s, "000000.vtj.tmp"));
	assert_whole(&s, 60, true);
	free(before);
	scratch_free(&s);
}

/* Retention removes a segment while it is compressed: it does not come again. */
static void a_segment_that_went_stays_away(void **state)
{
	struct journal_options options = {
		.segment_bytes = 16384, .block_bytes = 4096, .compress = true, .compress_least = 1};
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &options);

	(void)state;
	sample_append(j, 1000);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_true(journal_tidy(j) && journal_tidy(j));
	assert_true(scratch_has(&s, "000000.vtj.tmp"));
	assert_int_equal(unlinkat(s.fd, "000000.vtj", 0), 0);
	while (journal_tidy(j))
		;
	assert_false(scratch_has(&s, "000000.vtj"));
	assert_false(scratch_has(&s, "000000.vtj.tmp"));
	assert_true(count_frames(&s, 1, FRAME_PACKED) > 0);
	assert_int_equal(journal_close(j), 0);
	scratch_free(&s);
}

static void a_damaged_segment_is_not_compressed(void **state)
{
	struct journal_options options = {.segment_bytes = 4096, .block_bytes = 1024};
	struct scratch s = scratch_new();
	struct journal *j = sample_open(&s, &options);
	uint8_t *bytes;
	size_t size;

	(void)state;
	sample_append(j, 200);
	assert_int_equal(journal_close(j), 0);
	bytes = scratch_read(&s, "000001.vtj", &size);
	bytes[size / 2] ^= 0x10;
	scratch_write(&s, "000001.vtj", bytes, size);
	free(bytes);

	options.compress = true;
	options.compress_least = 1;
	assert_int_equal(journal_close(sample_open(&s, &options)), 0);
	assert_true(count_frames(&s, 1, FRAME_RECORD) > 5);
	assert_int_equal(count_frames(&s, 0, FRAME_RECORD), 0);
	assert_int_equal(count_frames(&s, 2, FRAME_RECORD), 0);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_compressed),
		cmocka_unit_test(a_small_segment_is_not_worth_it),
		cmocka_unit_test(a_rewrite_that_fails_changes_nothing),
		cmocka_unit_test(a_segment_that_went_stays_away),
		cmocka_unit_test(a_damaged_segment_is_not_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
