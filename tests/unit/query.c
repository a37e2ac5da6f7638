/* The filter language: what is taken, what is refused and where, and which events then match. */
#include "../../replay/query.h"
#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct origin origin = {1000, 500};

static struct query *parsed(const char *text)
{
	struct query_error error = {0};
	struct query *q = NULL;

	if (query_parse(text, &q, &error))
		fail_msg("'%s' at %zu: %s", text, error.position, error.why);
	return q;
}

static bool matches(const char *text, const struct event *e)
{
	cleanup(query) struct query *q = parsed(text);

	return query_match(q, &origin, e);
}

static void exec_event(struct event *e)
{
	static const char argv[] = "/usr/bin/curl\0-sS\0https://Example.org/a b\0";

	event_init(e, EVENT_process_exec, 2000000000, 1500000500);
	e->seq = 17;
	event_put_text(e, FIELD_proc, "40-a");
	event_put_u64(e, FIELD_pid, 4);
	event_put_bytes(e, FIELD_argv, argv, sizeof(argv) - 1);
	event_put_text(e, FIELD_exe_path, "/usr/bin/curl");
	event_put_u64(e, FIELD_exe_ino, UINT64_MAX);
	event_put_bool(e, FIELD_exe_deleted, false);
}

static void connect_event(struct event *e, const char *address)
{
	event_init(e, EVENT_net_connect, 3000, 2500);
	event_put_text(e, FIELD_dst_address, address);
	event_put_u64(e, FIELD_dst_port, 443);
	event_put_text(e, FIELD_name, "api.example.org");
	event_put_i64(e, FIELD_result, -111);
}

#define IS(text) assert_true(matches(text, &e))
#define IS_NOT(text) assert_false(matches(text, &e))

static void texts_match_whole_or_in_part(void **state)
{
	struct event e;

	(void)state;
	exec_event(&e);
	IS("exe.path:/usr/bin/curl");
	IS_NOT("exe.path:/usr/bin/cur");
	IS_NOT("exe.path:curl");
	IS("exe.path:/usr/*");
	IS("exe.path:*/cu?l");
	IS_NOT("exe.path:*/cu?");
	IS_NOT("exe.path:\"/usr/*\""); /* a quoted star is a star */
	IS_NOT("exe.path:/usr/\\*");
	IS("exe.path:'/usr/bin/'curl");
	IS("exe.path~CURL");
	IS_NOT("exe.path:/USR/bin/curl"); /* a whole text is as it is */
	IS("exe:*curl");		  /* an object */
	IS("file:/usr/bin/*");
	IS_NOT("cwd:*");
	IS("exe.path:*");
}

static void arrays_match_by_an_item(void **state)
{
	struct event e;

	(void)state;
	exec_event(&e);
	IS("argv:-sS");
	IS_NOT("argv:curl");
	IS("argv~curl");
	IS("argv~example.ORG");
	IS("argv:\"https://Example.org/a b\"");
	IS("argv~\"a b\"");
	IS_NOT("argv~curl-sS"); /* not across two items */
	IS("argv~cu*l");
}

static void bare_words_are_looked_for_everywhere(void **state)
{
	struct event e;

	(void)state;
	exec_event(&e);
	IS("curl");
	IS("Example.org/a");
	IS("process.ex");
	IS("\"a b\"");
	IS_NOT("'not'"); /* quoted, it is a word, and no text has it */
}

static void numbers_match_by_value_and_range(void **state)
{
	struct event e;

	(void)state;
	event_init(&e, EVENT_file_modify, 3000, 2500);
	event_put_u64(&e, FIELD_size, 4096);
	IS("size:4096");
	IS("size:4K");
	IS("size:0x1000");
	IS("size=4096");
	IS("size:>4095");
	IS("size>4095");
	IS_NOT("size>4096");
	IS("size:>=4096");
	IS("size<=4K");
	IS_NOT("size:<4096");
	IS("size:4000..5000");
	IS("size:4096..");
	IS("size:..4096");
	IS_NOT("size:1..4095");
	IS("size:*");
	IS_NOT("bytes_written:*");
	event_put_u64(&e, FIELD_size, UINT64_MAX);
	IS("size:18446744073709551615");
	IS("size:>18446744073709551614");
	IS("size:>1000");
	connect_event(&e, "10.1.2.3");
	IS("result:-111");
	IS("result:<0");
	IS_NOT("result:>=0");
	IS("port:443");
	IS("dst:443");
}

