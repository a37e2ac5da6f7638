/*
 * The index of searches: whatever state it is in, a search finds what it finds without it.
 */
#include "../../replay/grams.h"
#include "../../replay/query.h"
#include "golden_session.h"
#include "sample.h"

#include <sqlite3.h>
#include <sys/stat.h>

#define FILTERS "tests/e2e/filters.txt"
#define ONE "0123456789aa"
#define TWO "0123456789ab"

/* ---- what a stretch can hold ---- */

static const struct origin origin = {0};

static void check_event(const struct query *q, const char *filter, const struct event *e)
{
	static struct stretch span;

	stretch_begin(&span, 1);
	stretch_add(&span, e);
	if (query_match(q, &origin, e) && !query_can_match(q, &span.grams))
		fail_msg("%s: hides a %s", filter, kind_table[e->kind].name);
}

static void check_filter(const char *filter)
{
	struct query_error error;
	struct query *q = NULL;
	struct event e;

	if (query_parse(filter, &q, &error) < 0)
		return;
	for (unsigned variant = 0; variant < SAMPLE_VARIANTS; variant++)
		for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			sample_event(&e, (enum event_kind)kind, variant);
			check_event(q, filter, &e);
		}
	query_free(q);
}

static void nothing_that_matches_is_hidden(void **state)
{
	static const char *const more[] = {
		"make",
		"MAKE",
		"argv:make",
		"argv~AKE",
		"argv:m?ke",
		"labels:team=blue",
		"labels~=bl",
		"labels:team",
		"am=blu",
		"argv~\"line one\"",
		"argv~\"\"",
		"path:*",
		"path:/usr*make",
		"process",
		"ess.ex",
		"net.dst:10.0.0.0/8",
		"dst:*",
		"not make",
		"not not make or xyz",
		"kind:* make",
		"(make xyz) or kind:gap",
		"policy~produced",
		"counts~lost",
		"attack:*",
		"seq:1",
		"size:>0",
		"port:1..65535",
		"still_open:yes",
		"time:>0s",
		"path~\\xe9",
	};
	cleanup(fclose) FILE *in = fopen(FILTERS, "re");
	char line[512];

	(void)state;
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		check_filter(line);
	}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		check_filter(more[i]);
}

static void what_is_not_there_is_known(void **state)
{
	static const char *const absent[] = {"kind:gap",      "argv~xyzzy", "xyzzy",
					     "path:/xyzzy/*", "port:443",   "make argv~xyzzy"};
	struct query_error error;
	struct stretch span;
	struct event e;

	(void)state;
	stretch_begin(&span, 1);
	sample_event(&e, EVENT_process_exec, 0);
	stretch_add(&span, &e);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		struct query *q = NULL;

		assert_int_equal(query_parse(absent[i], &q, &error), 0);
		if (query_can_match(q, &span.grams))
			fail_msg("%s may be there", absent[i]);
		query_free(q);
	}
}

/* ---- searches ---- */

/* The answer to @filter is the same with the index as without. Returns how many records were read.
 */
static unsigned long same(struct place *place, const char *filter)
{
	struct answer without = ask(place, &command_search, "--no-index", "--limit", "0", filter);
	struct answer with = ask(place, &command_search, "--limit", "0", filter);
	unsigned long read = 0;

	assert_string_equal(with.out, without.out);
	assert_int_equal(with.status, without.status);
	const char *count = strstr(with.err, "sessions, ");
	if (count)
		read = strtoul(count + strlen("sessions, "), NULL, 10);
	answer_free(&without);
	answer_free(&with);
	return read;
}

static char *index_path(const struct place *place)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/search.index", place->path);
	return path;
}

static void every_filter_finds_the_same(void **state)
{
	struct place *place = *state;
	cleanup(fclose) FILE *in = fopen(FILTERS, "re");
	char line[512];

	write_golden_session(place, ONE, "one", "build.jsonl");
	write_golden_session(place, TWO, "two", "hostile.jsonl");
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] && line[0] != '-')
			same(place, line);
	}
	assert_true(access(index_path(place), F_OK) == 0);
}

