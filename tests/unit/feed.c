/*
 * The stream of all sessions: in order, in turn, holes told, and the cursor behind what was given.
 */
#include "exporters/feed.h"
#include "sample_journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define OTHER "fedcba987654"
#define SETUP ((struct feed_setup){.sessions_fd = s.fd, .cursor = &c, .parts = 1})

static void write_session(const struct scratch *s, const char *id, size_t count)
{
	struct scratch dir;
	struct journal *j;

	mkdirat(s->fd, id, 0700);
	dir.fd = openat(s->fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir.fd < 0 || journal_open(dir.fd, &(struct journal_options){.session = id}, &j) < 0)
		abort();
	sample_append(j, count);
	if (journal_close(j) < 0)
		abort();
	close(dir.fd);
}

static void remove_session(const struct scratch *s, const char *id)
{
	int fd = openat(s->fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	scratch_empty(fd);
	close(fd);
	assert_int_equal(unlinkat(s->fd, id, AT_REMOVEDIR), 0);
}

/* Read on until there is nothing: the numbers of each session follow one another. */
static size_t read_all(struct feed *f, uint64_t *first, uint64_t *other)
{
	struct fed fed;
	size_t count = 0;

	for (; feed_next(f, &fed); count++) {
		uint64_t *last = strcmp(fed.session, OTHER) ? first : other;

		assert_true(fed.event->seq == *last + 1);
		*last = fed.event->seq;
	}
	return count;
}

static void sessions_come_in_turn_and_are_settled(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = {0};
	uint64_t first = 0, other = 0;
	struct feed *f;

	(void)state;
	write_session(&s, SAMPLE_SESSION, 1000);
	write_session(&s, OTHER, 700);
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_int_equal(read_all(f, &first, &other), 1700);
	assert_int_equal(c.count, 0); /* nothing is settled yet */
	assert_true(feed_settle(f));
	assert_false(feed_settle(f));
	assert_int_equal(cursor_find(&c, SAMPLE_SESSION)->next_seq, 1001);
	assert_true(cursor_find(&c, OTHER)->is_done);
	feed_free(f);

	/* From that cursor on there is nothing. */
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_int_equal(read_all(f, &first, &other), 0);
	feed_free(f);
	cursor_free(&c);
	scratch_free(&s);
}

static void a_position_ahead_begins_anew(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = {0};
	uint64_t first = 0, other = 0;
	struct feed *f;

	(void)state;
	write_session(&s, SAMPLE_SESSION, 10);
	cursor_need(&c, SAMPLE_SESSION)->next_seq = 12;
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_int_equal(read_all(f, &first, &other), 10);
	assert_int_equal(feed_resets(f), 1);
	feed_free(f);
	cursor_free(&c);

	/* Just at the end is not ahead. */
	cursor_need(&c, SAMPLE_SESSION)->next_seq = 11;
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_int_equal(read_all(f, &first, &other), 0);
	assert_int_equal(feed_resets(f), 0);
	feed_free(f);
	cursor_free(&c);
	scratch_free(&s);
}

static void what_was_removed_unread_is_a_gap(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = {0};
	struct feed *f;
	struct fed fed;

	(void)state;
	cursor_need(&c, OTHER)->next_seq = 5;
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_true(feed_next(f, &fed));
	assert_int_equal(fed.event->kind, EVENT_gap);
	assert_string_equal(fed.session, OTHER);
	assert_int_equal(fed.event->seq, 5);
	assert_null(event_get(fed.event, FIELD_last)); /* nobody knows */
	assert_false(feed_next(f, &fed));
	assert_non_null(cursor_find(&c, OTHER));
	assert_true(feed_settle(f));
	assert_null(cursor_find(&c, OTHER));
	feed_free(f);
	cursor_free(&c);
	scratch_free(&s);
}

/* What was read to its end and then removed is no loss. */
static void what_was_removed_after_its_end_is_none(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = {0};
	uint64_t first = 0, other = 0;
	struct feed *f;

	(void)state;
	write_session(&s, OTHER, 10);
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_int_equal(read_all(f, &first, &other), 10);
	feed_settle(f);
	remove_session(&s, OTHER);
	assert_int_equal(feed_scan(f), 0);
	assert_int_equal(read_all(f, &first, &other), 0);
	feed_free(f);
	cursor_free(&c);
	scratch_free(&s);
}

/* Retention that takes the first segments of a journal before they were read. */
static void segments_that_were_removed_unread_are_a_gap(void **state)
{
	struct scratch s = scratch_new(), dir;
	struct cursor c = {0};
	struct journal *j;
	struct feed *f;
	struct fed fed;
	uint64_t next, first;

	(void)state;
	mkdirat(s.fd, SAMPLE_SESSION, 0700);
	dir.fd = openat(s.fd, SAMPLE_SESSION, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	j = sample_open(&dir, &(struct journal_options){.segment_bytes = 65536});
	for (size_t i = 0; i < 40; i++) {
		sample_append(j, 100);
		assert_int_equal(journal_flush(j, i * UINT64_C(2000000000)), 0);
	}
	assert_int_equal(journal_close(j), 0);
	assert_int_equal(faccessat(dir.fd, "000003.vtj", F_OK, 0), 0);

	/* What was delivered before is not told again. */
	cursor_need(&c, SAMPLE_SESSION)->next_seq = 11;
	assert_int_equal(unlinkat(dir.fd, "000000.vtj", 0), 0);
	assert_int_equal(unlinkat(dir.fd, "000001.vtj", 0), 0);
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	assert_true(feed_next(f, &fed));
	assert_int_equal(fed.event->kind, EVENT_gap);
	assert_int_equal(fed.event->seq, 11);
	assert_int_equal(event_get(fed.event, FIELD_first)->u64, 11);
	next = event_get(fed.event, FIELD_last)->u64 + 1;
	assert_int_equal(event_get(fed.event, FIELD_count)->u64, next - 11);
	assert_true(event_get(fed.event, FIELD_reason) &&
		    !memcmp(event_bytes(fed.event, FIELD_reason).data, "removed", 7));
	for (first = next; feed_next(f, &fed); next++)
		assert_true(fed.event->seq == next && fed.event->kind == EVENT_file_open);
	assert_true(first > 100 && next == 4001);
	assert_true(feed_settle(f));
	assert_int_equal(cursor_find(&c, SAMPLE_SESSION)->next_seq, 4001);
	feed_free(f);
	cursor_free(&c);
	close(dir.fd);
	scratch_free(&s);
}

/* The same, while they are being read: what is open is read on, and then there is a hole. */
static void segments_that_go_while_they_are_read_are_a_gap(void **state)
{
	struct scratch s = scratch_new(), dir;
	struct cursor c = {0};
	size_t gaps = 0, missing = 0, records = 0;
	uint64_t next = 1;
	struct journal *j;
	struct feed *f;
	struct fed fed;

	(void)state;
	mkdirat(s.fd, SAMPLE_SESSION, 0700);
	dir.fd = openat(s.fd, SAMPLE_SESSION, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	j = sample_open(&dir, &(struct journal_options){.segment_bytes = 65536});
	for (size_t i = 0; i < 40; i++) {
		sample_append(j, 100);
		assert_int_equal(journal_flush(j, i * UINT64_C(2000000000)), 0);
	}
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	for (; next <= 10; next++)
		assert_true(feed_next(f, &fed) && fed.event->seq == next);
	assert_int_equal(unlinkat(dir.fd, "000000.vtj", 0), 0);
	assert_int_equal(unlinkat(dir.fd, "000001.vtj", 0), 0);
	while (feed_next(f, &fed)) {
		assert_true(fed.event->seq == next);
		if (fed.event->kind == EVENT_gap) {
			gaps++;
			missing += event_get(fed.event, FIELD_count)->u64;
			assert_memory_equal(event_bytes(fed.event, FIELD_reason).data, "removed",
					    7);
			next = event_get(fed.event, FIELD_last)->u64 + 1;
			continue;
		}
		records++;
		next++;
	}
	assert_int_equal(gaps, 1);
	assert_true(missing > 100);
	assert_int_equal(10 + records + missing, 4000);
	assert_int_equal(journal_close(j), 0);
	feed_free(f);
	cursor_free(&c);
	close(dir.fd);
	scratch_free(&s);
}

/* Of two parts each session is in one, and both together have all; the cursor is theirs in common.
 */
static void parts_share_the_sessions(void **state)
{
	static const char *const ids[] = {"000000000001", "000000000002", "000000000003",
					  "000000000004", "000000000005", "000000000006"};
	struct scratch s = scratch_new();
	struct cursor c = {0};
	size_t count[2] = {0};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		write_session(&s, ids[i], 20);
	for (unsigned part = 0; part < 2; part++) {
		struct feed_setup setup = SETUP;
		struct feed *f;
		struct fed fed;

		setup.part = part;
		setup.parts = 2;
		assert_int_equal(feed_new(&setup, &f), 0);
		assert_int_equal(feed_scan(f), 0);
		while (feed_next(f, &fed))
			count[part]++;
		assert_true(feed_settle(f));
		feed_free(f);
	}
	assert_int_equal(count[0] + count[1], 120);
	assert_true(count[0] > 0 && count[1] > 0);
	assert_int_equal(c.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(cursor_find(&c, ids[i])->next_seq, 21);
	cursor_free(&c);
	scratch_free(&s);
}

/* Sessions that come in any order are found, and each has its turn. */
static void a_session_that_comes_takes_no_turn_away(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = {0};
	uint64_t first = 0, other = 0;
	struct feed *f;
	struct fed fed;

	(void)state;
	write_session(&s, OTHER, 300);
	assert_int_equal(feed_new(&SETUP, &f), 0);
	assert_int_equal(feed_scan(f), 0);
	for (size_t i = 0; i < 100; i++) {
		assert_true(feed_next(f, &fed));
		other = fed.event->seq;
	}
	write_session(&s, SAMPLE_SESSION, 50); /* before it, by its id */
	assert_int_equal(feed_scan(f), 0);
	assert_true(feed_next(f, &fed));
	assert_string_equal(fed.session, OTHER);
	other = fed.event->seq;
	assert_int_equal(read_all(f, &first, &other), 199 + 50);
	feed_free(f);
	cursor_free(&c);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_come_in_turn_and_are_settled),
		cmocka_unit_test(a_position_ahead_begins_anew),
		cmocka_unit_test(what_was_removed_unread_is_a_gap),
		cmocka_unit_test(what_was_removed_after_its_end_is_none),
		cmocka_unit_test(segments_that_were_removed_unread_are_a_gap),
		cmocka_unit_test(segments_that_go_while_they_are_read_are_a_gap),
		cmocka_unit_test(parts_share_the_sessions),
		cmocka_unit_test(a_session_that_comes_takes_no_turn_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
