/*
 * Canonical JSON: every kind both ways, hostile text, and what the reader refuses.
 */
#include "supervisor/record/json.h"
#include "sample.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define GOLDEN "tests/golden/events.jsonl"

static void assert_line(const struct event *e, const char *expected)
{
	struct json_buffer line = {0};

	assert_int_equal(json_write_event(&line, "0123456789ab", e), 0);
	json_write_raw(&line, "", 1);
	assert_string_equal(line.text, expected);
	json_buffer_free(&line);
}

static void every_kind_is_read_back_equal(void **state)
{
	struct json_arena *arena = json_arena_new();
	struct json_buffer line = {0}, again = {0};

	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		for (unsigned variant = 0; variant < SAMPLE_VARIANTS; variant++) {
			struct event e, back;
			const char *session = NULL, *error = NULL;

			sample_event(&e, k, variant);
			e.seq = variant == 1 ? UINT64_MAX : k;
			line.length = again.length = 0;
			assert_int_equal(json_write_event(&line, "se\"ssion", &e), 0);
			assert_int_equal(json_read_event(arena, line.text, line.length, &back,
							 &session, &error),
					 0);
			assert_true(same_event(&e, &back));
			assert_string_equal(session, "se\"ssion");
			assert_int_equal(json_write_event(&again, session, &back), 0);
			assert_int_equal(line.length, again.length);
			assert_memory_equal(line.text, again.text, line.length);
		}
	}
	json_buffer_free(&line);
	json_buffer_free(&again);
	json_arena_free(arena);
}

/* One line a kind, in the order of the table: what other programs have learnt to read. */
static void golden_lines_stay(void **state)
{
	struct json_arena *arena = json_arena_new();
	struct json_buffer again = {0};
	bool seen[EVENT_KIND_COUNT] = {0};
	FILE *file = fopen(GOLDEN, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	(void)state;
	assert_non_null(file);
	while ((length = getline(&line, &room, file)) > 0) {
		const char *session, *error = "";
		struct event e;

		again.length = 0;
		if (json_read_event(arena, line, (size_t)length, &e, &session, &error))
			fail_msg("%s: %s", error, line);
		seen[e.kind] = true;
		assert_int_equal(json_write_event(&again, session, &e), 0);
		assert_int_equal(again.length, length);
		assert_memory_equal(again.text, line, length);
	}
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		if (!seen[k])
			fail_msg(GOLDEN " has no line of kind %s", kind_table[k].name);
	}
	free(line);
	fclose(file);
	json_buffer_free(&again);
	json_arena_free(arena);
}

static void a_line_in_full(void **state)
{
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec_failed, UINT64_C(951782400000000001), 77);
	e.seq = 3;
	event_put_text(&e, FIELD_requested, "/bin/\xffx");
	event_put_bytes(&e, FIELD_argv, "a\0\0\xc3(\0", 6);
	event_mark_cut(&e, FIELD_argv, 999,
		       (const uint8_t *)"\x01\x23\x45\x67\x89\xab\xcd\xef"
					"\x01\x23\x45\x67\x89\xab\xcd\xef"
					"\x01\x23\x45\x67\x89\xab\xcd\xef"
					"\x01\x23\x45\x67\x89\xab\xcd\xef");
	event_put_i64(&e, FIELD_result, -2);
	event_put_u64(&e, FIELD_pid, 9);
	assert_line(&e, "{\"seq\":3,\"session\":\"0123456789ab\","
			"\"time\":\"2000-02-29T00:00:00.000000001Z\",\"boot_ns\":77,"
			"\"kind\":\"process.exec_failed\",\"pid\":9,"
			"\"argv\":[\"a\",\"\",\"\xef\xbf\xbd(\"],\"argv_b64\":[null,null,\"wyg=\"],"
			"\"argv_truncated\":true,\"argv_length\":999,"
			"\"argv_digest\":\"0123456789abcdef0123456789abcdef"
			"0123456789abcdef0123456789abcdef\","
			"\"requested\":\"/bin/\xef\xbf\xbdx\",\"requested_b64\":\"L2Jpbi//eA==\","
			"\"result\":-2}\n");
}

