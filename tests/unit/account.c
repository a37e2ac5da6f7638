/* The account: every number is journaled or lost, and every loss is told. */
#include "../../supervisor/capture/account.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CPUS 3
#define GAPS_MAX 4096

/* A kernel that only counts. */
struct kernel {
	uint64_t numbers[WIRE_CLASS_COUNT][CPUS];
	uint64_t losses[WIRE_CLASS_COUNT][LOSS_REASON_COUNT][CPUS];
	struct account_gap gaps[GAPS_MAX];
	size_t gap_count;
	struct account *account;
};

static int read_numbers(void *context, uint64_t *ret_values)
{
	struct kernel *k = context;

	memcpy(ret_values, k->numbers, sizeof(k->numbers));
	return 0;
}

static int read_losses(void *context, uint64_t *ret_values)
{
	struct kernel *k = context;

	memcpy(ret_values, k->losses, sizeof(k->losses));
	return 0;
}

static int on_gap(void *context, const struct account_gap *gap)
{
	struct kernel *k = context;

	assert_true(k->gap_count < GAPS_MAX);
	k->gaps[k->gap_count++] = *gap;
	return 0;
}

static void open_account(struct kernel *k)
{
	const struct account_options options = {
		.cpus = CPUS,
		.numbers = read_numbers,
		.losses = read_losses,
		.gap = on_gap,
		.context = k,
	};

	account_free(k->account);
	assert_int_equal(account_new(&options, &k->account), 0);
	k->gap_count = 0;
}

static int set_up(void **state)
{
	struct kernel *k = calloc(1, sizeof(*k));

	open_account(k);
	*state = k;
	return 0;
}

static int tear_down(void **state)
{
	struct kernel *k = *state;

	account_free(k->account);
	free(k);
	return 0;
}

static uint64_t take(struct kernel *k, uint32_t class, uint32_t cpu)
{
	return k->numbers[class][cpu]++;
}

static void come_as(struct kernel *k, uint32_t kind, uint32_t class, uint32_t cpu, uint64_t number)
{
	const struct wire_head head = {.kind = kind,
				       .class = class,
				       .cpu = cpu,
				       .number = number,
				       .boot_ns = 1000 + number};

	assert_int_equal(account_record(k->account, &head), 0);
}

static void come(struct kernel *k, uint32_t class, uint32_t cpu, uint64_t number)
{
	come_as(k, WIRE_KIND_process_exit, class, cpu, number);
}

static void lose(struct kernel *k, uint32_t class, uint32_t cpu, enum loss_reason reason)
{
	take(k, class, cpu);
	k->losses[class][reason][cpu]++;
}

static void settle(struct kernel *k, int times)
{
	for (int i = 0; i < times; i++)
		assert_int_equal(account_settle(k->account), 0);
}

static void expect_counts(struct kernel *k, uint32_t class, uint64_t produced, uint64_t journaled,
			  uint64_t lost)
{
	struct account_counts counts = account_counts(k->account, class);

	assert_int_equal(counts.produced, produced);
	assert_int_equal(counts.journaled, journaled);
	assert_int_equal(counts.lost, lost);
}

static void expect_gap(struct kernel *k, size_t i, uint64_t first, uint64_t last,
		       const char *reason)
{
	assert_true(i < k->gap_count);
	assert_true(k->gaps[i].numbered);
	assert_int_equal(k->gaps[i].first, first);
	assert_int_equal(k->gaps[i].last, last);
	assert_int_equal(k->gaps[i].count, last - first + 1);
	assert_string_equal(k->gaps[i].reason, reason);
}

static void counts_what_comes(void **state)
{
	struct kernel *k = *state;

	for (int i = 0; i < 10; i++) {
		come(k, WIRE_CLASS_file, 0, take(k, WIRE_CLASS_file, 0));
		come(k, WIRE_CLASS_file, 2, take(k, WIRE_CLASS_file, 2));
	}
	settle(k, 3);
	assert_int_equal(account_finish(k->account), 0);
	assert_int_equal(k->gap_count, 0);
	expect_counts(k, WIRE_CLASS_file, 20, 20, 0);
	expect_counts(k, WIRE_CLASS_process, 0, 0, 0);
}

