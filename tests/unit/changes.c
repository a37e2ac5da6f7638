/* What became of files: in the end, whatever the way there. */
#include "../../replay/changes.h"
#include "../../supervisor/record/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct changes *changes;
static struct actors *actors;
static uint64_t seq;

static int set_up(void **state)
{
	(void)state;
	changes = changes_new();
	actors = actors_new();
	seq = 0;
	return !changes || !actors;
}

static int tear_down(void **state)
{
	(void)state;
	changes_free(changes);
	actors_free(actors);
	return 0;
}

static void begin(struct event *e, enum event_kind kind, const char *path)
{
	event_init(e, kind, 1, 1);
	e->seq = ++seq;
	event_put_text(e, FIELD_proc, "7-a");
	event_put_u64(e, FIELD_pid, 7);
	event_put_text(e, FIELD_path, path);
}

static void tell(const struct event *e)
{
	assert_int_equal(actors_add(actors, e), 0);
	assert_int_equal(changes_add(changes, actors, e), 0);
}

static void acts(enum event_kind kind, const char *path)
{
	struct event e;

	begin(&e, kind, path);
	event_put_text(&e, FIELD_file_type, "regular");
	tell(&e);
}

static void writes(const char *path, uint64_t bytes, uint64_t size)
{
	struct event e;

	begin(&e, EVENT_file_modify, path);
	event_put_u64(&e, FIELD_bytes_written, bytes);
	event_put_u64(&e, FIELD_size, size);
	tell(&e);
}

static void renames(const char *from, const char *to, const char *type, bool exchange)
{
	struct event e;

	begin(&e, EVENT_file_rename, from);
	event_put_text(&e, FIELD_new_path, to);
	event_put_text(&e, FIELD_file_type, type);
	event_put_bool(&e, FIELD_exchange, exchange);
	tell(&e);
}

/* "created /a|renamed /b</c|": all that is different. */
static const char *outcome(void)
{
	static char text[1024];
	cleanup(free) struct change *list = NULL;
	size_t count, at = 0;

	assert_int_equal(changes_list(changes, &list, &count), 0);
	text[0] = 0;
	for (size_t i = 0; i < count; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %.*s",
				       outcome_names[list[i].outcome], (int)list[i].path.size,
				       (const char *)list[i].path.data);
		if (list[i].from.data)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "<%.*s",
					       (int)list[i].from.size,
					       (const char *)list[i].from.data);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s|",
				       list[i].doubtful ? "?" : "");
	}
	return text;
}

static void simple_ends(void **state)
{
	(void)state;
	acts(EVENT_file_create, "/new");
	writes("/new", 3, 3);
	acts(EVENT_file_open, "/old");
	writes("/old", 3, 3);
	acts(EVENT_file_delete, "/gone");
	acts(EVENT_file_create, "/tmp");
	acts(EVENT_file_delete, "/tmp");
	acts(EVENT_file_open, "/only-opened");
	acts(EVENT_file_read, "/only-read");
	acts(EVENT_file_attr, "/mode");
	acts(EVENT_file_mkdir, "/dir");
	assert_string_equal(outcome(), "created /dir|deleted /gone|modified /mode|created /new|"
				       "modified /old|temporary /tmp|");
}

static void chains_of_renames_come_to_their_ends(void **state)
{
	(void)state;
	renames("/a", "/b", "regular", false);
	renames("/b", "/c", "regular", false);
	assert_string_equal(outcome(), "renamed /c</a?|");
	renames("/c", "/a", "regular", false);
	assert_string_equal(outcome(), ""); /* where it was */
	acts(EVENT_file_create, "/t1");
	renames("/t1", "/t2", "regular", false);
	acts(EVENT_file_delete, "/t2");
	assert_string_equal(outcome(), "temporary /t2|");
}

static void a_save_by_rename_replaces(void **state)
{
	(void)state;
	acts(EVENT_file_open, "/conf");
	acts(EVENT_file_create, "/conf.new");
	writes("/conf.new", 9, 9);
	renames("/conf.new", "/conf", "regular", false);
	assert_string_equal(outcome(), "replaced /conf|");
}

static void a_name_taken_by_rename_may_have_been_there(void **state)
{
	(void)state;
	acts(EVENT_file_create, "/x.tmp");
	renames("/x.tmp", "/x", "regular", false);
	assert_string_equal(outcome(), "created /x?|");
}

