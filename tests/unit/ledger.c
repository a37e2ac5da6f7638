/*
 * The ledger: each line under its own key, whatever crashes between two of them.
 */
#include "signed_world.h"

#include "replay/book.h"

static struct book read_book(const struct host_world *h)
{
	struct trusted_keys keys = {0};
	struct book book;

	assert_int_equal(trusted_keys_read(&keys, h->key), 0);
	assert_int_equal(book_read(h->root.fd, "state/chain", &keys, &book), 0);
	trusted_keys_free(&keys);
	return book;
}

static void add(const struct host_world *h, enum ledger_kind kind, bool is_durable)
{
	static const uint8_t detail[HASH_SIZE] = "what it is about";

	assert_int_equal(ledger_add(h->state, kind, "host/session", detail, is_durable, NULL), 0);
}

static void assert_good(const struct host_world *h, size_t count)
{
	struct book book = read_book(h);
	uint8_t public[SIGN_PUBLIC_SIZE];
	uint64_t index;

	assert_null(book.why);
	assert_int_equal(book.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(book.lines[i].line.index, i);
		assert_true(book.lines[i].is_trusted);
	}
	assert_int_equal(ledger_key(h->state, &index, public), 0);
	assert_int_equal(index, count);
	assert_memory_equal(public, book.lines[count - 1].line.next, sizeof(public));
	book_free(&book);
}

static void each_line_has_a_key_of_its_own(void **state)
{
	struct host_world h = host_new();

	(void)state;
	add(&h, LEDGER_OPEN, false);
	add(&h, LEDGER_OPEN, false);
	assert_good(&h, 3);
	add(&h, LEDGER_END, true);
	add(&h, LEDGER_ROTATE, true);
	add(&h, LEDGER_OPEN, false);
	add(&h, LEDGER_END, true);
	assert_good(&h, 7);
	host_free(&h);
}

/* A line that was made durable leaves no key with which it could be signed again. */
static void used_keys_are_gone(void **state)
{
	struct host_world h = host_new();
	uint8_t *before, *after;
	size_t size;

	(void)state;
	add(&h, LEDGER_OPEN, true);
	before = scratch_read(&h.root, "state.sign", &size);
	add(&h, LEDGER_END, true);
	after = scratch_read(&h.root, "state.sign", &size);
	assert_memory_not_equal(before + 16, after + 16, SIGN_SEED_SIZE);
	free(before);
	free(after);
	host_free(&h);
}

/* The key file of any moment before goes with the ledger of now, but not the other way round. */
static void the_key_may_lag_but_not_lead(void **state)
{
	struct host_world h = host_new();
	uint8_t *key, *ledger;
	size_t key_size, ledger_size;
	uint8_t public[SIGN_PUBLIC_SIZE];
	uint64_t index;

	(void)state;
	add(&h, LEDGER_OPEN, true);
	key = scratch_read(&h.root, "state.sign", &key_size);
	ledger = scratch_read(&h.root, "state/chain", &ledger_size);
	add(&h, LEDGER_END, true);
	add(&h, LEDGER_OPEN, true);
	scratch_write(&h.root, "state.sign", key, key_size);
	add(&h, LEDGER_END, true);
	assert_good(&h, 5);

	scratch_write(&h.root, "state/chain", ledger, ledger_size);
	assert_int_equal(ledger_key(h.state, &index, public), -EKEYREJECTED);
	assert_int_equal(ledger_add(h.state, LEDGER_OPEN, "host/s", NULL, true, NULL),
			 -EKEYREJECTED);
	free(key);
	free(ledger);
	host_free(&h);
}

static void a_torn_line_is_cut_off(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 200; cut += 13) {
		struct host_world h = host_new();
		uint8_t *ledger;
		size_t size;

		add(&h, LEDGER_OPEN, true);
		add(&h, LEDGER_END, false);
		ledger = scratch_read(&h.root, "state/chain", &size);
		scratch_write(&h.root, "state/chain", ledger, size - cut);
		add(&h, LEDGER_END, true);
		assert_good(&h, 3);
		free(ledger);
		host_free(&h);
	}
}

/* A rotation that a crash stopped between any two of its steps. */
static void a_rotation_survives_a_crash(void **state)
{
	struct host_world h = host_new();
	uint8_t *key, *next;
	size_t size;

	(void)state;
	add(&h, LEDGER_OPEN, true);
	key = scratch_read(&h.root, "state.sign", &size);
	add(&h, LEDGER_ROTATE, true);
	next = scratch_read(&h.root, "state.sign", &size);
	scratch_write(&h.root, "state.sign", key, size);
	scratch_write(&h.root, "state.sign.next", next, size);
	add(&h, LEDGER_OPEN, true);
	assert_good(&h, 4);
	assert_false(scratch_has(&h.root, "state.sign.next"));
	free(key);
	free(next);
	host_free(&h);
}

static void the_key_is_root_s_alone(void **state)
{
	struct host_world h = host_new();

	(void)state;
	add(&h, LEDGER_OPEN, true);
	assert_int_equal(fchmodat(h.root.fd, "state.sign", 0644, 0), 0);
	assert_int_equal(ledger_add(h.state, LEDGER_OPEN, "host/s", NULL, true, NULL), -EPERM);
	host_free(&h);
}

static void bent_lines_are_seen(void **state)
{
	struct host_world h = host_new();
	uint8_t *ledger;
	size_t size;

	(void)state;
	add(&h, LEDGER_OPEN, true);
	add(&h, LEDGER_END, true);
	ledger = scratch_read(&h.root, "state/chain", &size);
	for (size_t at = 0; at + 1 < size; at++) {
		struct book book;

		ledger[at] ^= 1;
		scratch_write(&h.root, "state/chain", ledger, size);
		book = read_book(&h);
		assert_true(book.why || !book.lines[book.count - 1].is_trusted);
		book_free(&book);
		ledger[at] ^= 1;
	}
	free(ledger);
	host_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_has_a_key_of_its_own),
		cmocka_unit_test(used_keys_are_gone),
		cmocka_unit_test(the_key_may_lag_but_not_lead),
		cmocka_unit_test(a_torn_line_is_cut_off),
		cmocka_unit_test(a_rotation_survives_a_crash),
		cmocka_unit_test(the_key_is_root_s_alone),
		cmocka_unit_test(bent_lines_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
