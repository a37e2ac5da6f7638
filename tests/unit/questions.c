/*
 * The commands that answer questions, on journals of the golden records: their text and their JSON,
 * compared with tests/golden/replay (GOLDEN=write writes these anew), and what they refuse.
 */
#include "golden_session.h"

static const struct {
	const struct command *command;
	const char *name, *subject;
} questions[] = {
	{&command_files, "files", NULL},
	{&command_hosts, "hosts", NULL},
	{&command_stats, "stats", NULL},
	{&command_lineage, "lineage", "/workspace/hello"},
	{&command_lineage, "lineage-of-process", "3"},
};

#define QUESTIONS (sizeof(questions) / sizeof(*questions))

static void check_all(struct place *place, const char *records)
{
	char path[64];

	snprintf(path, sizeof(path), "%s.jsonl", records);
	write_golden_session(place, "0123456789ab", "golden", path);
	for (size_t i = 0; i < QUESTIONS; i++) {
		const char *subject = questions[i].subject ? questions[i].subject : "--color=never";
		struct answer a = ask(place, questions[i].command, "golden", subject);
		json_t *json;

		assert_string_equal(a.err, "");
		assert_int_equal(a.status, 0);
		snprintf(path, sizeof(path), "%s.%s", records, questions[i].name);
		is_golden(path, a.out);
		answer_free(&a);

		a = ask(place, questions[i].command, "golden", subject, "--json");
		assert_int_equal(a.status, 0);
		assert_int_equal(count_of(a.out, "\n"), 1);
		json = json_loads(a.out, JSON_ALLOW_NUL, NULL);
		assert_true(json_is_object(json));
		assert_string_equal(json_string_value(json_object_get(json, "session")),
				    "0123456789ab");
		assert_true(json_is_true(json_object_get(json, "ended")));
		json_decref(json);
		snprintf(path, sizeof(path), "%s.%s.json", records, questions[i].name);
		is_golden(path, a.out);
		answer_free(&a);
	}
}

static void a_session_of_work(void **state)
{
	check_all(*state, "build");
}

static void a_session_of_hostile_names(void **state)
{
	check_all(*state, "hostile");
}

static void missing_records_are_said(void **state)
{
	static const struct command *const asked[] = {&command_files, &command_hosts};
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789ab", "golden", "holes.jsonl");
	a = ask(place, &command_lineage, "golden", "9");
	contains(a.out, "records are missing");
	answer_free(&a);
	for (size_t i = 0; i < 2; i++) {
		a = ask(place, asked[i], "golden", "--json");
		contains(a.out, "\"missing_records\": ");
		answer_free(&a);
	}
}

static void a_filter_chooses_what_counts(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789ab", "golden", "build.jsonl");
	a = ask(place, &command_files, "golden", "--filter", "path:*.o");
	contains(a.out, "deleted   /workspace/hello.o");
	assert_int_equal(count_of(a.out, "/workspace/"), 1);
	answer_free(&a);
	a = ask(place, &command_hosts, "golden", "--filter", "net.dst:2001:db8::/32");
	contains(a.out, "[2001:db8::1]:443");
	assert_null(strstr(a.out, "8080"));
	answer_free(&a);
	a = ask(place, &command_replay, "golden", "--filter", "kind:exec_failed", "--json");
	assert_int_equal(count_of(a.out, "\n"), 1);
	answer_free(&a);
	a = ask(place, &command_files, "golden", "--filter", "path:(");
	assert_int_equal(a.status, 2);
	contains(a.err, "vitrine files: bad filter, at character 6: ");
	assert_string_equal(a.out, "");
	answer_free(&a);
}

