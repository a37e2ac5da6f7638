/*
 * The commands that answer questions, on journals of the golden records: their text and their JSON,
 * compared with tests/golden/replay (GOLDEN=write writes these anew), and what they refuse.
 */
#include "../../replay/left_tree.h"
#include "../../supervisor/record/printable.h"
#include "golden_session.h"

#include <sys/stat.h>

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

static void a_session_with_its_final_tree(void **state)
{
	check_all(*state, "final");
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

static void put_file(const char *directory, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void what_was_left_is_hashed(void **state)
{
	struct place *place = *state;
	char workspace[96], path[128];
	struct answer a;

	write_golden_session(place, "0123456789ab", "golden", "build.jsonl");
	a = ask(place, &command_files, "golden", "--hash");
	contains(a.err, "nothing is hashed: the workspace cannot be opened: No such file");
	assert_int_equal(a.status, 0);
	answer_free(&a);

	snprintf(workspace, sizeof(workspace), "%s/workspace", place->path);
	assert_int_equal(mkdir(workspace, 0700), 0);
	put_file(workspace, "hello", "abc");
	snprintf(path, sizeof(path), "%s/b", workspace);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	a = ask(place, &command_files, "golden", "--hash", "--workspace", workspace);
	contains(a.out,
		 "now sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
		 " (changed since the session)");
	contains(a.out, "now not a regular file");
	contains(a.out, "now gone");
	answer_free(&a);
	a = ask(place, &command_files, "golden", "--hash", "--json", "--workspace", workspace);
	contains(a.out, "\"now\": {\"state\": \"there\", \"size\": 3, \"changed_since\": true, "
			"\"sha256\": \"ba7816bf");
	answer_free(&a);
}

/* ---- a workspace that was left as a trap ---- */

static enum left look(const char *directory, const char *path, uint64_t end_ns,
		      struct left_file *ret_file)
{
	struct left_tree *tree;

	assert_int_equal(left_tree_open(directory, &tree), 0);
	*ret_file = left_tree_look(tree, bytes_of(path), end_ns);
	left_tree_close(tree);
	return ret_file->left;
}

static void a_workspace_leads_nowhere_else(void **state)
{
	struct place *place = *state;
	const char *dir = place->path;
	struct left_file file;
	char path[128];

	put_file(dir, "inside", "abc");
	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink("/etc", path), 0);
	snprintf(path, sizeof(path), "%s/self", dir);
	assert_int_equal(symlink("inside", path), 0);

	assert_int_equal(look(dir, "/workspace/inside", UINT64_MAX, &file), LEFT_HASHED);
	assert_false(file.is_changed_since);
	assert_int_equal(file.size, 3);
	assert_int_equal(look(dir, "/workspace/inside", 0, &file), LEFT_HASHED);
	assert_true(file.is_changed_since);
	assert_int_equal(look(dir, "/workspace/pipe", 0, &file), LEFT_OTHER);
	assert_int_equal(look(dir, "/workspace/self", 0, &file), LEFT_OTHER);
	assert_int_equal(look(dir, "/workspace/link/passwd", 0, &file), LEFT_OTHER);
	assert_int_equal(look(dir, "/workspace/../../etc/passwd", 0, &file), LEFT_OTHER);
	assert_int_equal(look(dir, "/workspace//etc/passwd", 0, &file), LEFT_OTHER);
	assert_int_equal(look(dir, "/workspace/nothing", 0, &file), LEFT_GONE);
	assert_int_equal(look(dir, "/workspace/inside/below", 0, &file), LEFT_GONE);
	assert_int_equal(look(dir, "/workspace/", 0, &file), LEFT_NOT_ASKED);
	assert_int_equal(look(dir, "/etc/passwd", 0, &file), LEFT_NOT_ASKED);
	assert_int_equal(look(dir, "/workspacex/inside", 0, &file), LEFT_NOT_ASKED);

	/* Large, and without a byte in it. */
	snprintf(path, sizeof(path), "%s/large", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)LEFT_FILE_MAX + 1), 0);
	close(fd);
	assert_int_equal(look(dir, "/workspace/large", 0, &file), LEFT_LARGE);
	assert_int_equal(file.size, LEFT_FILE_MAX + 1);
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
		IN_PLACE(a_session_with_its_final_tree),
		IN_PLACE(a_session_of_hostile_names),
		IN_PLACE(missing_records_are_said),
		IN_PLACE(a_filter_chooses_what_counts),
		IN_PLACE(what_was_left_is_hashed),
		IN_PLACE(a_workspace_leads_nowhere_else),
		IN_PLACE(two_sessions_are_compared),
		IN_PLACE(what_is_asked_about_has_to_be_a_path_or_a_process),
		IN_PLACE(all_sessions_are_searched),
		IN_PLACE(a_session_without_a_journal_is_told_by_a_search),
		IN_PLACE(the_tree_is_one_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
