/*
 * Acts: what was done with records, as the ledger commits to it; and what a verifier says of them.
 */
#include "supervisor/record/acts.h"
#include "replay/removals.h"
#include "signed_world.h"

static struct redacted act_of(enum event_kind kind, const char *why)
{
	struct redacted record;

	event_init(&record.event, kind, wall_ns(), 1);
	event_put_text(&record.event, FIELD_why, why);
	return record;
}

static void add(const struct host_world *h, enum ledger_kind kind, const char *session,
		const char *why)
{
	struct redacted record =
		act_of(kind == LEDGER_REMOVE ? EVENT_record_retention : EVENT_record_hold, why);
	struct acts *acts;

	assert_int_equal(acts_open(h->state, ACTS_READ, &acts), 0);
	assert_int_equal(acts_add(acts, kind, session, &record, true), 0);
	acts_close(acts);
}

static struct acts *reopen(const struct host_world *h)
{
	struct acts *acts;

	assert_int_equal(acts_open(h->state, ACTS_READ, &acts), 0);
	return acts;
}

/* Change the file of acts: what @bend makes of its text. */
static void bend(const struct host_world *h, size_t (*bend_text)(char *text, size_t size))
{
	size_t size;
	char *text = (char *)scratch_read(&h->root, "state/acts", &size);

	text = realloc(text, size + 64);
	size = bend_text(text, size);
	scratch_write(&h->root, "state/acts", (uint8_t *)text, size);
	free(text);
}

static void holds_come_and_go(void **state)
{
	struct host_world h = host_new();
	struct acts *acts;

	(void)state;
	add(&h, LEDGER_HOLD, SESSION_A, "one");
	add(&h, LEDGER_HOLD, SESSION_B, "two");
	add(&h, LEDGER_RELEASE, SESSION_A, "three");
	acts = reopen(&h);
	assert_int_equal(acts_count(acts), 3);
	assert_false(acts_is_held(acts, SESSION_A));
	assert_true(acts_is_held(acts, SESSION_B));
	assert_false(acts_is_removed(acts, SESSION_B));
	assert_string_equal(acts_get(acts, 1)->session, SESSION_B);
	assert_non_null(memmem(acts_get(acts, 2)->text.data, acts_get(acts, 2)->text.size,
			       "\"why\":\"three\"", 13));
	acts_close(acts);
	host_free(&h);
}

static void the_last_note_is_the_ledgers(void **state)
{
	struct host_world h = host_new();
	uint64_t time_ns = 0;
	struct acts *acts;

	(void)state;
	host_record(&h, SESSION_A, 8, NULL);
	acts = reopen(&h);
	assert_non_null(acts_last_note(acts, SESSION_A, &time_ns));
	assert_true(time_ns > 0);
	assert_null(acts_last_note(acts, SESSION_B, &time_ns));
	acts_close(acts);
	host_free(&h);
}

static size_t change(char *text, size_t size)
{
	*(char *)memmem(text, size, "one", 3) = 'O';
	return size;
}

static size_t drop_first(char *text, size_t size)
{
	char *second = (char *)memchr(text, '\n', size) + 1;
	size_t rest = size - (size_t)(second - text);

	memmove(text, second, rest);
	return rest;
}

static size_t drop_all(char *text, size_t size)
{
	(void)text, (void)size;
	return 0;
}

static size_t swap_letters(char *text, size_t size)
{
	char *why = memmem(text, size, "one", 3);

	memcpy(why, "two", 3);
	memcpy((char *)memmem(why + 3, size - (size_t)(why + 3 - text), "two", 3), "one", 3);
	return size;
}

static void what_the_ledger_knows_has_to_be_there(void **state)
{
	size_t (*const bends[])(char *, size_t) = {change, drop_first, drop_all, swap_letters};

	(void)state;
	for (size_t i = 0; i < sizeof(bends) / sizeof(*bends); i++) {
		struct host_world h = host_new();
		struct trusted_keys keys = {0};
		struct removals removals;
		struct book book;
		struct acts *acts;
		int fd;

		add(&h, LEDGER_HOLD, SESSION_A, "one");
		add(&h, LEDGER_HOLD, SESSION_B, "two");
		bend(&h, bends[i]);
		assert_int_equal(acts_open(h.state, ACTS_READ, &acts), -EBADMSG);

		fd = openat(h.root.fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(trusted_keys_read(&keys, h.key), 0);
		assert_int_equal(book_read(fd, "chain", &keys, &book), 0);
		assert_int_equal(removals_read(fd, &book, &removals), 0);
		assert_true(removals.missing > 0);
		removals_free(&removals);
		book_free(&book);
		trusted_keys_free(&keys);
		close(fd);
		host_free(&h);
	}
}

static size_t add_unsigned(char *text, size_t size)
{
	static const char forged[] = "{\"kind\":\"record.hold\",\"state\":\"released\"}\n";

	memcpy(text + size, forged, sizeof(forged) - 1);
	return size + sizeof(forged) - 1;
}

static size_t tear(char *text, size_t size)
{
	memcpy(text + size, "{\"kind\":", 8);
	return size + 8;
}

/* A crash, or a forger, leaves a text that no line of the ledger knows: it counts for nothing. */
static void what_was_not_signed_counts_for_nothing(void **state)
{
	size_t (*const bends[])(char *, size_t) = {add_unsigned, tear};

	(void)state;
	for (size_t i = 0; i < sizeof(bends) / sizeof(*bends); i++) {
		struct host_world h = host_new();
		struct acts *acts;

		add(&h, LEDGER_HOLD, SESSION_A, "one");
		bend(&h, bends[i]);
		acts = reopen(&h);
		assert_int_equal(acts_count(acts), 1);
		assert_true(acts_is_held(acts, SESSION_A));
		acts_close(acts);
		add(&h, LEDGER_HOLD, SESSION_B, "two");
		acts = reopen(&h);
		assert_int_equal(acts_count(acts), 2);
		assert_true(acts_is_held(acts, SESSION_B));
		acts_close(acts);
		host_free(&h);
	}
}

/* What is removed by an act is told as such; without the act's text, or the act, it is tampering.
 */
static void a_removal_is_told(void **state)
{
	struct host_world h = host_new();
	struct trusted_keys keys = {0}, none = {0};
	struct verify_result result;
	int fd = openat(h.root.fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	host_record(&h, SESSION_A, 8, NULL);
	add(&h, LEDGER_REMOVE, SESSION_A, "old");
	assert_int_equal(trusted_keys_read(&keys, h.key), 0);
	assert_int_equal(removals_find(fd, &keys, SESSION_A, &result), 0);
	assert_int_equal(result.verdict, VERIFY_INCOMPLETE);
	assert_non_null(strstr(result.why, "removed by retention, as recorded"));
	assert_int_equal(removals_find(fd, &keys, SESSION_B, &result), -ENOENT);
	assert_int_equal(removals_find(fd, &none, SESSION_A, &result), 0);
	assert_int_equal(result.verdict, VERIFY_UNKNOWN);
	bend(&h, drop_all);
	assert_int_equal(removals_find(fd, &keys, SESSION_A, &result), 0);
	assert_int_equal(result.verdict, VERIFY_TAMPERED);
	trusted_keys_free(&keys);
	close(fd);
	host_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_come_and_go),
		cmocka_unit_test(the_last_note_is_the_ledgers),
		cmocka_unit_test(what_the_ledger_knows_has_to_be_there),
		cmocka_unit_test(what_was_not_signed_counts_for_nothing),
		cmocka_unit_test(a_removal_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