static void two_sessions_are_compared(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789aa", "one", "build.jsonl");
	write_golden_session(place, "0123456789ab", "same", "build.jsonl");
	write_golden_session(place, "0123456789ac", "other", "hostile.jsonl");
	a = ask(place, &command_diff, "one", "same");
	assert_int_equal(a.status, 0);
	contains(a.out, "the same programs, packages, files, hosts and refusals");
	answer_free(&a);
	a = ask(place, &command_diff, "one", "other");
	assert_int_equal(a.status, 1);
	is_golden("build-hostile.diff", a.out);
	answer_free(&a);
	a = ask(place, &command_diff, "one", "other", "--json");
	assert_int_equal(a.status, 1);
	is_golden("build-hostile.diff.json", a.out);
	answer_free(&a);
	a = ask(place, &command_diff, "one", "nobody");
	assert_int_equal(a.status, 2);
	answer_free(&a);
}

static void what_is_asked_about_has_to_be_a_path_or_a_process(void **state)
{
	static const char *const bad[] = {"relative", "12x", "-", "12-", "12-xyz", ""};
	struct place *place = *state;

	write_golden_session(place, "0123456789ab", "golden", "build.jsonl");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct answer a = ask(place, &command_lineage, "golden", bad[i]);

		assert_int_equal(a.status, 2);
		assert_string_equal(a.out, "");
		answer_free(&a);
	}
}

static void all_sessions_are_searched(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789aa", "one", "build.jsonl");
	write_golden_session(place, "0123456789ab", "two", "build.jsonl");
	write_golden_session(place, "0123456789ac", "three", "hostile.jsonl");
	a = ask(place, &command_search, "kind:exec", "argv:make");
	assert_int_equal(a.status, 0);
	assert_int_equal(count_of(a.out, "\n"), 2);
	assert_int_equal(strncmp(a.out, "0123456789ab        6 2024-02-29T12:30:45.006000Z", 49),
			 0);
	assert_string_equal(a.err, "2 events in 2 of 3 sessions, 74 records read\n");
	answer_free(&a);
	a = ask(place, &command_search, "kind:exec", "argv:make", "--json", "-n", "1");
	assert_int_equal(a.status, 0);
	assert_int_equal(count_of(a.out, "\n"), 1);
	contains(a.err, "there is more; --limit 0 gives all");
	answer_free(&a);
	a = ask(place, &command_search, "kind:exec", "--until", "1970-01-02T00:00:00Z");
	assert_int_equal(a.status, 1);
	contains(a.err, "0 events in 0 of 0 sessions"); /* none of them was read */
	answer_free(&a);
	a = ask(place, &command_search, "kind:exec", "--limit", "many");
	assert_int_equal(a.status, 2);
	answer_free(&a);
	a = ask(place, &command_search, "nope:1");
	assert_int_equal(a.status, 2);
	contains(a.err, "there is no field");
	answer_free(&a);
}

static void a_session_without_a_journal_is_told_by_a_search(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789aa", "one", "build.jsonl");
	write_manifest(place, "0123456789ab", "empty", SESSION_ENDED, false);
	a = ask(place, &command_search, "argv:make");
	assert_int_equal(a.status, 2);
	assert_int_equal(count_of(a.out, "\n"), 1);
	contains(a.err, "1 sessions cannot be read");
	answer_free(&a);
}

static void the_tree_is_one_object(void **state)
{
	struct place *place = *state;
	struct answer a, b;

	write_golden_session(place, "0123456789ab", "golden", "build.jsonl");
	a = ask(place, &command_tree, "golden", "--json");
	b = ask(place, &command_replay, "golden", "--json", "--tree");
	assert_int_equal(a.status, 0);
	assert_string_equal(a.out, b.out);
	is_golden("build.tree.json", a.out);
	answer_free(&a);
	answer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(a_session_of_work),
		IN_PLACE(a_session_of_hostile_names),
		IN_PLACE(missing_records_are_said),
		IN_PLACE(a_filter_chooses_what_counts),
		IN_PLACE(two_sessions_are_compared),
		IN_PLACE(what_is_asked_about_has_to_be_a_path_or_a_process),
		IN_PLACE(all_sessions_are_searched),
		IN_PLACE(a_session_without_a_journal_is_told_by_a_search),
		IN_PLACE(the_tree_is_one_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