static void objects_are_opened_once(void **state)
{
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec, 0, 0);
	event_put_bool(&e, FIELD_exe_memfd, true);
	event_put_text(&e, FIELD_stdin_kind, "tty");
	event_put_text(&e, FIELD_exe_path, "/x");
	assert_line(&e, "{\"seq\":0,\"session\":\"0123456789ab\","
			"\"time\":\"1970-01-01T00:00:00.000000000Z\",\"boot_ns\":0,"
			"\"kind\":\"process.exec\",\"exe\":{\"path\":\"/x\",\"memfd\":true},"
			"\"stdin\":{\"kind\":\"tty\"}}\n");
}

static void times_are_true(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{UINT64_C(0), "1970-01-01T00:00:00.000000000Z"},
		{UINT64_C(68255999999999999), "1972-02-29T23:59:59.999999999Z"},
		{UINT64_C(951868800000000000), "2000-03-01T00:00:00.000000000Z"},
		{UINT64_C(1767225599123456789), "2025-12-31T23:59:59.123456789Z"},
		{UINT64_C(4107542400000000000), "2100-03-01T00:00:00.000000000Z"},
		{UINT64_MAX, "2554-07-21T23:34:33.709551615Z"},
	};
	struct json_buffer line = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct event e;

		event_init(&e, EVENT_clock, times[i].ns, 0);
		line.length = 0;
		assert_int_equal(json_write_event(&line, "s", &e), 0);
		assert_non_null(memmem(line.text, line.length, times[i].text, 30));
	}
	json_buffer_free(&line);
}

static void assert_string(const char *text, size_t size, const char *expected)
{
	struct json_buffer out = {0};

	assert_int_equal(json_write_string(&out, (struct bytes){text, size}), 0);
	json_write_raw(&out, "", 1);
	assert_string_equal(out.text, expected);
	json_buffer_free(&out);
}