static void networks_match_addresses(void **state)
{
	struct event e;

	(void)state;
	connect_event(&e, "10.1.2.3");
	IS("net.dst:10.0.0.0/8");
	IS("net.dst:10.1.2.3");
	IS("net.dst:10.1.2.0/23");
	IS_NOT("net.dst:10.1.4.0/23");
	IS_NOT("net.dst:11.0.0.0/8");
	IS("net.dst:0.0.0.0/0");
	IS_NOT("net.dst:::/0");
	IS("net.dst:10.*");
	IS("dst.address~1.2");
	IS_NOT("net.src:10.0.0.0/8");
	IS("address:10.0.0.0/8");
	connect_event(&e, "::ffff:10.1.2.3"); /* the same host, in other clothes */
	IS("net.dst:10.0.0.0/8");
	IS("net.dst:10.1.2.3");
	connect_event(&e, "2001:db8:0:0:0::1");
	IS("net.dst:2001:db8::1");
	IS("net.dst:2001:db8::/33");
	IS_NOT("net.dst:2001:db9::/32");
	connect_event(&e, "not an address");
	IS_NOT("net.dst:0.0.0.0/0");
}

static void kinds_match_by_name_group_and_last_part(void **state)
{
	struct event e;

	(void)state;
	exec_event(&e);
	IS("kind:process.exec");
	IS("kind:exec");
	IS("kind:process");
	IS("kind:file,process");
	IS("kind:process.*");
	IS_NOT("kind:process.exec_failed");
	IS_NOT("kind:file");
	IS_NOT("kind:fork,exit");
}

static void moments_and_numbers_of_records(void **state)
{
	struct event e;

	(void)state;
	exec_event(&e); /* 1.5 s after the start */
	IS("time:>1s");
	IS("time:<2s");
	IS_NOT("time:>1.5s");
	IS("time:>=1.5s");
	IS("time:1s..1.5s");
	IS("time:1970-01-01T00:00:02Z..");
	IS_NOT("time:..1970-01-01T00:00:01Z");
	IS("seq:17");
	IS("seq:10..20");
	IS_NOT("seq:<17");
}

static void terms_are_joined(void **state)
{
	struct event e;

	(void)state;
	exec_event(&e);
	IS("");
	IS("  \t ");
	IS("kind:exec argv~curl");
	IS_NOT("kind:exec argv~wget");
	IS("kind:exec AND argv~curl");
	IS("argv~wget or argv~curl");
	IS("argv~wget or argv~curl kind:exec");
	IS_NOT("(argv~wget or argv~curl) kind:file");
	IS("argv~curl or argv~wget kind:file"); /* and binds closer */
	IS("not argv~wget");
	IS("not not argv~curl");
	IS("!argv~wget");
	IS("not (argv~wget or kind:file)");
	IS("not exit:0"); /* it has no exit code */
	IS("((argv~curl))");
	IS("exe.deleted:no");
	IS_NOT("exe.deleted:yes");
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text;
		size_t position;
		const char *why;
	} bad[] = {
		{"nope:1", 0, "no field"},
		{"kind:exec nope:1", 10, "no field"},
		{"path:", 5, "missing"},
		{"path: x", 5, "missing"},
		{"size:big", 5, "number"},
		{"size:10..5x", 5, "number"},
		{"size:..", 5, "number"},
		{"size:99999999999999999999999", 5, "number"},
		{"size~1", 5, "no parts"},
		{"tty:maybe", 4, "yes or no"},
		{"net.dst:10.0.0.0/33", 8, "network"},
		{"net.dst:10.0.0/8", 8, "network"},
		{"kind:procces", 5, "kind"},
		{"kind:exec,", 5, "kind"},
		{"kind:,exec", 5, "kind"},
		{"kind~exec", 5, "FIELD:VALUE"},
		{"time:soon", 5, "time"},
		{"time:..", 5, "time"},
		{"seq:x", 4, "number"},
		{"path:\"open", 5, "not closed"},
		{"path:a\\", 6, "backslash"},
		{"(kind:exec", 0, "not closed"},
		{"kind:exec)", 9, "not opened"},
		{"()", 1, "missing"},
		{"kind:exec or", 12, "missing"},
		{"not", 3, "missing"},
		{"kind:exec and )", 14, "missing"},
		{"http://x", 0, "quotes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct query_error error = {0};
		struct query *q = NULL;

		if (query_parse(bad[i].text, &q, &error) != -EINVAL)
			fail_msg("'%s' was taken", bad[i].text);
		assert_null(q);
		if (error.position != bad[i].position || !strstr(error.why, bad[i].why))
			fail_msg("'%s': at %zu: %s", bad[i].text, error.position, error.why);
	}
}