static void tells_a_hole_at_the_second_drain(void **state)
{
	struct kernel *k = *state;

	come(k, 0, 1, take(k, 0, 1));
	lose(k, 0, 1, LOSS_RING_FULL);
	lose(k, 0, 1, LOSS_RING_FULL);
	come(k, 0, 1, take(k, 0, 1));
	assert_true(account_is_open(k->account));
	settle(k, 1);
	assert_int_equal(k->gap_count, 0);
	settle(k, 1);
	assert_int_equal(k->gap_count, 1);
	expect_gap(k, 0, 1, 2, "ring_full");
	assert_int_equal(k->gaps[0].class, 0);
	assert_int_equal(k->gaps[0].cpu, 1);
	assert_int_equal(k->gaps[0].boot_ns, 1003);
	assert_false(account_is_open(k->account));
	expect_counts(k, 0, 4, 2, 2);
}

static void waits_for_records_in_the_wrong_order(void **state)
{
	struct kernel *k = *state;

	come(k, 0, 0, 1);
	come(k, 0, 0, 0);
	come(k, 0, 0, 4);
	come(k, 0, 0, 3);
	settle(k, 1);
	come(k, 0, 0, 2);
	k->numbers[0][0] = 5;
	settle(k, ACCOUNT_PATIENCE + 2);
	account_finish(k->account);
	assert_int_equal(k->gap_count, 0);
	expect_counts(k, 0, 5, 5, 0);
}

static void gives_patience_to_what_the_kernel_did_not_count_as_lost(void **state)
{
	struct kernel *k = *state;

	come(k, 0, 0, 1);
	settle(k, ACCOUNT_PATIENCE - 1);
	assert_int_equal(k->gap_count, 0);
	settle(k, 1);
	expect_gap(k, 0, 0, 0, "unknown");
}

static void takes_back_what_comes_too_late(void **state)
{
	struct kernel *k = *state;

	k->numbers[0][0] = 2;
	come(k, 0, 0, 1);
	settle(k, ACCOUNT_PATIENCE + 1);
	expect_counts(k, 0, 2, 1, 1);
	come(k, 0, 0, 0);
	account_finish(k->account);
	expect_counts(k, 0, 2, 2, 0);
	assert_int_equal(k->gap_count, 1);
}

static void splits_a_hole(void **state)
{
	struct kernel *k = *state;

	k->numbers[0][0] = 11;
	k->losses[0][LOSS_FAULT][0] = 7;
	come(k, 0, 0, 10);
	come(k, 0, 0, 5);
	come(k, 0, 0, 0);
	come(k, 0, 0, 9);
	settle(k, 2);
	assert_int_equal(k->gap_count, 2);
	expect_gap(k, 0, 1, 4, "fault");
	expect_gap(k, 1, 6, 8, "fault");
	expect_counts(k, 0, 11, 4, 7);
}

static void holds_many_holes(void **state)
{
	struct kernel *k = *state;

	uint64_t came[500];

	/* A drain reads up to a position taken before: all that it meets is counted by then. */
	for (int i = 0; i < 500; i++) {
		lose(k, 1, 0, i % 2 ? LOSS_RING_FULL : LOSS_BUSY);
		came[i] = take(k, 1, 0);
	}
	for (int i = 0; i < 500; i++)
		come(k, 1, 0, came[i]);
	settle(k, 2);
	account_finish(k->account);
	assert_int_equal(k->gap_count, 500);
	for (size_t i = 0; i < 500; i++) {
		assert_int_equal(k->gaps[i].first, 2 * i);
		assert_string_not_equal(k->gaps[i].reason, "unknown");
	}
	expect_counts(k, 1, 1000, 500, 500);
}

