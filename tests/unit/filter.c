/* Times as people write them, kinds as they name them, and which events then match. */
#include "../../replay/filter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t relative(const char *text)
{
	struct moment m;

	assert_int_equal(moment_parse(text, &m), 0);
	assert_true(m.given);
	assert_false(m.absolute);
	return m.ns;
}

static uint64_t absolute(const char *text)
{
	struct moment m;

	assert_int_equal(moment_parse(text, &m), 0);
	assert_true(m.absolute);
	return m.ns;
}

static void durations_are_read(void **state)
{
	(void)state;
	assert_int_equal(relative("1.5s"), 1500000000);
	assert_int_equal(relative("+2m"), 120000000000);
	assert_int_equal(relative("90"), 90000000000);
	assert_int_equal(relative("0"), 0);
	assert_int_equal(relative("0.25"), 250000000);
	assert_int_equal(relative("1h30m"), 5400000000000);
	assert_int_equal(relative("250ms"), 250000000);
	assert_int_equal(relative("1.000001ms"), 1000001);
	assert_int_equal(relative("7us3ns"), 7003);
	assert_int_equal(relative("1.5d"), 129600000000000);
	assert_int_equal(relative("1.1234567899s"), 1123456789);
}

static void wall_clocks_are_read(void **state)
{
	(void)state;
	assert_int_equal(absolute("1970-01-01T00:00:00Z"), 0);
	assert_int_equal(absolute("2024-02-29T12:30:45Z"), 1709209845000000000);
	assert_int_equal(absolute("2024-02-29t12:30:45.000000001z"), 1709209845000000001);
	assert_int_equal(absolute("2024-02-29 14:30:45.5+02:00"), 1709209845500000000);
	assert_int_equal(absolute("2024-02-29T10:00:45-02:30"), 1709209845000000000);
	assert_int_equal(absolute("2100-03-01T00:00:00Z"), 4107542400000000000);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "+",
					  "s",
					  "1.",
					  "1.s",
					  ".5s",
					  "1x",
					  "-1s",
					  "1s ",
					  " 1s",
					  "1 s",
					  "1m5",
					  "++1s",
					  "0x10s",
					  "1e3s",
					  "99999999999999999999s",
					  "1s\n",
					  "18446744074s",
					  "213503d24h",
					  "2024-02-29",
					  "2024-13-01T00:00:00Z",
					  "2024-00-01T00:00:00Z",
					  "2024-01-01T24:00:00Z",
					  "2024-01-01T00:00:00",
					  "2024-01-01T00:00:00.Z",
					  "2024-01-01T00:00:00+2",
					  "2024-01-01T00:00:00Zx",
					  "1969-12-31T23:59:59Z",
					  "1970-01-01T00:00:00+01:00",
					  "2024-1-01T00:00:00Z"};
	struct moment m = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (moment_parse(bad[i], &m) != -EINVAL)
			fail_msg("'%s' was taken for a time", bad[i]);
		assert_false(m.given); /* untouched */
	}
}

static char *shown(void (*write)(FILE *out, uint64_t number), uint64_t number)
{
	static char text[64];
	FILE *out = fmemopen(text, sizeof(text), "w");

	write(out, number);
	fclose(out);
	return text;
}

static void write_clock(FILE *out, uint64_t wall_ns)
{
	write_wall_clock(out, wall_ns, 9);
}

static void times_and_sizes_are_shown(void **state)
{
	(void)state;
	assert_string_equal(shown(write_clock, 1709209845000000001),
			    "2024-02-29T12:30:45.000000001Z");
	assert_string_equal(shown(write_clock, UINT64_MAX), "2554-07-21T23:34:33.709551615Z");
	assert_string_equal(shown(write_duration, 0), "0 ns");
	assert_string_equal(shown(write_duration, 431999), "431 us");
	assert_string_equal(shown(write_duration, 12345678), "12.3 ms");
	assert_string_equal(shown(write_duration, 4567890123), "4.56 s");
	assert_string_equal(shown(write_duration, 59999999999), "59.99 s");
	assert_string_equal(shown(write_duration, 123000000000), "2m03s");
	assert_string_equal(shown(write_duration, 18120000000000), "5h02m");
	assert_string_equal(shown(write_duration, 273600000000000), "3d04h");
	assert_string_equal(shown(write_size, 0), "0 B");
	assert_string_equal(shown(write_size, 1023), "1023 B");
	assert_string_equal(shown(write_size, 1024), "1.0 KiB");
	assert_string_equal(shown(write_size, 1048575), "1.0 MiB");
	assert_string_equal(shown(write_size, UINT64_MAX), "16.0 EiB");
}