static int refused(const char *text)
{
	struct query_error error;
	struct query *q = NULL;
	int r = query_parse(text, &q, &error);

	query_free(q);
	return r;
}

static void length_terms_and_nesting_are_bounded(void **state)
{
	cleanup(free) char *text = calloc(1, QUERY_LENGTH_MAX + 2);

	(void)state;
	memset(text, '(', QUERY_LENGTH_MAX);
	assert_int_equal(refused(text), -EINVAL);
	memset(text, '!', QUERY_LENGTH_MAX);
	assert_int_equal(refused(text), -EINVAL);
	for (size_t i = 0; i < QUERY_LENGTH_MAX; i += 2)
		memcpy(text + i, "a ", 2);
	assert_int_equal(refused(text), -EINVAL);
	text[QUERY_NODES_MAX / 2 * 2] = 0; /* n terms are joined by n - 1 nodes */
	assert_int_equal(refused(text), 0);
	memset(text, 'a', QUERY_LENGTH_MAX + 1);
	assert_int_equal(refused(text), -EINVAL);
	text[QUERY_LENGTH_MAX] = 0;
	assert_int_equal(refused(text), 0);
}

static void a_pattern_of_many_stars_is_no_trap(void **state)
{
	enum { STARS = 2000, LETTERS = 20000 };
	cleanup(free) char *pattern = calloc(1, 2 * STARS + 32);
	cleanup(free) char *text = calloc(1, LETTERS + 1);
	struct event e;

	(void)state;
	memcpy(pattern, "path:", 5);
	for (size_t i = 0; i < STARS; i++)
		memcpy(pattern + 5 + 2 * i, "a*", 2);
	pattern[5 + 2 * STARS] = 'b';
	memset(text, 'a', LETTERS);
	event_init(&e, EVENT_file_create, 1, 1);
	event_put_text(&e, FIELD_path, text);
	assert_false(matches(pattern, &e)); /* and within this test's life */
}

static void a_filter_has_its_query_too(void **state)
{
	cleanup(query) struct query *q = parsed("argv~curl");
	struct filter filter = {.query = q};
	struct event e;

	(void)state;
	exec_event(&e);
	assert_true(filter_match(&filter, &origin, &e));
	filter.proc = "5";
	assert_false(filter_match(&filter, &origin, &e));
	connect_event(&e, "10.1.2.3");
	filter.proc = NULL;
	assert_false(filter_match(&filter, &origin, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_match_whole_or_in_part),
		cmocka_unit_test(arrays_match_by_an_item),
		cmocka_unit_test(bare_words_are_looked_for_everywhere),
		cmocka_unit_test(numbers_match_by_value_and_range),
		cmocka_unit_test(networks_match_addresses),
		cmocka_unit_test(kinds_match_by_name_group_and_last_part),
		cmocka_unit_test(moments_and_numbers_of_records),
		cmocka_unit_test(terms_are_joined),
		cmocka_unit_test(what_is_wrong_is_told_with_its_place),
		cmocka_unit_test(length_terms_and_nesting_are_bounded),
		cmocka_unit_test(a_pattern_of_many_stars_is_no_trap),
		cmocka_unit_test(a_filter_has_its_query_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