static void records_are_read_once(void **state)
{
	struct place *place = *state;
	struct stat st;

	write_golden_session(place, ONE, "one", "build.jsonl");
	assert_int_equal(same(place, "argv~nowhere-at-all"), 32);
	assert_int_equal(same(place, "argv~nowhere-at-all"), 0);
	assert_int_equal(stat(index_path(place), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	write_golden_session(place, TWO, "two", "hostile.jsonl");
	assert_int_equal(same(place, "argv~nowhere-at-all"), 10);
	assert_int_equal(same(place, "argv~nowhere-at-all"), 0);

	struct answer a = ask(place, &command_search, "--rebuild");
	assert_int_equal(a.status, 0);
	contains(a.err, "0 events in 0 of 2 sessions, 42 records read");
	answer_free(&a);
	a = ask(place, &command_search, "--rebuild", "argv~nowhere-at-all");
	assert_int_equal(a.status, 1);
	contains(a.err, "sessions, 0 records read");
	answer_free(&a);
}

static void what_a_search_may_not_be_asked(void **state)
{
	struct answer a = ask(*state, &command_search, "--json");

	assert_int_equal(a.status, 2);
	contains(a.err, "a filter is missing");
	answer_free(&a);
	a = ask(*state, &command_search, "--rebuild", "--no-index", "x");
	assert_int_equal(a.status, 2);
	contains(a.err, "exclude each other");
	answer_free(&a);
}

static void write_numbered(struct writer *w, unsigned from, unsigned to)
{
	char text[32];

	for (unsigned i = from; i < to; i++) {
		snprintf(text, sizeof(text), "word-%u-", i);
		write_output(w, "stdout", text);
	}
}

static void a_journal_that_grows_is_gone_on_with(void **state)
{
	struct place *place = *state;
	struct writer w = open_journal(place, ONE, 0);

	write_manifest(place, ONE, "one", SESSION_RUNNING, true);
	write_start(&w);
	write_numbered(&w, 0, 5000);
	assert_int_equal(same(place, "nowhere-at-all"), 5001);
	write_numbered(&w, 5000, 5010);
	/* The last stretch was short: it is read again with what came. */
	unsigned long read = same(place, "nowhere-at-all");
	assert_true(read >= 10 && read < 2000);
	assert_int_equal(same(place, "nowhere-at-all"), 0);
	assert_true(same(place, "word-5009-") > 0);
	assert_true(same(place, "word-17-") > 0);
	write_numbered(&w, 5010, 12000);
	write_end(&w);
	assert_int_equal(journal_close(w.journal), 0);
	same(place, "word-11999-");
	same(place, "word-5009-");
	assert_int_equal(same(place, "nowhere-at-all"), 0);
}

/* Retention took the first ones, or a block was lost: numbers that nobody has. */
static void damage_is_told_each_time(void **state)
{
	struct place *place = *state;
	struct writer w = open_journal(place, ONE, 4096);
	char path[160];

	write_manifest(place, ONE, "one", SESSION_ENDED, false);
	write_start(&w);
	write_numbered(&w, 0, 3000);
	write_end(&w);
	assert_int_equal(journal_close(w.journal), 0);
	snprintf(path, sizeof(path), "%s/sessions/%s/000000.vtj", place->path, ONE);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "damage", 6, 50000), 6);
	close(fd);
	for (int i = 0; i < 3; i++) {
		struct answer a = ask(place, &command_search, "word-2999-");

		assert_int_equal(a.status, 2);
		contains(a.err, "are damaged");
		contains(a.out, "word-2999-");
		answer_free(&a);
		same(place, "stdout");
	}
}

static void a_journal_that_is_another_is_indexed_anew(void **state)
{
	struct place *place = *state;
	char path[160], other[160];

	write_golden_session(place, ONE, "one", "build.jsonl");
	write_golden_session(place, TWO, "two", "hostile.jsonl");
	same(place, "make");
	snprintf(path, sizeof(path), "%s/sessions/%s/000000.vtj", place->path, ONE);
	snprintf(other, sizeof(other), "%s/sessions/%s/000000.vtj", place->path, TWO);
	assert_int_equal(renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE), 0);
	same(place, "make");
	same(place, "kind:exec");
	assert_int_equal(unlink(other), 0);
	same(place, "make");
}

