/* The process tree: lineage by key, whatever happens to pids, parents and records. */
#include "../../replay/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint64_t clock_ns;

static void begin(struct event *e, enum event_kind kind, const char *proc, uint64_t pid)
{
	clock_ns += 1000;
	event_init(e, kind, clock_ns, clock_ns);
	event_put_text(e, FIELD_proc, proc);
	event_put_u64(e, FIELD_pid, pid);
}

static void add(struct tree *t, const struct event *e)
{
	assert_int_equal(tree_add(t, e, true), 0);
}

static void forks(struct tree *t, const char *proc, uint64_t pid, const char *child,
		  uint64_t child_pid)
{
	struct event e;

	begin(&e, EVENT_process_fork, proc, pid);
	event_put_text(&e, FIELD_child_proc, child);
	event_put_u64(&e, FIELD_child_pid, child_pid);
	add(t, &e);
}

static void runs(struct tree *t, const char *proc, uint64_t pid, const char *parent,
		 const char *name)
{
	struct event e;

	begin(&e, EVENT_process_exec, proc, pid);
	event_put_bytes(&e, FIELD_argv, name, strlen(name) + 1);
	event_put_text(&e, FIELD_parent_proc, parent);
	add(t, &e);
}

static void ends(struct tree *t, const char *proc, uint64_t pid, uint64_t code)
{
	struct event e;

	begin(&e, EVENT_process_exit, proc, pid);
	event_put_u64(&e, FIELD_exit_code, code);
	add(t, &e);
}

static size_t number_of(const struct tree *t, const char *key)
{
	for (size_t i = 0; i < tree_count(t); i++) {
		struct bytes k = tree_key(t, i);

		if (k.size == strlen(key) && !memcmp(k.data, key, k.size))
			return i;
	}
	fail_msg("no node %s", key);
	return 0;
}

static const struct tree_node *node(const struct tree *t, const char *key)
{
	return tree_node(t, number_of(t, key));
}

/* Nodes below and including @number, by links alone. */
static size_t count_below(const struct tree *t, size_t number)
{
	size_t count = 1;

	for (size_t c = tree_node(t, number)->first_child; c != TREE_NONE;
	     c = tree_node(t, c)->next)
		count += count_below(t, c);
	return count;
}

static size_t count_linked(struct tree *t)
{
	size_t count = 0;

	for (size_t root = tree_link_roots(t); root != TREE_NONE; root = tree_node(t, root)->next)
		count += count_below(t, root);
	return count;
}

static void children_stand_below_their_parents_in_order(void **state)
{
	struct tree *t = tree_new();

	(void)state;
	runs(t, "1-a", 1, NULL, "sh");
	forks(t, "1-a", 1, "2-b", 2);
	forks(t, "1-a", 1, "3-c", 3);
	runs(t, "2-b", 2, "1-a", "make");
	ends(t, "2-b", 2, 3);
	assert_int_equal(tree_count(t), 3);
	assert_int_equal(node(t, "1-a")->first_child, number_of(t, "2-b"));
	assert_int_equal(node(t, "2-b")->next, number_of(t, "3-c"));
	assert_int_equal(node(t, "2-b")->parent, number_of(t, "1-a"));
	assert_true(node(t, "2-b")->exit_seen);
	assert_int_equal(node(t, "2-b")->status, 3);
	assert_string_equal(node(t, "2-b")->execs->argv, "make");
	assert_null(node(t, "3-c")->execs);
	assert_int_equal(count_linked(t), 3);
	tree_free(t);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct tree *t = tree_new();

	(void)state;
	forks(t, "1-a", 1, "7-b", 7);
	runs(t, "7-b", 7, "1-a", "first");
	ends(t, "7-b", 7, 0);
	forks(t, "1-a", 1, "7-c", 7);
	assert_null(node(t, "7-c")->execs); /* nothing of the first one's */
	assert_false(node(t, "7-c")->exit_seen);
	runs(t, "7-c", 7, "1-a", "second");
	ends(t, "7-c", 7, 9);
	assert_string_equal(node(t, "7-b")->execs->argv, "first");
	assert_null(node(t, "7-b")->execs->next);
	assert_int_equal(node(t, "7-b")->status, 0);
	assert_string_equal(node(t, "7-c")->execs->argv, "second");
	assert_int_equal(node(t, "7-c")->status, 9);
	tree_free(t);
}

static void an_orphan_stays_below_who_forked_it(void **state)
{
	struct tree *t = tree_new();

	(void)state;
	forks(t, "1-a", 1, "2-b", 2);
	forks(t, "2-b", 2, "3-c", 3);
	ends(t, "2-b", 2, 0);
	runs(t, "3-c", 3, "2-b", "daemon"); /* its parent is gone before it runs anything */
	assert_int_equal(node(t, "3-c")->parent, number_of(t, "2-b"));
	assert_int_equal(tree_contradictions(t), 0);
	assert_int_equal(count_linked(t), 3);
	tree_free(t);
}

