/* Chunks are joined to their records, and what is missing is said. */
#include "../../supervisor/capture/join.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGV 4 /* place of argv among the tails of process_exec */
#define PIECE 1000

struct seen {
	uint64_t number;
	size_t size;
	uint64_t missing;
	uint64_t checksum;
};

struct world {
	struct join *join;
	struct seen seen[64];
	size_t count;
	int fail; /* what the next emit returns */
	uint64_t position;
	uint8_t value[8 * 1024 * 1024];
	_Alignas(8) uint8_t room[WIRE_LENGTH_MAX];
};

static uint64_t checksum(const void *data, size_t size)
{
	uint64_t sum = 14695981039346656037ULL;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * 1099511628211ULL;
	return sum;
}

static int on_record(void *context, const struct wire_record *record)
{
	struct world *w = context;
	const struct bytes *tail = &record->tails[record->tail_count > ARGV ? ARGV : 0];
	int r = w->fail;

	w->fail = 0;
	w->seen[w->count++] = (struct seen){
		.number = record->head->number,
		.size = tail->size,
		.missing = record->missing[record->tail_count > ARGV ? ARGV : 0],
		.checksum = checksum(tail->data, tail->size),
	};
	return r;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct join_options options = {.emit = on_record, .context = w};

	for (size_t i = 0; i < sizeof(w->value); i++)
		w->value[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(join_new(&options, &w->join), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	join_free(w->join);
	free(w);
	return 0;
}

static int pass(struct world *w, size_t size)
{
	struct wire_record record;
	const char *why = "";
	struct wire_head *head = (struct wire_head *)w->room;

	head->length = size;
	assert_int_equal(wire_decode(w->room, size, &record, &why), 0);
	w->position += size;
	int r = join_record(w->join, &record, w->position);
	memset(w->room, 0xee, sizeof(w->room)); /* the ring's room is used again */
	return r;
}

/* An exec whose argv begins with @size bytes of the value. */
static int exec(struct world *w, uint64_t number, uint32_t cpu, size_t size, bool continued)
{
	struct wire_process_exec *e = (struct wire_process_exec *)w->room;

	memset(e, 0, sizeof(*e));
	e->head.kind = WIRE_KIND_process_exec;
	e->head.class = WIRE_CLASS_process;
	e->head.number = number;
	e->head.cpu = cpu;
	e->head.flags = continued ? WIRE_FLAG_CONTINUED : 0;
	e->exe_length = 3;
	memcpy(e->tails, "sh", 3);
	e->argv_length = size;
	memcpy(e->tails + 3, w->value, size);
	return pass(w, sizeof(*e) + 3 + size);
}

static int chunk(struct world *w, uint64_t number, uint32_t cpu, uint64_t of, uint64_t offset,
		 size_t size, bool more)
{
	struct wire_chunk *c = (struct wire_chunk *)w->room;

	memset(c, 0, sizeof(*c));
	c->head.kind = WIRE_KIND_chunk;
	c->head.class = WIRE_CLASS_process;
	c->head.number = number;
	c->head.cpu = cpu;
	c->head.flags = more ? WIRE_FLAG_CONTINUED : 0;
	c->of = of;
	c->offset = offset;
	c->tail = ARGV;
	c->data_length = size;
	memcpy(c->tails, w->value + offset, size);
	return pass(w, sizeof(*c) + size);
}

static void expect(struct world *w, size_t i, uint64_t number, size_t size, uint64_t missing)
{
	assert_true(i < w->count);
	assert_int_equal(w->seen[i].number, number);
	assert_int_equal(w->seen[i].size, size);
	assert_int_equal(w->seen[i].missing, missing);
	assert_int_equal(w->seen[i].checksum, checksum(w->value, size));
}

static void passes_what_is_whole_at_once(void **state)
{
	struct world *w = *state;

	exec(w, 5, 0, PIECE, false);
	assert_int_equal(w->count, 1);
	expect(w, 0, 5, PIECE, 0);
	assert_int_equal(join_oldest(w->join, 99), 99);
}

static void joins_chunks(void **state)
{
	struct world *w = *state;

	exec(w, 5, 0, PIECE, true);
	uint64_t held = w->position;
	assert_int_equal(join_oldest(w->join, UINT64_MAX), held);
	exec(w, 9, 1, 10, false); /* another CPU does not wait */
	assert_int_equal(w->count, 1);
	for (uint64_t i = 1; i <= 20; i++)
		chunk(w, 5 + i, 0, 5, i * PIECE, PIECE, i < 20);
	assert_int_equal(w->count, 2);
	expect(w, 1, 5, 21 * PIECE, 0);
	assert_int_equal(join_oldest(w->join, UINT64_MAX), UINT64_MAX);
}

static void uses_its_memory_again(void **state)
{
	struct world *w = *state;

	for (uint64_t n = 0; n < 60; n += 3) {
		exec(w, n, 0, PIECE + n, true);
		chunk(w, n + 1, 0, n, PIECE + n, 30000, true);
		chunk(w, n + 2, 0, n, PIECE + n + 30000, 10, false);
		expect(w, n / 3, n, PIECE + n + 30010, 0);
	}
}

static void says_what_fell_into_a_hole(void **state)
{
	struct world *w = *state;

	exec(w, 0, 0, PIECE, true);
	chunk(w, 1, 0, 0, PIECE, PIECE, true);
	chunk(w, 3, 0, 0, 3 * PIECE, PIECE, false); /* 2 is lost */
	assert_int_equal(w->count, 1);
	expect(w, 0, 0, 2 * PIECE, 2 * PIECE);
}

static void does_not_wait_for_a_lost_end(void **state)
{
	struct world *w = *state;

	exec(w, 0, 0, PIECE, true);
	chunk(w, 1, 0, 0, PIECE, PIECE, true);
	exec(w, 3, 0, 10, false);
	assert_int_equal(w->count, 2);
	expect(w, 0, 0, 2 * PIECE, 1);
	expect(w, 1, 3, 10, 0);

	exec(w, 4, 0, PIECE, true);
	for (int drains = 0; drains < 100; drains++) /* it is not their number that says so */
		join_settle(w->join, 999999999);
	assert_int_equal(w->count, 2);
	join_settle(w->join, 1000000000);
	assert_int_equal(w->count, 3);
	expect(w, 2, 4, PIECE, 1);
}

static void lets_an_earlier_number_by(void **state)
{
	struct world *w = *state;

	exec(w, 7, 0, PIECE, true);
	exec(w, 6, 0, 10, false);
	chunk(w, 8, 0, 7, PIECE, PIECE, false);
	expect(w, 0, 6, 10, 0);
	expect(w, 1, 7, 2 * PIECE, 0);
}

static void drops_chunks_of_nobody(void **state)
{
	struct world *w = *state;

	assert_int_equal(chunk(w, 1, 0, 0, PIECE, PIECE, false), 0);
	assert_int_equal(w->count, 0);
	exec(w, 2, 0, PIECE, true);
	chunk(w, 3, 1, 2, PIECE, PIECE, false); /* another CPU's 2 */
	chunk(w, 4, 0, 1, PIECE, PIECE, false); /* another record */
	assert_int_equal(w->count, 0);
	chunk(w, 5, 0, 2, PIECE, PIECE, false);
	expect(w, 0, 2, 2 * PIECE, 0);
}

static void refuses_a_tail_that_is_not_there(void **state)
{
	struct world *w = *state;
	struct wire_chunk *c = (struct wire_chunk *)w->room;

	exec(w, 0, 0, PIECE, true);
	memset(c, 0, sizeof(*c));
	c->head.kind = WIRE_KIND_chunk;
	c->head.number = 1;
	c->tail = 99;
	c->offset = UINT64_MAX - 10;
	c->data_length = 100;
	pass(w, sizeof(*c) + 100);
	expect(w, 0, 0, PIECE, 0);
}

static void keeps_a_value_within_bounds(void **state)
{
	struct world *w = *state;
	uint64_t number = 1, offset = PIECE;

	exec(w, 0, 0, PIECE, true);
	for (; offset < 6 * 1024 * 1024; offset += WIRE_PIECE_MAX)
		chunk(w, number++, 0, 0, offset, WIRE_PIECE_MAX, true);
	chunk(w, number, 0, 0, offset, 1, false);
	assert_int_equal(w->count, 1);
	assert_true(w->seen[0].size <= JOIN_VALUE_MAX);
	assert_true(w->seen[0].size > JOIN_VALUE_MAX - 2 * WIRE_PIECE_MAX);
	assert_int_equal(w->seen[0].size + w->seen[0].missing, offset + 1);
	expect(w, 0, 0, w->seen[0].size, w->seen[0].missing);
}

static void keeps_a_session_within_bounds(void **state)
{
	struct world *w = *state;
	size_t kept = 0;

	for (uint32_t cpu = 0; cpu < 12; cpu++) {
		exec(w, 0, cpu, PIECE, true);
		for (uint64_t n = 1; n <= 100; n++)
			chunk(w, n, cpu, 0, PIECE + (n - 1) * WIRE_PIECE_MAX, WIRE_PIECE_MAX, true);
	}
	join_flush(w->join);
	assert_int_equal(w->count, 12);
	for (size_t i = 0; i < w->count; i++) {
		expect(w, i, 0, w->seen[i].size, w->seen[i].missing);
		kept += w->seen[i].size;
	}
	assert_true(kept <= JOIN_SESSION_MAX);
}

static void holds_no_more_than_it_has_places(void **state)
{
	struct world *w = *state;

	for (uint32_t cpu = 0; cpu < 40; cpu++)
		exec(w, cpu, cpu, PIECE, true);
	assert_int_equal(w->count, 24);
	join_flush(w->join);
	for (size_t i = 0; i < 40; i++)
		expect(w, i, i, PIECE, 1);
}

static void hands_an_error_through(void **state)
{
	struct world *w = *state;

	w->fail = -EIO;
	assert_int_equal(exec(w, 0, 0, PIECE, false), -EIO);
	exec(w, 1, 0, PIECE, true);
	w->fail = -EIO;
	assert_int_equal(chunk(w, 2, 0, 1, PIECE, PIECE, false), -EIO);
	exec(w, 3, 0, PIECE, true);
	w->fail = -EIO;
	assert_int_equal(join_flush(w->join), -EIO);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(passes_what_is_whole_at_once),
		TEST(joins_chunks),
		TEST(uses_its_memory_again),
		TEST(says_what_fell_into_a_hole),
		TEST(does_not_wait_for_a_lost_end),
		TEST(lets_an_earlier_number_by),
		TEST(drops_chunks_of_nobody),
		TEST(refuses_a_tail_that_is_not_there),
		TEST(keeps_a_value_within_bounds),
		TEST(keeps_a_session_within_bounds),
		TEST(holds_no_more_than_it_has_places),
		TEST(hands_an_error_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