/* ---- an index that is not what it was ---- */

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte = 0;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x5a;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void no_bit_of_it_hides_anything(void **state)
{
	struct place *place = *state;
	struct answer want;
	struct stat st;

	write_golden_session(place, ONE, "one", "build.jsonl");
	want = ask(place, &command_search, "--no-index", "make");
	answer_free(&want);
	want = ask(place, &command_search, "make");
	assert_int_equal(stat(index_path(place), &st), 0);
	for (off_t at = 0; at < st.st_size; at += 241) {
		struct answer a = ask(place, &command_search, "--rebuild");

		answer_free(&a);
		flip(index_path(place), at);
		a = ask(place, &command_search, "make");
		if (strcmp(a.out, want.out) || a.status != want.status)
			fail_msg("byte %lld: %s%s", (long long)at, a.out, a.err);
		answer_free(&a);
	}
	answer_free(&want);
}

static void a_torn_or_foreign_index_is_replaced(void **state)
{
	struct place *place = *state;
	char path[128];

	write_golden_session(place, ONE, "one", "build.jsonl");
	same(place, "make");
	snprintf(path, sizeof(path), "%s", index_path(place));
	assert_int_equal(truncate(path, 9000), 0);
	same(place, "make"); /* finds it broken */
	same(place, "make"); /* makes it anew */
	assert_int_equal(same(place, "nowhere-at-all"), 0);
	FILE *out = fopen(path, "we");
	fputs("this is no database, but it is long enough to look like one from afar\n", out);
	fclose(out);
	same(place, "make");
	assert_int_equal(same(place, "nowhere-at-all"), 0);
	unlink(path);
	/* Nor is what a link leads to touched. */
	char target[160];
	snprintf(target, sizeof(target), "%s/target", place->path);
	out = fopen(target, "we");
	fclose(out);
	assert_int_equal(symlink(target, path), 0);
	same(place, "make");
	struct stat st;
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 0);
	unlink(target);
	unlink(path);
}

static void an_index_that_is_held_by_another_is_left_alone(void **state)
{
	struct place *place = *state;
	struct stat before, after;
	sqlite3 *db;

	write_golden_session(place, ONE, "one", "build.jsonl");
	same(place, "make");
	assert_int_equal(stat(index_path(place), &before), 0);
	assert_int_equal(sqlite3_open(index_path(place), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(same(place, "make"), 32);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(stat(index_path(place), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(same(place, "nowhere-at-all"), 0);
}

static void sessions_that_are_gone_are_forgotten(void **state)
{
	struct place *place = *state;
	char path[128];
	struct stat before, after;

	for (unsigned i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%012x", i);
		write_golden_session(place, path, "some", "build.jsonl");
	}
	same(place, "make");
	assert_int_equal(stat(index_path(place), &before), 0);
	for (unsigned i = 1; i < 20; i++) {
		snprintf(path, sizeof(path), "sessions/%012x/000000.vtj", i);
		assert_int_equal(unlinkat(place->state_fd, path, 0), 0);
		snprintf(path, sizeof(path), "sessions/%012x/manifest.json", i);
		assert_int_equal(unlinkat(place->state_fd, path, 0), 0);
		snprintf(path, sizeof(path), "sessions/%012x", i);
		assert_int_equal(unlinkat(place->state_fd, path, AT_REMOVEDIR), 0);
	}
	for (unsigned i = 20; i < 39; i++) {
		snprintf(path, sizeof(path), "%012x", i);
		write_golden_session(place, path, "some", "build.jsonl");
	}
	same(place, "make");
	assert_int_equal(stat(index_path(place), &after), 0);
	assert_true(after.st_size <= before.st_size + 8192);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_matches_is_hidden),
		cmocka_unit_test(what_is_not_there_is_known),
		IN_PLACE(every_filter_finds_the_same),
		IN_PLACE(records_are_read_once),
		IN_PLACE(what_a_search_may_not_be_asked),
		IN_PLACE(a_journal_that_grows_is_gone_on_with),
		IN_PLACE(damage_is_told_each_time),
		IN_PLACE(a_journal_that_is_another_is_indexed_anew),
		IN_PLACE(no_bit_of_it_hides_anything),
		IN_PLACE(a_torn_or_foreign_index_is_replaced),
		IN_PLACE(an_index_that_is_held_by_another_is_left_alone),
		IN_PLACE(sessions_that_are_gone_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