static void splits_with_no_place_left(void **state)
{
	struct kernel *k = *state;

	/* Eight holes of three numbers, each with its middle coming late. */
	for (uint64_t i = 1; i <= 8; i++)
		come(k, 0, 0, 4 * i - 1);
	for (uint64_t i = 1; i <= 8; i++)
		come(k, 0, 0, 4 * i - 3);
	k->numbers[0][0] = 32;
	account_finish(k->account);
	expect_counts(k, 0, 32, 16, 16);
	uint64_t told = 0;
	for (size_t i = 0; i < k->gap_count; i++)
		told += k->gaps[i].count;
	assert_int_equal(told, 16);
}

static void finds_trailing_holes(void **state)
{
	struct kernel *k = *state;

	come(k, 3, 2, take(k, 3, 2));
	lose(k, 3, 2, LOSS_RING_FULL);
	lose(k, 3, 0, LOSS_RING_FULL);
	settle(k, 200);
	assert_int_equal(k->gap_count, 0);
	assert_int_equal(account_finish(k->account), 0);
	assert_int_equal(k->gap_count, 2);
	expect_gap(k, 0, 0, 0, "ring_full");
	expect_gap(k, 1, 1, 1, "ring_full");
	expect_counts(k, 3, 3, 1, 2);
}

static void tells_losses_without_a_number(void **state)
{
	struct kernel *k = *state;

	k->losses[2][LOSS_MAP_FULL][1] += 5;
	come(k, 2, 1, take(k, 2, 1));
	settle(k, 64);
	assert_int_equal(k->gap_count, 1);
	assert_false(k->gaps[0].numbered);
	assert_int_equal(k->gaps[0].count, 5);
	assert_string_equal(k->gaps[0].reason, "map_full");
	k->losses[2][LOSS_MAP_FULL][1] += 2;
	account_finish(k->account);
	assert_int_equal(k->gap_count, 2);
	assert_int_equal(k->gaps[1].count, 2);
	expect_counts(k, 2, 8, 1, 7);
}

static void begins_where_the_slot_was_left(void **state)
{
	struct kernel *k = *state;

	for (int i = 0; i < 100; i++)
		lose(k, 0, 0, LOSS_RING_FULL);
	k->losses[1][LOSS_MAP_FULL][1] = 77;
	open_account(k);
	come(k, 0, 0, take(k, 0, 0));
	lose(k, 0, 0, LOSS_RING_FULL);
	account_finish(k->account);
	assert_int_equal(k->gap_count, 1);
	expect_gap(k, 0, 101, 101, "ring_full");
	expect_counts(k, 0, 2, 1, 1);
	expect_counts(k, 1, 0, 0, 0);
}

static void counts_what_came_before_it_was_opened(void **state)
{
	struct kernel *k = *state;
	struct wire_head early = {.kind = WIRE_KIND_process_fork, .class = 0, .cpu = 0};

	early.number = take(k, 0, 0);
	take(k, 0, 0);
	open_account(k);
	account_expect(k->account, &early);
	come(k, 0, 0, 0);
	come(k, 0, 0, 1);
	account_finish(k->account);
	assert_int_equal(k->gap_count, 0);
	expect_counts(k, 0, 2, 2, 0);
}

static void leaves_chunks_and_policy_out(void **state)
{
	struct kernel *k = *state;

	come(k, 0, 0, take(k, 0, 0));
	come_as(k, WIRE_KIND_chunk, 0, 0, take(k, 0, 0));
	lose(k, 0, 0, LOSS_RING_FULL); /* a chunk, but nobody can know */
	come_as(k, WIRE_KIND_chunk, 0, 0, take(k, 0, 0));
	come(k, 0, 0, take(k, 0, 0));
	account_filtered(k->account, 0, 1);
	account_finish(k->account);
	expect_counts(k, 0, 2, 1, 1);
}

static void counts_what_is_spoiled_or_unwritten_as_lost(void **state)
{
	struct kernel *k = *state;
	struct wire_head head = {.kind = WIRE_KIND_process_exit, .class = 0, .cpu = 1};

	for (int i = 0; i < 3; i++)
		come(k, 0, 1, take(k, 0, 1));
	head.number = 1;
	account_spoiled(k->account, &head, "malformed");
	head.number = 2;
	account_unwritten(k->account, &head);
	account_finish(k->account);
	assert_int_equal(k->gap_count, 1);
	expect_gap(k, 0, 1, 1, "malformed");
	expect_counts(k, 0, 3, 1, 2);
}

