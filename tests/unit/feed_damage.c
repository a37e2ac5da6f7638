/*
 * A stream out of a journal that is torn or bent at any byte: what is whole is given once and in
 * order, and what is missing is told, to the last number.
 */
#include "exporters/feed.h"
#include "small_journal.h"

struct world {
	struct scratch root, dir;
	struct cursor cursor;
	struct feed *feed;
};

static struct world world_new(const uint8_t *bytes, size_t size)
{
	struct world w = {.root = scratch_new()};

	mkdirat(w.root.fd, SAMPLE_SESSION, 0700);
	w.dir.fd = openat(w.root.fd, SAMPLE_SESSION, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w.dir.fd >= 0);
	scratch_write(&w.dir, "000000.vtj", bytes, size);
	return w;
}

static void world_open(struct world *w)
{
	const struct feed_setup setup = {
		.sessions_fd = w->root.fd, .cursor = &w->cursor, .parts = 1};

	assert_int_equal(feed_new(&setup, &w->feed), 0);
	assert_int_equal(feed_scan(w->feed), 0);
}

static void world_free(struct world *w)
{
	feed_free(w->feed);
	cursor_free(&w->cursor);
	close(w->dir.fd);
	scratch_free(&w->root);
}

/* Read on from @next; numbers without a gap between them, in records and in what gaps tell. */
static uint64_t read_on(struct world *w, uint64_t next, size_t *ret_missing)
{
	struct fed fed;
	size_t turns = 0;

	while (feed_next(w->feed, &fed)) {
		assert_true(++turns < 4 * RECORDS);
		assert_int_equal(fed.event->seq, next);
		if (fed.event->kind != EVENT_gap) {
			assert_true(is_sample_record(fed.event, next));
			next++;
			continue;
		}
		assert_int_equal(event_get(fed.event, FIELD_first)->u64, next);
		*ret_missing += event_get(fed.event, FIELD_count)->u64;
		next = event_get(fed.event, FIELD_last)->u64 + 1;
	}
	return next;
}

static void what_is_torn_anywhere_goes_on_when_it_is_whole(void **state)
{
	uint64_t ends[RECORDS];
	size_t size, count;
	uint8_t *bytes = small_journal(true, false, &size);

	(void)state;
	count = record_ends(bytes, size, ends);
	assert_int_equal(count, RECORDS);
	for (size_t at = 0; at < size; at++) {
		struct world w = world_new(bytes, at);
		size_t whole = 0, missing = 0;
		uint64_t next;

		while (whole < RECORDS && ends[whole] <= at)
			whole++;
		world_open(&w);
		next = read_on(&w, 1, &missing);
		assert_int_equal(next, whole + 1);
		assert_int_equal(missing, 0);
		/* Another process, with the cursor of this one, when the rest is there. */
		feed_settle(w.feed);
		feed_free(w.feed);
		scratch_write(&w.dir, "000000.vtj", bytes, size);
		world_open(&w);
		next = read_on(&w, next, &missing);
		assert_int_equal(next, RECORDS + 1);
		assert_int_equal(missing, 0);
		world_free(&w);
	}
	free(bytes);
}

static void what_is_bent_anywhere_is_told_to_the_last_number(void **state)
{
	uint64_t ends[RECORDS];
	size_t size;
	uint8_t *bytes = small_journal(true, false, &size);

	(void)state;
	record_ends(bytes, size, ends);
	/* The head of the segment is what makes it one; its end says how many there were. */
	for (size_t at = ends[0]; at < ends[RECORDS - 1]; at++) {
		struct world w;
		size_t missing = 0;
		uint64_t next;

		bytes[at] ^= 0xff;
		w = world_new(bytes, size);
		world_open(&w);
		next = read_on(&w, 1, &missing);
		if (next != RECORDS + 1 || missing > RECORDS / 2)
			fail_msg("byte %zu: to %llu, %zu missing", at, (unsigned long long)next,
				 missing);
		world_free(&w);
		bytes[at] ^= 0xff;
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_torn_anywhere_goes_on_when_it_is_whole),
		cmocka_unit_test(what_is_bent_anywhere_is_told_to_the_last_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
