/*
 * Records in, and what they explain of a tree.
 */
#include "supervisor/capture/explained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define SECOND_NS 1000000000ULL

struct world {
	struct explained *x;
	uint64_t now_ns; /* each record comes two seconds after the one before */
	char told[4096];
	size_t used;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(explained_new(&w->x), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	explained_free(w->x);
	free(w);
	return 0;
}

static struct event event_of(struct world *w, enum event_kind kind)
{
	struct event e;

	w->now_ns += 2 * SECOND_NS;
	event_init(&e, kind, w->now_ns, w->now_ns);
	return e;
}

static void told(struct world *w, enum event_kind kind, const char *path)
{
	struct event e = event_of(w, kind);

	event_put_text(&e, FIELD_path, path);
	event_put_text(&e, FIELD_path_source, "kernel");
	explained_take(w->x, &e);
}

static void told_args(struct world *w, enum event_kind kind, const char *path)
{
	struct event e = event_of(w, kind);

	event_put_text(&e, FIELD_path, path);
	event_put_text(&e, FIELD_path_source, "args");
	explained_take(w->x, &e);
}

static void told_two(struct world *w, enum event_kind kind, const char *path, const char *new_path,
		     bool is_exchange)
{
	struct event e = event_of(w, kind);

	event_put_text(&e, FIELD_path, path);
	event_put_text(&e, FIELD_path_source, "kernel");
	event_put_text(&e, FIELD_new_path, new_path);
	event_put_text(&e, FIELD_new_path_source, "kernel");
	if (is_exchange)
		event_put_bool(&e, FIELD_exchange, true);
	explained_take(w->x, &e);
}

/* Show the tree @path, step by step as the walk does. */
static bool see(struct world *w, const char *path, enum explained_shown shown)
{
	struct explained_name *directory = explained_root(w->x);

	for (;;) {
		size_t size = strcspn(++path, "/");
		struct bytes name = {path, size};
		struct explained_name *known = explained_find(w->x, directory, name);

		path += size;
		if (!*path)
			return explained_see(w->x, directory, known, name, shown);
		explained_see(w->x, directory, known, name, EXPLAINED_PRESENT);
		directory = known;
	}
}

#define CHANGED(path) see(w, path, EXPLAINED_CHANGED)
#define DELETED(path) see(w, path, EXPLAINED_DELETED)

static void on_missing(void *context, struct bytes path)
{
	struct world *w = context;

	w->used += (size_t)snprintf(w->told + w->used, sizeof(w->told) - w->used, "%.*s ",
				    (int)path.size, (const char *)path.data);
}

static const char *missing(struct world *w)
{
	w->used = 0;
	w->told[0] = '\0';
	explained_missing(w->x, on_missing, w);
	return w->told;
}

static void what_was_done_is_explained(void **state)
{
	struct world *w = *state;

	told(w, EVENT_file_create, "/tmp/made");
	told(w, EVENT_file_modify, "/etc/written");
	told(w, EVENT_file_delete, "/etc/removed");
	told(w, EVENT_file_attr, "/mnt");
	told(w, EVENT_file_mkdir, "/d");
	told(w, EVENT_file_symlink, "/d/l");
	told_two(w, EVENT_file_link, "/tmp/made", "/d/second", false);
	assert_true(CHANGED("/tmp/made"));
	assert_true(CHANGED("/etc/written"));
	assert_true(DELETED("/etc/removed"));
	assert_true(CHANGED("/mnt"));
	assert_true(CHANGED("/d"));
	assert_true(CHANGED("/d/l"));
	assert_true(CHANGED("/d/second"));
	assert_string_equal(missing(w), "");
}

static void what_was_not_done_is_not(void **state)
{
	struct world *w = *state;

	told(w, EVENT_file_create, "/tmp/made");
	told(w, EVENT_file_delete, "/etc/removed");
	assert_false(CHANGED("/tmp/other"));
	assert_false(CHANGED("/made"));
	assert_false(CHANGED("/tmp/made/below"));
	assert_false(CHANGED("/etc/removed"));
	assert_false(DELETED("/tmp/made"));
	assert_false(DELETED("/etc/other"));
}

static void what_moves_takes_all_with_it(void **state)
{
	struct world *w = *state;

	told(w, EVENT_file_mkdir, "/a");
	told(w, EVENT_file_mkdir, "/a/b");
	told(w, EVENT_file_create, "/a/b/f");
	told_two(w, EVENT_file_rename, "/a", "/c", false);
	told_two(w, EVENT_file_rename, "/c/b", "/d", false);
	told(w, EVENT_file_create, "/a");
	assert_true(CHANGED("/c"));
	assert_true(CHANGED("/d"));
	assert_true(CHANGED("/d/f"));
	assert_true(CHANGED("/a"));
	assert_false(CHANGED("/c/b"));
	assert_false(CHANGED("/a/b/f"));
	assert_string_equal(missing(w), "");
}

static void what_is_replaced_is_gone(void **state)
{
	struct world *w = *state;

	told(w, EVENT_file_create, "/old");
	told(w, EVENT_file_create, "/new");
	told_two(w, EVENT_file_rename, "/new", "/old", false);
	assert_true(CHANGED("/old"));
	assert_string_equal(missing(w), "");
	assert_false(CHANGED("/new"));

	/* Of the session's own system: then removed. */
	told(w, EVENT_file_create, "/tmp/n");
	told_two(w, EVENT_file_rename, "/tmp/n", "/etc/hosts", false);
	told(w, EVENT_file_delete, "/etc/hosts");
	assert_true(DELETED("/etc/hosts"));
}

static void two_may_trade_places(void **state)
{
	struct world *w = *state;

	told(w, EVENT_file_mkdir, "/a");
	told(w, EVENT_file_create, "/a/one");
	told(w, EVENT_file_mkdir, "/b");
	told(w, EVENT_file_create, "/b/two");
	told_two(w, EVENT_file_rename, "/a", "/b", true);
	assert_true(CHANGED("/b/one"));
	assert_true(CHANGED("/a/two"));
	assert_false(CHANGED("/a/one"));
	assert_true(CHANGED("/a"));
	assert_true(CHANGED("/b"));
	assert_string_equal(missing(w), "");
}

/* A directory of which no record tells how it came: what is in it came with it. */
static void what_came_as_a_whole_is_explained(void **state)
{
	struct world *w = *state;

	told_two(w, EVENT_file_rename, "/unknown", "/known", false);
	assert_true(CHANGED("/known/f"));
	assert_false(CHANGED("/f"));
}

static void what_a_record_says_and_the_tree_does_not_is_missing(void **state)
{
	struct world *w = *state;

	told(w, EVENT_file_create, "/tmp/a");
	told(w, EVENT_file_create, "/tmp/b");
	told(w, EVENT_file_create, "/tmp/c");
	told(w, EVENT_file_delete, "/tmp/c");
	told(w, EVENT_file_open, "/etc/passwd");
	told(w, EVENT_file_create, "/workspace/x");
	told(w, EVENT_file_create, "/dev/null2");
	told(w, EVENT_file_create, "/dev/shm/x");
	told(w, EVENT_file_create, "/run/secrets/x");
	told(w, EVENT_file_create, "/run/x");
	told(w, EVENT_file_create, "/proc/x");
	assert_true(CHANGED("/tmp/a"));
	const char *told = missing(w);
	assert_non_null(strstr(told, "/tmp/b "));
	assert_non_null(strstr(told, "/dev/shm/x "));
	assert_non_null(strstr(told, "/run/x "));
	assert_int_equal(strlen(told), strlen("/tmp/b /dev/shm/x /run/x "));
}

/* A name that is only what a call was given: whichever file has it may have been meant. */
static void what_is_not_proven_explains_the_name(void **state)
{
	struct world *w = *state;

	told_args(w, EVENT_file_create, "/var/run/../run/pid");
	assert_true(CHANGED("/run/pid"));
	assert_false(CHANGED("/run/other"));
	assert_string_equal(missing(w), "");
}

/* Nor is the name: another thread may have changed it while the kernel read it. */
static void each_unproven_act_excuses_one_name(void **state)
{
	struct world *w = *state;

	told_args(w, EVENT_file_delete, "/workspace/x");
	assert_false(explained_excuse(w->x));
	told_args(w, EVENT_file_delete, "/tmp/x");
	told_args(w, EVENT_file_create, "/tmp/y");
	assert_true(explained_excuse(w->x));
	assert_true(explained_excuse(w->x));
	assert_false(explained_excuse(w->x));
}

/* Two threads at one name: their records may come in the other order. */
static void what_lies_close_has_no_order(void **state)
{
	struct world *w = *state;
	struct event made = event_of(w, EVENT_file_create), gone = event_of(w, EVENT_file_delete);

	event_put_text(&made, FIELD_path, "/lock");
	event_put_text(&made, FIELD_path_source, "kernel");
	event_put_text(&gone, FIELD_path, "/lock");
	event_put_text(&gone, FIELD_path_source, "kernel");
	gone.boot_ns = made.boot_ns + 1000;
	explained_take(w->x, &gone);
	explained_take(w->x, &made);
	assert_string_equal(missing(w), "");
	explained_take(w->x, &gone);
	assert_true(CHANGED("/lock"));
}

/* Names that come and go do not pile up. */
static void what_came_and_went_takes_no_room(void **state)
{
	struct world *w = *state;
	char path[64];

	for (int i = 0; i < 1000000; i++) {
		snprintf(path, sizeof(path), "/tmp/temporary-%d", i);
		told(w, EVENT_file_create, path);
		told(w, EVENT_file_delete, path);
	}
	assert_true(explained_is_whole(w->x));
	told(w, EVENT_file_create, "/tmp/last");
	assert_true(CHANGED("/tmp/last"));
	assert_string_equal(missing(w), "");
}

static void what_finds_no_room_is_not_passed_over(void **state)
{
	struct world *w = *state;
	char path[64];

	for (int i = 0; i < 300000; i++) {
		snprintf(path, sizeof(path), "/tmp/kept-%d", i);
		told(w, EVENT_file_create, path);
	}
	assert_false(explained_is_whole(w->x));
}

static void hostile_records_are_borne(void **state)
{
	static const char *const paths[] = {"", "/", "//", "a", "/a//b/", "/a/b", "\xff/\n/", "/."};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (size_t j = 0; j < sizeof(paths) / sizeof(paths[0]); j++) {
			told_two(w, EVENT_file_rename, paths[i], paths[j], false);
			told_two(w, EVENT_file_rename, paths[j], paths[i], true);
			told_two(w, EVENT_file_link, paths[i], paths[j], false);
			told(w, EVENT_file_delete, paths[i]);
			told(w, EVENT_file_create, paths[j]);
		}
	missing(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(what_was_done_is_explained),
		TEST(what_was_not_done_is_not),
		TEST(what_moves_takes_all_with_it),
		TEST(what_is_replaced_is_gone),
		TEST(two_may_trade_places),
		TEST(what_came_as_a_whole_is_explained),
		TEST(what_a_record_says_and_the_tree_does_not_is_missing),
		TEST(what_is_not_proven_explains_the_name),
		TEST(each_unproven_act_excuses_one_name),
		TEST(what_lies_close_has_no_order),
		TEST(what_came_and_went_takes_no_room),
		TEST(what_finds_no_room_is_not_passed_over),
		TEST(hostile_records_are_borne),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