static void knows_of_losses_before_their_holes_show(void **state)
{
	struct kernel *k = *state;

	come(k, 0, 0, take(k, 0, 0));
	assert_int_equal(account_has_losses(k->account), 0);
	lose(k, 0, 0, LOSS_RING_FULL);
	assert_int_equal(account_has_losses(k->account), 1);
	come(k, 0, 0, take(k, 0, 0));
	settle(k, 2);
	assert_int_equal(k->gap_count, 1);
	assert_int_equal(account_has_losses(k->account), 0);
	k->losses[0][LOSS_MAP_FULL][0]++;
	assert_int_equal(account_has_losses(k->account), 1);
}

/* The kernel does neither; the sums hold all the same. */
static void adds_up_with_numbers_that_cannot_be(void **state)
{
	struct kernel *k = *state;

	k->numbers[0][0] = 50;
	open_account(k);
	come(k, 0, 0, 50);
	come(k, 0, 0, 50);
	come(k, 0, 0, 7);
	k->numbers[0][0] = 51;
	account_finish(k->account);
	expect_counts(k, 0, 3, 3, 0);
}

static void refuses_what_has_no_place(void **state)
{
	struct kernel *k = *state;
	struct wire_head head = {.class = WIRE_CLASS_COUNT};

	assert_int_equal(account_record(k->account, &head), -EBADMSG);
	head.class = 0;
	head.cpu = CPUS;
	assert_int_equal(account_record(k->account, &head), -EBADMSG);
}

/* Any mixture of losses, wrong order and drains adds up, and the gaps tell all of it. */
static void adds_up_at_random(void **state)
{
	struct kernel *k = *state;

	srand(1);
	for (int round = 0; round < 200; round++) {
		uint64_t lost = 0, came = 0, told = 0, held[4], held_count = 0;

		open_account(k);
		for (int i = 0; i < 400; i++) {
			int dice = rand() % 100;

			if (dice < 20) {
				lose(k, 0, 0,
				     rand() % LOSS_REASON_COUNT == LOSS_BUSY ? LOSS_BUSY
									     : LOSS_RING_FULL);
				lost++;
			} else if (dice < 30 && held_count < 4) {
				held[held_count++] = take(k, 0, 0);
			} else if (dice < 40 && held_count > 0) {
				come(k, 0, 0, held[--held_count]);
				came++;
			} else {
				come(k, 0, 0, take(k, 0, 0));
				came++;
			}
			if (dice % 10 == 0)
				settle(k, 1);
		}
		while (held_count > 0) {
			come(k, 0, 0, held[--held_count]);
			came++;
		}
		assert_int_equal(account_finish(k->account), 0);
		for (size_t i = 0; i < k->gap_count; i++)
			told += k->gaps[i].count;
		expect_counts(k, 0, came + lost, came, lost);
		assert_true(told >= lost);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(counts_what_comes),
		TEST(tells_a_hole_at_the_second_drain),
		TEST(waits_for_records_in_the_wrong_order),
		TEST(gives_patience_to_what_the_kernel_did_not_count_as_lost),
		TEST(takes_back_what_comes_too_late),
		TEST(splits_a_hole),
		TEST(holds_many_holes),
		TEST(splits_with_no_place_left),
		TEST(finds_trailing_holes),
		TEST(tells_losses_without_a_number),
		TEST(begins_where_the_slot_was_left),
		TEST(counts_what_came_before_it_was_opened),
		TEST(leaves_chunks_and_policy_out),
		TEST(counts_what_is_spoiled_or_unwritten_as_lost),
		TEST(knows_of_losses_before_their_holes_show),
		TEST(adds_up_with_numbers_that_cannot_be),
		TEST(refuses_what_has_no_place),
		TEST(adds_up_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