static void days_and_dates_agree_on_every_day(void **state)
{
	(void)state;
	for (uint64_t day = 0; day < 365 * 530; day++) {
		uint64_t ns = day * 86400 * NS_PER_S;

		assert_int_equal(absolute(shown(write_clock, ns)), ns);
	}
}

static size_t wanted(const char *text)
{
	struct filter_kinds kinds = {0};
	size_t count = 0;

	assert_int_equal(filter_parse_kinds(text, &kinds), 0);
	assert_true(kinds.given);
	for (size_t i = 0; i < EVENT_KIND_COUNT; i++)
		count += kinds.wanted[i];
	return count;
}

static size_t starting_with(const char *prefix)
{
	size_t count = 0;

	for (size_t i = 1; i < EVENT_KIND_COUNT; i++)
		count += !strncmp(kind_table[i].name, prefix, strlen(prefix));
	return count;
}

static void kinds_are_named_in_full_by_group_or_prefix(void **state)
{
	struct filter_kinds kinds = {0};

	(void)state;
	assert_int_equal(wanted("process.exec"), 1); /* and not process.exec_failed */
	assert_int_equal(wanted("file"), starting_with("file."));
	assert_int_equal(wanted("file.*"), starting_with("file."));
	assert_int_equal(wanted("file.re*"), 2); /* read and rename */
	assert_int_equal(wanted("gap,output,gap"), 2);
	assert_int_equal(wanted("*"), EVENT_KIND_COUNT - 1);

	assert_int_equal(filter_parse_kinds("net", &kinds), 0);
	assert_int_equal(filter_parse_kinds("dns", &kinds), 0);
	assert_true(kinds.wanted[EVENT_net_connect]);
	assert_true(kinds.wanted[EVENT_dns_query]);
	assert_false(kinds.wanted[EVENT_file_read]);
}

static void what_is_no_kind_is_refused(void **state)
{
	static const char *const bad[] = {"",	  ",",	   "file,",    ",file",	   "fil",
					  "File", "file.", "procces*", "gap,nope", "process.exec "};
	struct filter_kinds kinds = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (filter_parse_kinds(bad[i], &kinds) != -EINVAL)
			fail_msg("'%s' was taken for a kind", bad[i]);
		assert_false(kinds.given);
	}
}

static void events_match_by_process(void **state)
{
	struct origin origin = {1000, 500};
	struct filter filter = {.proc = "77-abc"};
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_fork, 2000, 1500);
	event_put_text(&e, FIELD_proc, "77-abc");
	event_put_u64(&e, FIELD_pid, 7);
	event_put_text(&e, FIELD_child_proc, "78-abd");
	event_put_u64(&e, FIELD_child_pid, 8);
	assert_true(filter_match(&filter, &origin, &e));
	filter.proc = "78-abd"; /* its fork is part of its story */
	assert_true(filter_match(&filter, &origin, &e));
	filter.proc = "77-ab";
	assert_false(filter_match(&filter, &origin, &e));
	filter.proc = "7";
	assert_true(filter_match(&filter, &origin, &e));
	filter.proc = "8";
	assert_true(filter_match(&filter, &origin, &e));
	filter.proc = "77";
	assert_false(filter_match(&filter, &origin, &e));
	filter.proc = "07";
	assert_false(filter_match(&filter, &origin, &e));
}

static void events_match_by_time_on_the_clock_that_was_asked_for(void **state)
{
	struct origin origin = {1000, 500};
	struct filter filter = {.since = {true, false, 1000}};
	struct event e;

	(void)state;
	event_init(&e, EVENT_gap, 9000, 1500);
	assert_true(filter_match(&filter, &origin, &e));
	filter.since.ns = 1001;
	assert_false(filter_match(&filter, &origin, &e));
	filter.since = (struct moment){true, true, 9000};
	assert_true(filter_match(&filter, &origin, &e));
	filter.until = (struct moment){true, true, 8999};
	assert_false(filter_match(&filter, &origin, &e));
	filter.until = (struct moment){true, false, 1000};
	assert_true(filter_match(&filter, &origin, &e));
	filter.until.ns = 999;
	assert_false(filter_match(&filter, &origin, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(wall_clocks_are_read),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(times_and_sizes_are_shown),
		cmocka_unit_test(days_and_dates_agree_on_every_day),
		cmocka_unit_test(kinds_are_named_in_full_by_group_or_prefix),
		cmocka_unit_test(what_is_no_kind_is_refused),
		cmocka_unit_test(events_match_by_process),
		cmocka_unit_test(events_match_by_time_on_the_clock_that_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