static void nothing_that_moves_a_terminal_stands_bare(void **state)
{
	(void)state;
	assert_string("\0\a\b\t\n\v\f\r\x1b\x1f\x7f", 11,
		      "\"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001b\\u001f\\u007f\"");
	assert_string("\"\\/", 3, "\"\\\"\\\\/\"");
	assert_string("\xc2\x80\xc2\x9b\xc2\xa0", 6, "\"\\u0080\\u009b\xc2\xa0\"");
	assert_string("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae", 9, "\"\\u2028\\u2029\\u202e\"");
	assert_string("\xf3\xa0\x81\x81", 4, "\"\\udb40\\udc41\""); /* a tag character */
	assert_string("\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"");
	/* overlong, surrogate, past the end, cut short: each byte is bad by itself */
	assert_string("\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string("\xf4\x90\x80\x80", 4,
		      "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string("x\xe2\x82", 3, "\"x\xef\xbf\xbd\xef\xbf\xbd\"");
}

static int canonical(const char *text, char *ret_text, size_t room)
{
	struct json_buffer out = {0};
	int r = json_write_text(&out, (struct bytes){text, strlen(text)});

	assert_true(!r || !out.length);
	snprintf(ret_text, room, "%.*s", (int)out.length, out.length ? out.text : "");
	json_buffer_free(&out);
	return r;
}

static void json_of_others_is_made_canonical(void **state)
{
	static const char *const good[][2] = {
		{" { \"a\" : [ 1 , -2.50 , 1E+3 ] ,\n\"b\":{}}\t",
		 "{\"a\":[1,-2.50,1e+3],\"b\":{}}"},
		{"\"\\u00e9\\u001b\\/\\ud83d\\ude00\"", "\"\xc3\xa9\\u001b/\xf0\x9f\x98\x80\""},
		{"null", "null"},
		{"[true,false]", "[true,false]"},
		{"123456789012345678", "123456789012345678"},
	};
	static const char *const bad[] = {
		"",
		"{",
		"[1,]",
		"{\"a\"}",
		"{\"a\":1,}",
		"\"a",
		"\"\n\"",
		"\"\xff\"",
		"\"\\x\"",
		"\"\\ud800\"",
		"\"\\ud800\\u0041\"",
		"01",
		"-",
		"1.",
		".5",
		"1e",
		"1e999",
		"1234567890123456789",
		"nul",
		"1 2",
		"\"\\udc00\"",
		"\x1b[0m",
		"'a'",
		"[1}",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(canonical(good[i][0], text, sizeof(text)), 0);
		assert_string_equal(text, good[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(canonical(bad[i], text, sizeof(text)), -EINVAL);
}

static void deep_json_is_refused(void **state)
{
	char deep[20001], text[256];

	(void)state;
	memset(deep, '[', 10000);
	memset(deep + 10000, ']', 10000);
	deep[20000] = 0;
	assert_int_equal(canonical(deep, text, sizeof(text)), -EINVAL);
	assert_int_equal(canonical(deep + 9936, text, sizeof(text)), -EINVAL); /* not closed */
	deep[10064] = 0;
	assert_int_equal(canonical(deep + 9936, text, sizeof(text)), 0); /* 64 of them */
}

/* A journal that somebody bent may say of anything that it is JSON. */
static void what_is_no_json_is_shown_as_text(void **state)
{
	struct event e;

	(void)state;
	event_init(&e, EVENT_redact_summary, 0, 0);
	event_put_text(&e, FIELD_rules, "},\n\x1b");
	assert_line(&e, "{\"seq\":0,\"session\":\"0123456789ab\","
			"\"time\":\"1970-01-01T00:00:00.000000000Z\",\"boot_ns\":0,"
			"\"kind\":\"redact.summary\",\"rules\":\"},\\n\\u001b\"}\n");
}

#define LINE(fields)                                                                               \
	"{\"seq\":1,\"session\":\"s\",\"time\":\"2026-01-02T03:04:05.000000006Z\",\"boot_ns\":2,"  \
	"\"kind\":\"process.exec\"" fields "}"

static int read_line(const char *line)
{
	struct json_arena *arena = json_arena_new();
	const char *session = NULL, *error = NULL;
	struct event e;
	int r = json_read_event(arena, line, strlen(line), &e, &session, &error);

	assert_int_equal(!r, !error);
	if (error)
		assert_true(strlen(error) > 5);
	json_arena_free(arena);
	return r;
}

static void lines_that_are_not_ours_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"seq\":1",
		LINE(",\"unknown\":1"),
		LINE(",\"pid\":-1"),
		LINE(",\"pid\":1.5"),
		LINE(",\"pid\":\"12x\""),
		LINE(",\"pid\":\"\""),
		LINE(",\"pid\":\"18446744073709551616\""),
		LINE(",\"pid\":true"),
		LINE(",\"cwd\":1"),
		LINE(",\"cwd\":\"x\",\"cwd_b64\":\"?\""),
		LINE(",\"cwd_b64\":\"eA==\""),
		LINE(",\"argv\":\"x\""),
		LINE(",\"argv\":[1]"),
		LINE(",\"argv\":[\"a\\u0000b\"]"),
		LINE(",\"argv\":[\"a\"],\"argv_b64\":[\"AA==\"]"),
		LINE(",\"argv\":[\"a\"],\"argv_truncated\":true"),
		LINE(",\"argv\":[\"a\"],\"argv_truncated\":false,\"argv_length\":1"),
		LINE(",\"argv\":[\"a\"],\"argv_truncated\":true,\"argv_length\":1,"
		     "\"argv_digest\":\"00\""),
		LINE(",\"pid\":1,\"pid_truncated\":true,\"pid_length\":1"),
		LINE(",\"exe\":{\"path\":\"/x\",\"size\":1}"),
		LINE(",\"exe\":1"),
		LINE(",\"file_type\":\"regular\""), /* a field, but not of this kind */
		"{\"seq\":1,\"session\":\"s\",\"time\":\"2026-01-02T03:04:05Z\",\"boot_ns\":2,"
		"\"kind\":\"clock\"}",
		"{\"seq\":1,\"session\":\"s\",\"time\":\"1969-12-31T23:59:59.000000000Z\","
		"\"boot_ns\":2,\"kind\":\"clock\"}",
		"{\"seq\":1,\"session\":\"s\",\"time\":\"2555-01-01T00:00:00.000000000Z\","
		"\"boot_ns\":2,\"kind\":\"clock\"}",
		"{\"seq\":1,\"session\":\"s\",\"time\":\"2026-13-01T00:00:00.000000000Z\","
		"\"boot_ns\":2,\"kind\":\"clock\"}",
		"{\"seq\":1,\"session\":\"s\",\"time\":\"2026-01-01T00:00:00.000000000Z\","
		"\"boot_ns\":2,\"kind\":\"clocks\"}",
		"{\"seq\":1,\"time\":\"2026-01-01T00:00:00.000000000Z\",\"boot_ns\":2,"
		"\"kind\":\"clock\"}",
	};

	(void)state;
	assert_int_equal(read_line(LINE("")), 0);
	assert_int_equal(read_line(LINE(",\"pid\":\"18446744073709551615\"")), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (read_line(bad[i]) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
	}
}

/* What other processes hand over: bytes may be {"b64"}, names flat or nested, null is absent. */
static void fields_are_taken_from_an_object(void **state)
{
	struct json_arena *arena = json_arena_new();
	json_t *fields = json_loads("{\"argv\":[\"sh\",{\"b64\":\"/wA=\"}]}", 0, NULL);
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec, 1, 2);
	assert_int_equal(event_from_json(arena, fields, &e), -EINVAL); /* a NUL in an item */
	assert_non_null(strstr(json_arena_error(arena), "argv"));
	json_decref(fields);

	fields = json_loads("{\"argv\":[\"sh\",{\"b64\":\"/w==\"}],\"exe.path\":{\"b64\":\"AP8=\"},"
			    "\"stdin\":{\"kind\":\"tty\",\"path\":null},\"cwd\":null,\"pid\":7,"
			    "\"exe\":{\"memfd\":false}}",
			    0, NULL);
	event_init(&e, EVENT_process_exec, 1, 2);
	assert_int_equal(event_from_json(arena, fields, &e), 0);
	json_decref(fields); /* values do not point into it */
	assert_int_equal(e.count, 5);
	assert_memory_equal(event_bytes(&e, FIELD_argv).data, "sh\0\xff\0", 5);
	assert_memory_equal(event_bytes(&e, FIELD_exe_path).data, "\0\xff", 2);
	assert_int_equal(event_u64(&e, FIELD_exe_memfd, 1), 0);
	assert_null(event_get(&e, FIELD_stdin_path));

	fields = json_loads("{\"labels\":{\"a\":\"1\",\"b\":{\"b64\":\"/w==\"}},"
			    "\"policy\":{\"x\":[1,\"\\u001b\"]}}",
			    0, NULL);
	event_init(&e, EVENT_session_start, 1, 2);
	assert_int_equal(event_from_json(arena, fields, &e), 0);
	json_decref(fields);
	assert_int_equal(event_bytes(&e, FIELD_labels).size, 8);
	assert_memory_equal(event_bytes(&e, FIELD_labels).data, "a\0001\0b\0\xff\0", 8);
	assert_int_equal(event_bytes(&e, FIELD_policy).size, strlen("{\"x\":[1,\"\\u001b\"]}"));
	json_arena_free(arena);
}

static void labels_that_no_object_can_hold_are_kept(void **state)
{
	struct json_arena *arena = json_arena_new();
	struct json_buffer line = {0};
	const char *session, *error;
	struct event e, back;
	char packed[400] = {0};

	(void)state;
	/* the same key twice, one without a value, and more keys than are compared */
	const struct bytes maps[] = {{"k\0a\0k\0b\0", 8}, {"k\0a\0open", 8}, {packed, 400}};
	for (size_t i = 0; i < 100; i++)
		snprintf(packed + 4 * i, 5, "%c%c", 'A' + (int)i / 26, 'a' + (int)i % 26);
	for (size_t i = 0; i < 3; i++) {
		event_init(&e, EVENT_session_start, 0, 0);
		event_put_bytes(&e, FIELD_labels, maps[i].data, maps[i].size);
		line.length = 0;
		assert_int_equal(json_write_event(&line, "s", &e), 0);
		assert_int_equal(
			json_read_event(arena, line.text, line.length, &back, &session, &error), 0);
		assert_true(same_event(&e, &back));
	}
	json_buffer_free(&line);
	json_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read_back_equal),
		cmocka_unit_test(golden_lines_stay),
		cmocka_unit_test(a_line_in_full),
		cmocka_unit_test(objects_are_opened_once),
		cmocka_unit_test(times_are_true),
		cmocka_unit_test(nothing_that_moves_a_terminal_stands_bare),
		cmocka_unit_test(json_of_others_is_made_canonical),
		cmocka_unit_test(deep_json_is_refused),
		cmocka_unit_test(what_is_no_json_is_shown_as_text),
		cmocka_unit_test(lines_that_are_not_ours_are_refused),
		cmocka_unit_test(fields_are_taken_from_an_object),
		cmocka_unit_test(labels_that_no_object_can_hold_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
