/*
 * Going on after a crash at any byte, and after damage.
 */
#include "world.h"

static bool is_gap(const struct event *e, const char *reason)
{
	struct bytes class = event_bytes(e, FIELD_class), why = event_bytes(e, FIELD_reason);

	return e->kind == EVENT_gap && class.size == 7 && !memcmp(class.data, "journal", 7) &&
	       why.size == strlen(reason) && !memcmp(why.data, reason, why.size);
}

/* The last record of the journal, which must be whole up to it. */
static void last_record(const struct scratch *s, struct event *ret_event, uint64_t *ret_count)
{
	struct reader *r;
	struct event e;

	*ret_count = 0;
	assert_int_equal(reader_open(s->fd, &r), 0);
	while (reader_next(r, &e) == READER_RECORD) {
		(*ret_count)++;
		assert_int_equal(e.seq, *ret_count);
		if (is_gap(&e, "torn"))
			*ret_event = e; /* its texts are gone with the reader; the kind stays */
	}
	assert_null(reader_damage(r));
	reader_free(r);
}

/* Cut the file at every byte, open it again: whole records stay, and what was cut is declared. */
static void a_torn_tail_is_cut_and_declared(void **state)
{
	struct scratch whole = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal *j = sample_open(&whole, &(struct journal_options){.system = WORLD(&w)});
	uint64_t ends[32] = {0}, count = 0, all;
	uint8_t *bytes;
	size_t size;

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		sample_append(j, 1);
		assert_int_equal(i == 5 ? journal_sync(j) : journal_flush(j, 1), 0);
		ends[i] = journal_bytes(j);
	}
	crash(j, &w);
	bytes = scratch_read(&whole, "000000.vtj", &size);
	assert_int_equal(size, ends[11]);

	for (size_t cut = 0; cut <= size; cut++) {
		struct scratch s = scratch_new();
		struct event gap = {0};
		bool is_torn;

		w = (struct world){.room = UINT64_MAX};
		scratch_write(&s, "000000.vtj", bytes, cut);
		j = sample_open(&s, &(struct journal_options){.system = WORLD(&w)});
		for (count = 0; count < 12 && ends[count] <= cut; count++)
			;
		/* The seal behind the sixth record is a frame of its own. */
		is_torn = cut > SEGMENT_HEADS_SIZE && cut != (count ? ends[count - 1] : 0) &&
			  cut != ends[5] - FRAME_HEAD_SIZE - SEAL_SIZE;
		if (cut >= ends[5] - FRAME_HEAD_SIZE - SEAL_SIZE && cut < ends[5])
			count = 6;
		assert_int_equal(journal_next_seq(j), count + 1 + is_torn);
		assert_int_equal(journal_close(j), 0);
		last_record(&s, &gap, &all);
		assert_int_equal(all, count + is_torn);
		assert_int_equal(gap.kind == EVENT_gap, is_torn);
		scratch_free(&s);
	}
	free(bytes);
	scratch_free(&whole);
}

/* What a crash of the machine leaves: room that was never written. */
static void a_blank_tail_is_torn(void **state)
{
	static const uint8_t zeros[5000];
	struct scratch s = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal *j = sample_open(&s, &(struct journal_options){.system = WORLD(&w)});
	struct event gap = {0};
	uint64_t count;
	uint8_t *bytes;
	size_t size;

	(void)state;
	sample_append(j, 9);
	assert_int_equal(journal_flush(j, 1), 0);
	crash(j, &w);
	bytes = scratch_read(&s, "000000.vtj", &size);
	bytes = realloc(bytes, size + sizeof(zeros));
	memcpy(bytes + size, zeros, sizeof(zeros));
	scratch_write(&s, "000000.vtj", bytes, size + sizeof(zeros));
	free(bytes);

	j = sample_open(&s, NULL);
	assert_int_equal(journal_close(j), 0);
	last_record(&s, &gap, &count);
	assert_int_equal(count, 10);
	assert_int_equal(gap.kind, EVENT_gap);
	scratch_free(&s);
}

/* Damage with whole records behind it is evidence: it stays, and no number is given twice. */
static void a_damaged_segment_is_left_alone(void **state)
{
	struct scratch s = scratch_new();
	struct world w = {.room = UINT64_MAX};
	struct journal *j = sample_open(&s, &(struct journal_options){.system = WORLD(&w)});
	struct reader *r;
	struct event e;
	uint8_t *before, *after;
	size_t size, size_after;
	uint64_t last = 0, holes = 0;

	(void)state;
	sample_append(j, 20);
	assert_int_equal(journal_flush(j, 1), 0);
	crash(j, &w);
	before = scratch_read(&s, "000000.vtj", &size);
	before[size / 2] ^= 1;
	scratch_write(&s, "000000.vtj", before, size);

	j = sample_open(&s, NULL);
	assert_int_equal(journal_next_seq(j), 22);
	sample_append(j, 2);
	assert_int_equal(journal_close(j), 0);
	after = scratch_read(&s, "000000.vtj", &size_after);
	assert_int_equal(size_after, size);
	assert_memory_equal(before, after, size);

	assert_int_equal(reader_open(s.fd, &r), 0);
	for (;;) {
		enum reader_state state_now = reader_next(r, &e);

		if (state_now == READER_STOPPED) {
			holes++;
			assert_non_null(reader_damage(r)->why);
			assert_true(reader_skip_damage(r));
			continue;
		}
		if (state_now == READER_END)
			break;
		assert_true(e.seq > last);
		if (e.seq == 21)
			assert_true(is_gap(&e, "damaged"));
		else
			assert_true(is_sample_record(&e, e.seq));
		last = e.seq;
	}
	assert_int_equal(last, 23);
	assert_int_equal(holes, 2); /* the record, and the end that its segment does not have */
	assert_true(reader_is_complete(r));
	reader_free(r);
	free(before);
	free(after);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_torn_tail_is_cut_and_declared),
		cmocka_unit_test(a_blank_tail_is_torn),
		cmocka_unit_test(a_damaged_segment_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
