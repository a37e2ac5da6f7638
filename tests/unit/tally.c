/* Counts over a whole record: bounded, and honest where what a record says does not fit together.
 */
#include "../../replay/tally.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- keys ---- */

static void keys_get_numbers_in_their_order(void **state)
{
	struct keymap *k = keymap_new(100000);
	size_t number;

	(void)state;
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < 50000; i++) {
			char key[32];

			snprintf(key, sizeof(key), "key %zu", i);
			assert_int_equal(keymap_add(k, bytes_of(key), &number), 0);
			assert_int_equal(number, i);
		}
	}
	assert_int_equal(keymap_count(k), 50000);
	assert_int_equal(keymap_find(k, bytes_of("key 49999"), &number), 0);
	assert_int_equal(number, 49999);
	assert_int_equal(keymap_find(k, bytes_of("key 50000"), &number), -ENOENT);
	keymap_free(k);
}

static void any_bytes_are_a_key(void **state)
{
	static const struct bytes keys[] = {{"", 0},
					    {"\0", 1},
					    {"\0\0", 2},
					    {"\0\0\0\0\0\0\0\0", 8},
					    {"\0\0\0\0\0\0\0\0\0", 9},
					    {"a\0b", 3},
					    {"a\0c", 3},
					    {NULL, 0}};
	struct keymap *k = keymap_new(100);
	size_t number;

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(keymap_add(k, keys[i], &number), 0);
		assert_int_equal(number, i);
		assert_int_equal(keymap_key(k, i).size, keys[i].size);
	}
	assert_int_equal(keymap_add(k, keys[7], &number), 0);
	assert_int_equal(number, 0); /* the empty one again */
	keymap_free(k);
}

static void a_full_map_takes_no_new_key_but_knows_its_own(void **state)
{
	struct keymap *k = keymap_new(2);
	size_t number;

	(void)state;
	assert_int_equal(keymap_add(k, bytes_of("a"), &number), 0);
	assert_int_equal(keymap_add(k, bytes_of("b"), &number), 0);
	number = 77;
	assert_int_equal(keymap_add(k, bytes_of("c"), &number), -ENOSPC);
	assert_int_equal(number, 77);
	assert_int_equal(keymap_add(k, bytes_of("a"), &number), 0);
	assert_int_equal(number, 0);
	keymap_free(k);
}

/* ---- tallies ---- */

static char *written(const struct tally *t, void (*write)(const struct tally *, const struct pen *))
{
	struct pen pen = {0};
	char *text = NULL;
	size_t size;

	pen.out = open_memstream(&text, &size);
	write(t, &pen);
	fclose(pen.out);
	return text;
}

static void is_lost(const struct tally *t, const char *expected)
{
	cleanup(free) char *text = written(t, tally_write_lost);

	assert_string_equal(text, expected);
}

static void add_gap(struct tally *t, const char *class, uint64_t count)
{
	struct event e;

	event_init(&e, EVENT_gap, 1, 1);
	event_put_text(&e, FIELD_class, class);
	event_put_u64(&e, FIELD_count, count);
	assert_int_equal(tally_add(t, &e), 0);
}

static void add_end(struct tally *t, const char *counts)
{
	struct event e;

	event_init(&e, EVENT_session_end, 1, 1);
	event_put_text(&e, FIELD_counts, counts);
	assert_int_equal(tally_add(t, &e), 0);
}

static void what_is_lost_is_said_by_the_end_and_by_the_gaps(void **state)
{
	struct tally *t;

	(void)state;
	assert_int_equal(tally_new(&t), 0);
	is_lost(t, "nothing so far\n");
	add_end(t, "{\"file\": {\"produced\": 9, \"journaled\": 9, \"lost\": 0}}");
	is_lost(t, "nothing\n");
	add_gap(t, "file", 5); /* the end does not know of it: both are said */
	is_lost(t, "0 records; 1 gaps that miss 5\n");
	add_end(t, "{\"file\": {\"produced\": 9, \"journaled\": 4, \"lost\": 5}}");
	is_lost(t, "5 records, file 5; 1 gaps that miss 5\n");
	tally_add_damage(t);
	is_lost(t, "5 records, file 5; 1 gaps that miss 5; the record is DAMAGED in 1 places\n");
	tally_free(t);
}