static void deleted_and_made_anew_is_replaced(void **state)
{
	(void)state;
	acts(EVENT_file_delete, "/f");
	acts(EVENT_file_create, "/f");
	assert_string_equal(outcome(), "replaced /f|");
	acts(EVENT_file_delete, "/f");
	assert_string_equal(outcome(), "deleted /f|");
}

static void what_is_in_a_directory_moves_with_it(void **state)
{
	(void)state;
	acts(EVENT_file_mkdir, "/d");
	acts(EVENT_file_create, "/d/in");
	writes("/d/old", 1, 1);
	acts(EVENT_file_create, "/dx"); /* not below it */
	renames("/d", "/e", "directory", false);
	writes("/e/in", 5, 5);
	assert_string_equal(outcome(),
			    "created /dx|created /e?|created /e/in|renamed /e/old</d/old|");
}

static void swapped_names_are_two_renames(void **state)
{
	(void)state;
	renames("/a", "/b", "regular", true);
	assert_string_equal(outcome(), "renamed /a</b|renamed /b</a|");
	renames("/b", "/a", "regular", true);
	assert_string_equal(outcome(), "");
}

static void a_late_word_on_a_deleted_file_does_not_bring_it_back(void **state)
{
	struct event e;

	(void)state;
	acts(EVENT_file_create, "/t");
	acts(EVENT_file_delete, "/t");
	begin(&e, EVENT_file_modify, "/t");
	event_put_bool(&e, FIELD_deleted, true);
	event_put_u64(&e, FIELD_bytes_written, 77);
	tell(&e);
	assert_string_equal(outcome(), "temporary /t|");
}

static void sizes_names_and_doers_are_told(void **state)
{
	cleanup(free) struct change *list = NULL;
	struct event e;
	size_t count;

	(void)state;
	begin(&e, EVENT_file_truncate, "/f");
	event_put_u64(&e, FIELD_old_size, 500);
	event_put_u64(&e, FIELD_size, 0);
	tell(&e);
	writes("/f", 40, 40);
	begin(&e, EVENT_file_attr, "/f");
	event_put_text(&e, FIELD_path_source, "args");
	tell(&e);
	assert_int_equal(changes_list(changes, &list, &count), 0);
	assert_int_equal(count, 1);
	assert_true(list->has_old_size);
	assert_int_equal(list->old_size, 500);
	assert_int_equal(list->size, 40);
	assert_int_equal(list->bytes_written, 40);
	assert_true(list->unproven);
	assert_int_equal(list->first_seq, 1);
	assert_int_equal(list->last_seq, 3);
	assert_int_equal(list->by.count, 1);
}

static void devices_and_the_nameless_are_no_changes(void **state)
{
	struct event e;

	(void)state;
	begin(&e, EVENT_file_modify, "/dev/null");
	event_put_text(&e, FIELD_file_type, "character");
	tell(&e);
	begin(&e, EVENT_file_create, NULL);
	tell(&e);
	assert_string_equal(outcome(), "");
	assert_int_equal(changes_left_out(changes).nameless, 1);
}

static void endless_renames_of_directories_end(void **state)
{
	char path[32];

	(void)state;
	for (size_t i = 0; i < 30000; i++) {
		snprintf(path, sizeof(path), "/d/%zu", i);
		acts(EVENT_file_create, path);
	}
	for (size_t i = 0; i < 6000; i++)
		renames(i % 2 ? "/e" : "/d", i % 2 ? "/d" : "/e", "directory", false);
	assert_true(changes_left_out(changes).not_followed > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(simple_ends),
		TEST(chains_of_renames_come_to_their_ends),
		TEST(a_save_by_rename_replaces),
		TEST(a_name_taken_by_rename_may_have_been_there),
		TEST(deleted_and_made_anew_is_replaced),
		TEST(what_is_in_a_directory_moves_with_it),
		TEST(swapped_names_are_two_renames),
		TEST(a_late_word_on_a_deleted_file_does_not_bring_it_back),
		TEST(sizes_names_and_doers_are_told),
		TEST(devices_and_the_nameless_are_no_changes),
		TEST(endless_renames_of_directories_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