static void a_fork_in_a_gap_is_not_invented(void **state)
{
	struct tree *t = tree_new();
	struct event gap;

	(void)state;
	event_init(&gap, EVENT_gap, 1, 1);
	event_put_text(&gap, FIELD_class, "process");
	event_put_u64(&gap, FIELD_count, 5);
	add(t, &gap);
	event_put_text(&gap, FIELD_class, "file");
	add(t, &gap);
	runs(t, "9-z", 9, "8-y", "cc");
	assert_int_equal(tree_missing(t), 5);
	assert_false(node(t, "9-z")->fork_seen);
	assert_int_equal(node(t, "9-z")->parent, number_of(t, "8-y"));
	assert_false(node(t, "8-y")->seen);

	runs(t, "8-y", 8, "1-a", "make"); /* the parent turns up later and keeps its child */
	assert_true(node(t, "8-y")->seen);
	assert_int_equal(node(t, "9-z")->parent, number_of(t, "8-y"));
	assert_int_equal(count_linked(t), 3);
	tree_free(t);
}

static void a_fork_that_is_told_late_joins_the_tree(void **state)
{
	struct tree *t = tree_new();

	(void)state;
	runs(t, "2-b", 2, NULL, "early");
	assert_int_equal(count_linked(t), 1);
	runs(t, "5-e", 5, NULL, "other root");
	assert_int_equal(count_linked(t), 2);
	forks(t, "1-a", 1, "2-b", 2);
	assert_int_equal(node(t, "2-b")->parent, number_of(t, "1-a"));
	assert_int_equal(count_linked(t), 3);
	tree_free(t);
}

static void rings_and_second_parents_are_counted_not_built(void **state)
{
	struct tree *t = tree_new();

	(void)state;
	forks(t, "1-a", 1, "1-a", 1);
	assert_int_equal(tree_contradictions(t), 1);
	forks(t, "1-a", 1, "2-b", 2);
	forks(t, "2-b", 2, "3-c", 3);
	forks(t, "3-c", 3, "1-a", 1);
	assert_int_equal(tree_contradictions(t), 2);
	forks(t, "9-x", 9, "3-c", 3);
	assert_int_equal(tree_contradictions(t), 3);
	forks(t, "2-b", 2, "3-c", 3); /* said twice: no contradiction */
	assert_int_equal(tree_contradictions(t), 3);
	assert_int_equal(count_linked(t), 4);
	tree_free(t);
}

static void long_argument_vectors_are_cut_between_items(void **state)
{
	static char argv[3 * TREE_ARGV_MAX];
	struct tree *t = tree_new();
	const struct tree_exec *exec;
	size_t items = sizeof(argv) / 100;
	struct event e;

	(void)state;
	memset(argv, 'x', sizeof(argv));
	for (size_t i = 1; i <= items; i++)
		argv[i * 100 - 1] = 0;
	begin(&e, EVENT_process_exec, "1-a", 1);
	event_put_bytes(&e, FIELD_argv, argv, items * 100);
	add(t, &e);
	exec = node(t, "1-a")->execs;
	assert_int_equal(exec->size, TREE_ARGV_MAX / 100 * 100);
	assert_int_equal(exec->left_out, items - TREE_ARGV_MAX / 100);

	begin(&e, EVENT_process_exec, "1-a", 1);
	event_put_bytes(&e, FIELD_argv, argv, 0);
	add(t, &e);
	assert_int_equal(exec->next->size, 0);
	assert_int_equal(exec->next->left_out, 0);
	tree_free(t);
}

static void what_was_not_asked_for_is_not_counted_but_kept(void **state)
{
	struct tree *t = tree_new();
	struct event e;

	(void)state;
	forks(t, "1-a", 1, "2-b", 2);
	begin(&e, EVENT_file_create, "2-b", 2);
	assert_int_equal(tree_add(t, &e, false), 0);
	assert_int_equal(node(t, "2-b")->files, 0);
	assert_int_equal(tree_add(t, &e, true), 0);
	assert_int_equal(node(t, "2-b")->files, 1);
	tree_free(t);

	t = tree_new();
	begin(&e, EVENT_process_fork, "1-a", 1);
	event_put_text(&e, FIELD_child_proc, "2-b");
	assert_int_equal(tree_add(t, &e, false), 0);
	begin(&e, EVENT_process_fork, "1-a", 1);
	event_put_text(&e, FIELD_child_proc, "3-c");
	assert_int_equal(tree_add(t, &e, false), 0);
	begin(&e, EVENT_file_create, "2-b", 2);
	assert_int_equal(tree_add(t, &e, true), 0);
	assert_true(node(t, "2-b")->wanted);
	assert_true(node(t, "1-a")->wanted); /* the way to it */
	assert_false(node(t, "3-c")->wanted);
	tree_free(t);
}

static void a_chain_of_any_depth_costs_no_stack(void **state)
{
	struct tree *t = tree_new();
	char parent[32] = "0-0", child[32];

	(void)state;
	for (unsigned int i = 1; i <= 200000; i++) {
		snprintf(child, sizeof(child), "%u-f", i);
		forks(t, parent, i, child, i + 1);
		memcpy(parent, child, sizeof(parent));
	}
	assert_int_equal(tree_count(t), 200001);
	assert_int_equal(tree_contradictions(t), 0);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_stand_below_their_parents_in_order),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(an_orphan_stays_below_who_forked_it),
		cmocka_unit_test(a_fork_in_a_gap_is_not_invented),
		cmocka_unit_test(a_fork_that_is_told_late_joins_the_tree),
		cmocka_unit_test(rings_and_second_parents_are_counted_not_built),
		cmocka_unit_test(long_argument_vectors_are_cut_between_items),
		cmocka_unit_test(what_was_not_asked_for_is_not_counted_but_kept),
		cmocka_unit_test(a_chain_of_any_depth_costs_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