static void gaps_without_an_end_and_of_unknown_class_count(void **state)
{
	struct tally *t;

	(void)state;
	assert_int_equal(tally_new(&t), 0);
	add_gap(t, "process", 2);
	add_gap(t, "of tomorrow", 3);
	is_lost(t, "5 records; 2 gaps that miss 5\n");
	tally_free(t);
}

static void counts_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"null",
		"{",
		"{\"file\": 1}",
		"{\"file\": {\"produced\": 1, \"journaled\": 1}}",
		"{\"file\": {\"produced\": -1, \"journaled\": 1, \"lost\": 0}}",
		"{\"file\": {\"produced\": 1.5, \"journaled\": 1, \"lost\": 0}}",
		"{\"file\": {\"produced\": 1, \"journaled\": 1, \"lost\": 99999999999999999999}}"};
	struct counts counts;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(counts_parse(bytes_of(bad[i]), &counts), -EINVAL);
	assert_int_equal(counts_parse(bytes_of("{\"of tomorrow\": 1}"), &counts), 0);
	assert_int_equal(counts.lost, 0);
}

static void peers_are_bounded_and_ordered(void **state)
{
	cleanup(free) size_t *order = NULL;
	struct tally *t;
	struct event e;

	(void)state;
	assert_int_equal(tally_new(&t), 0);
	for (size_t i = 0; i < TALLY_PEERS_MAX + 10; i++) {
		char name[32];

		snprintf(name, sizeof(name), "host%zu.test", i);
		event_init(&e, EVENT_dns_query, 1, 1);
		event_put_text(&e, FIELD_name, name);
		assert_int_equal(tally_add(t, &e), 0);
		if (i == 7)
			assert_int_equal(tally_add(t, &e), 0);
	}
	assert_int_equal(keymap_count(t->names.map), TALLY_PEERS_MAX);
	assert_int_equal(t->names.others, 10);
	assert_int_equal(peers_order(&t->names, &order), 0);
	assert_int_equal(order[0], 7);
	assert_int_equal(order[1], 0);
	assert_int_equal(order[2], 1);
	tally_free(t);
}

static void a_connect_in_the_background_has_not_failed(void **state)
{
	struct tally *t;
	struct event e;

	(void)state;
	assert_int_equal(tally_new(&t), 0);
	event_init(&e, EVENT_net_connect, 1, 1);
	event_put_text(&e, FIELD_dst_address, "::1");
	event_put_u64(&e, FIELD_dst_port, 443);
	event_put_i64(&e, FIELD_result, -EINPROGRESS);
	assert_int_equal(tally_add(t, &e), 0);
	assert_int_equal(t->failed_connects, 0);
	event_put_i64(&e, FIELD_result, -ECONNREFUSED);
	assert_int_equal(tally_add(t, &e), 0);
	assert_int_equal(t->failed_connects, 1);
	assert_memory_equal(keymap_key(t->addresses.map, 0).data, "[::1]:443", 9);
	assert_int_equal(t->addresses.times[0], 2);
	tally_free(t);
}

static void what_is_kept_outlives_its_event(void **state)
{
	struct kept k = {0};
	char name[] = "fleeting";
	struct event e;

	(void)state;
	event_init(&e, EVENT_session_start, 1, 2);
	event_put_text(&e, FIELD_name, name);
	event_put_u64(&e, FIELD_user_uid, 7);
	assert_int_equal(kept_set(&k, &e), 0);
	memset(name, 'x', sizeof(name) - 1);
	assert_memory_equal(event_bytes(&k.event, FIELD_name).data, "fleeting", 8);
	assert_int_equal(event_u64(&k.event, FIELD_user_uid, 0), 7);
	assert_int_equal(kept_set(&k, &e), 0);
	assert_memory_equal(event_bytes(&k.event, FIELD_name).data, "xxxxxxxx", 8);
	kept_free(&k);
	assert_int_equal(k.event.kind, EVENT_KIND_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_get_numbers_in_their_order),
		cmocka_unit_test(any_bytes_are_a_key),
		cmocka_unit_test(a_full_map_takes_no_new_key_but_knows_its_own),
		cmocka_unit_test(what_is_lost_is_said_by_the_end_and_by_the_gaps),
		cmocka_unit_test(gaps_without_an_end_and_of_unknown_class_count),
		cmocka_unit_test(counts_that_are_none_are_refused),
		cmocka_unit_test(peers_are_bounded_and_ordered),
		cmocka_unit_test(a_connect_in_the_background_has_not_failed),
		cmocka_unit_test(what_is_kept_outlives_its_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
