/* Who made whom: pids that are used again, ancestors, and a full table. */
#include "../../supervisor/capture/processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOBODY ((struct process_key){0})

static struct process_key key(uint32_t pid, uint64_t start_ns)
{
	return (struct process_key){pid, start_ns};
}

static int set_up(void **state)
{
	struct processes *p = NULL;

	assert_int_equal(processes_new(&p), 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	processes_free(*state);
	return 0;
}

static void assert_parent(struct processes *p, struct process_key child, struct process_key parent)
{
	struct process_key found = processes_parent(p, child);

	assert_int_equal(found.pid, parent.pid);
	assert_int_equal(found.start_ns, parent.start_ns);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct processes *p = *state;

	processes_add(p, key(100, 10), key(1, 1));
	processes_end(p, key(100, 10));
	processes_add(p, key(100, 20), key(2, 2));

	assert_parent(p, key(100, 10), key(1, 1));
	assert_parent(p, key(100, 20), key(2, 2));
	assert_parent(p, key(100, 30), NOBODY);
}

static void what_is_known_is_not_attributed_anew(void **state)
{
	struct processes *p = *state;

	processes_add(p, key(5, 5), NOBODY);
	processes_add(p, key(5, 5), key(4, 4));
	assert_parent(p, key(5, 5), key(4, 4));
	processes_add(p, key(5, 5), key(3, 3));
	assert_parent(p, key(5, 5), key(4, 4));
}

static void ancestors_come_nearest_first_and_as_many_as_fit(void **state)
{
	struct processes *p = *state;
	struct process_key found[8];

	for (uint32_t i = 2; i <= 20; i++)
		processes_add(p, key(i, i), key(i - 1, i - 1));
	processes_end(p, key(15, 15)); /* an orphan's ancestors stay known */

	assert_int_equal(processes_ancestors(p, key(20, 20), found, 8), 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(found[i].pid, 19 - i);
	assert_int_equal(processes_ancestors(p, key(3, 3), found, 8), 2);
	assert_int_equal(processes_ancestors(p, key(99, 99), found, 8), 0);
}

/* The longest chain that a session can make by forking and ending leaves the living ones known. */
static void the_one_that_ended_longest_ago_makes_room(void **state)
{
	struct processes *p = *state;
	struct process_key found[4];
	uint32_t count = 100000;

	processes_add(p, key(1, 1), NOBODY);
	for (uint32_t i = 2; i <= count; i++) {
		processes_add(p, key(i, i), key(i - 1, i - 1));
		if (i > 2)
			processes_end(p, key(i - 1, i - 1));
	}

	assert_parent(p, key(3, 3), NOBODY);
	assert_parent(p, key(2, 2), NOBODY);
	assert_parent(p, key(count, count), key(count - 1, count - 1));
	assert_int_equal(processes_ancestors(p, key(count, count), found, 4), 4);
	assert_int_equal(found[3].pid, count - 4);
}

static void a_table_full_of_the_living_forgets_none_of_them(void **state)
{
	struct processes *p = *state;
	uint32_t known = 0, count = 40000;

	for (uint32_t i = 1; i <= count; i++)
		processes_add(p, key(i, i), key(1000000 + i, i));
	for (uint32_t i = 1; i <= count; i++)
		if (processes_parent(p, key(i, i)).pid == 1000000 + i)
			known++;
	assert_int_equal(known, 16384);
	assert_parent(p, key(1, 1), key(1000001, 1));

	processes_end(p, key(7, 7));
	processes_add(p, key(count + 1, 1), key(8, 8));
	assert_parent(p, key(count + 1, 1), key(8, 8));
	assert_parent(p, key(7, 7), NOBODY);
	assert_parent(p, key(8, 8), key(1000008, 8));
}

static void ending_twice_or_unknown_does_no_harm(void **state)
{
	struct processes *p = *state;

	processes_end(p, key(1, 1));
	processes_add(p, key(1, 1), key(9, 9));
	processes_add(p, key(2, 2), key(9, 9));
	processes_end(p, key(1, 1));
	processes_end(p, key(1, 1));
	processes_end(p, key(2, 2));
	for (uint32_t i = 0; i < 20000; i++) {
		processes_add(p, key(100 + i, i), key(9, 9));
		processes_end(p, key(100 + i, i));
	}
	assert_parent(p, key(100 + 19999, 19999), key(9, 9));
	assert_parent(p, key(1, 1), NOBODY);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_pid_that_is_used_again_is_another_process),
		TEST(what_is_known_is_not_attributed_anew),
		TEST(ancestors_come_nearest_first_and_as_many_as_fit),
		TEST(the_one_that_ended_longest_ago_makes_room),
		TEST(a_table_full_of_the_living_forgets_none_of_them),
		TEST(ending_twice_or_unknown_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
