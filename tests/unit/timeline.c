/*
 * What people see: records in, lines out, compared with tests/golden/replay. GOLDEN=write writes
 * these files anew. And: nothing that a session can say reaches a terminal unescaped.
 */
#include "../../replay/line.h"
#include "../../replay/view.h"
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN "tests/golden/replay/"

/* Tell @view of the records in @path; what it writes is malloc'ed. */
static char *replayed(const struct view *view, const char *path, const struct filter *filter,
		      enum color_choice color)
{
	cleanup(fclose) FILE *in = fopen(path, "re");
	cleanup(free) char *line = NULL;
	struct json_arena *arena = json_arena_new();
	struct origin origin = {0};
	size_t room = 0, size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct view_options options = {"c0ffee000001", color, out, out};
	bool ended = false;
	void *shown;
	ssize_t n;

	if (!in)
		fail_msg("%s cannot be read", path);
	assert_int_equal(view->begin(&options, &shown), 0);
	while ((n = getline(&line, &room, in)) > 0) {
		const char *session, *error;
		struct event e;

		if (json_read_event(arena, line, (size_t)n, &e, &session, &error))
			fail_msg("%s: %s: %s", path, error, line);
		if (!origin.boot_ns)
			origin = (struct origin){e.time_ns, e.boot_ns};
		ended |= e.kind == EVENT_session_end;
		assert_int_equal(view->event(shown, &e, &origin, filter_match(filter, &origin, &e)),
				 0);
	}
	assert_int_equal(view->end(shown, ended ? VIEW_ENDED : VIEW_RUNNING), 0);
	view->free(shown);
	json_arena_free(arena);
	fclose(out);
	return text;
}

static char *file_text(const char *path)
{
	cleanup(fclose) FILE *in = fopen(path, "re");
	char *text = calloc(1, 1 << 20);

	if (in)
		text[fread(text, 1, (1 << 20) - 1, in)] = 0;
	return text;
}

static void is_golden(const char *name, const char *text)
{
	cleanup(free) char *expected = NULL;
	char path[128];

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	if (getenv("GOLDEN")) {
		cleanup(fclose) FILE *out = fopen(path, "we");

		fputs(text, out);
		return;
	}
	expected = file_text(path);
	if (strcmp(expected, text))
		fail_msg("%s is not what was written:\n%s", path, text);
}

static void view_is_golden(const struct view *view, const char *records, const char *lines)
{
	struct filter all = {0};
	cleanup(free) char *text = NULL;
	char path[128];

	snprintf(path, sizeof(path), GOLDEN "%s", records);
	text = replayed(view, path, &all, COLOR_NEVER);
	is_golden(lines, text);
}

static void a_session_of_work(void **state)
{
	(void)state;
	view_is_golden(&view_timeline, "build.jsonl", "build.timeline");
	view_is_golden(&view_tree, "build.jsonl", "build.tree");
	view_is_golden(&view_timeline, "final.jsonl", "final.timeline");
}

static void holes_cuts_and_redactions_stand_in_place(void **state)
{
	(void)state;
	view_is_golden(&view_timeline, "holes.jsonl", "holes.timeline");
	view_is_golden(&view_tree, "holes.jsonl", "holes.tree");
}

static void hostile_names_are_shown_tamely(void **state)
{
	(void)state;
	view_is_golden(&view_timeline, "hostile.jsonl", "hostile.timeline");
	view_is_golden(&view_tree, "hostile.jsonl", "hostile.tree");
}

static void json_is_what_went_in(void **state)
{
	struct filter all = {0};
	cleanup(free) char *once = NULL, *twice = NULL;

	(void)state;
	once = replayed(&view_json, GOLDEN "build.jsonl", &all, COLOR_NEVER);
	is_golden("build.canonical", once);
	twice = replayed(&view_json, GOLDEN "build.canonical", &all, COLOR_NEVER);
	assert_string_equal(once, twice);
}

static void raw_output_is_the_bytes_themselves(void **state)
{
	struct filter all = {0};
	cleanup(free) char *text = NULL;

	(void)state;
	text = replayed(&view_raw, GOLDEN "hostile.jsonl", &all, COLOR_NEVER);
	assert_string_equal(text, "\033[31mred\033[0m\r\n\x7f");
}

static void a_filter_never_hides_a_gap(void **state)
{
	struct filter only_limits = {.kinds = {.given = true}};
	cleanup(free) char *text = NULL;

	(void)state;
	only_limits.kinds.wanted[EVENT_limit] = true;
	text = replayed(&view_timeline, GOLDEN "holes.jsonl", &only_limits, COLOR_NEVER);
	is_golden("holes.limits", text);
}

static void colours_change_nothing_but_colours(void **state)
{
	struct filter all = {0};
	cleanup(free) char *plain = NULL, *colored = NULL;
	size_t at = 0;

	(void)state;
	plain = replayed(&view_timeline, GOLDEN "holes.jsonl", &all, COLOR_NEVER);
	colored = replayed(&view_timeline, GOLDEN "holes.jsonl", &all, COLOR_ALWAYS);
	assert_null(strchr(plain, '\033'));
	for (size_t i = 0; colored[i]; i++) {
		if (colored[i] == '\033') {
			i += strcspn(colored + i, "m");
			continue;
		}
		colored[at++] = colored[i];
	}
	colored[at] = 0;
	assert_string_equal(colored, plain);
}

/* ---- every kind and every field, filled with what a session might try ---- */

/* Bytes that act on a terminal in one way or another, and some that only look as if. */
static const char *const attacks[] = {
	"\033[2J",
	"\033]0;title\007",
	"\n 0.000001 forged",
	"\r",
	"\b\b",
	"\t",
	"\x7f",
	"\xc2\x9b"
	"31m",
	"\x9b"
	"31m",
	"\xc2\x85",
	"\xe2\x80\xae",
	"\xe2\x81\xa6",
	"\xe2\x80\x8b",
	"\xef\xbb\xbf",
	"\xe2\x80\xa8",
	"\xff\xfe",
	"\xc0\x9b",
	"\xed\xa0\x80",
	"\xf4\x90\x80\x80",
	"\xf3\xa0\x81\x81",
	"\xc2",
	"\xe2\x80",
	"'\033[m",
	"\\033[m",
	"\xd8\x9c",
	"\xee\x80\x80",
	"plain",
	"two words",
	"caf\xc3\xa9",
	"",
	"\xcd\x8f",
};

/* True if a terminal is left alone by @text. Written without our own decoder: what is not in ASCII
 * must be the one harmless letter of the attacks, or the sign for a bad byte. */
static bool is_tame(const char *text)
{
	for (const char *at = text; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c >= 0x20 && c < 0x7f)
			continue;
		if (c == 0xc3 && (unsigned char)at[1] == 0xa9) {
			at++;
			continue;
		}
		if (!strncmp(at, "\xef\xbf\xbd", 3)) {
			at += 2;
			continue;
		}
		return false;
	}
	return true;
}

static void fill(struct event *e, enum event_kind kind, const char *attack, char *packed,
		 size_t packed_size)
{
	event_init(e, kind, 1, 1);
	for (size_t i = 0; i < kind_table[kind].field_count; i++) {
		enum event_field field = kind_table[kind].fields[i];

		switch (field_table[field].type) {
		case FIELD_TYPE_U64:
			event_put_u64(e, field, 3);
			break;
		case FIELD_TYPE_I64:
			event_put_i64(e, field, -2);
			break;
		case FIELD_TYPE_BOOL:
			event_put_bool(e, field, true);
			break;
		case FIELD_TYPE_TEXT:
		case FIELD_TYPE_JSON:
			event_put_text(e, field, attack);
			break;
		case FIELD_TYPE_TEXTS:
		case FIELD_TYPE_MAP:
			event_put_bytes(e, field, packed, packed_size);
			break;
		}
	}
}

static char *line_of(const struct event *e, bool ascii)
{
	struct pen pen = {.printable = {ascii, PEN_VALUE_MAX}};
	size_t size;
	char *text = NULL;

	pen.out = open_memstream(&text, &size);
	line_write(&pen, e);
	fclose(pen.out);
	return text;
}

static void no_field_of_any_kind_reaches_the_terminal_as_it_is(void **state)
{
	(void)state;
	for (size_t a = 0; a < sizeof(attacks) / sizeof(*attacks); a++) {
		char packed[256];
		size_t length = strlen(attacks[a]) + 1;

		memcpy(packed, attacks[a], length);
		memcpy(packed + length, attacks[a], length);
		for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			cleanup(free) char *text = NULL;
			struct event e;

			fill(&e, kind, attacks[a], packed, 2 * length);
			text = line_of(&e, false);
			if (!is_tame(text))
				fail_msg("%s, attack %zu: %s", kind_table[kind].name, a, text);
		}
	}
}

/* What @view makes of one event, its lines put together to one. */
static char *view_of(const struct view *view, const struct event *e)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct view_options options = {"c0ffee000001", COLOR_NEVER, out, out};
	struct origin origin = {1, 1};
	void *shown;

	assert_int_equal(view->begin(&options, &shown), 0);
	assert_int_equal(view->event(shown, e, &origin, true), 0);
	assert_int_equal(view->end(shown, VIEW_ENDED), 0);
	view->free(shown);
	fclose(out);
	for (char *at = text; *at; at++) {
		if (*at == '\n')
			*at = ' ';
	}
	return text;
}

static void no_view_lets_an_attack_through(void **state)
{
	/* The tree is drawn in lines that are not ASCII where one process stands below another:
	 * here none does. */
	static const struct view *const views[] = {&view_timeline, &view_tree, &view_json};

	(void)state;
	for (size_t a = 0; a < sizeof(attacks) / sizeof(*attacks); a++) {
		char packed[256];
		size_t length = strlen(attacks[a]) + 1;

		memcpy(packed, attacks[a], length);
		memcpy(packed + length, attacks[a], length);
		for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			for (size_t i = 0; i < 3; i++) {
				cleanup(free) char *text = NULL;
				struct event e;

				fill(&e, kind, attacks[a], packed, 2 * length);
				text = view_of(views[i], &e);
				if (!is_tame(text))
					fail_msg("view %zu, %s, attack %zu: %s", i,
						 kind_table[kind].name, a, text);
			}
		}
	}
}

static void every_kind_has_a_line(void **state)
{
	char packed[] = "one";

	(void)state;
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		cleanup(free) char *text = NULL;
		struct event e;

		fill(&e, kind, "[]", packed, sizeof(packed));
		text = line_of(&e, false);
		if (!*text)
			fail_msg("%s says nothing", kind_table[kind].name);
	}
}

static void a_kind_of_tomorrow_is_not_a_crash(void **state)
{
	struct event e = {.kind = EVENT_KIND_COUNT + 7};
	cleanup(free) char *text = line_of(&e, false);

	(void)state;
	assert_non_null(strstr(text, "does not know"));
}

/* ---- printable text by itself ---- */

static void shows(const char *bytes, size_t size, struct printable p, const char *expected)
{
	cleanup(free) char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	printable_word(out, &p, (struct bytes){bytes, size});
	fclose(out);
	assert_string_equal(text, expected);
}

static void words_are_quoted_as_a_shell_would_read_them(void **state)
{
	struct printable plain = {0}, ascii = {.ascii = true};

	(void)state;
	shows("make", 4, plain, "make");
	shows("", 0, plain, "''");
	shows("a b", 3, plain, "'a b'");
	shows("it's", 4, plain, "$'it\\'s'");
	shows("a\\b", 3, plain, "'a\\b'");
	shows("a\\\nb", 4, plain, "$'a\\\\\\nb'");
	shows("a\0b", 3, plain, "$'a\\x00b'");
	shows("caf\xc3\xa9", 5, plain, "caf\xc3\xa9");
	shows("caf\xc3\xa9", 5, ascii, "$'caf\\u00e9'");
	shows("\xf0\x9f\x90\xa7", 4, ascii, "$'\\U0001f427'");
	shows("\xf0\x9f\x90\xa7", 4, plain, "\xf0\x9f\x90\xa7");
	shows("a\xc2\xa0"
	      "b",
	      4, plain,
	      "'a\xc2\xa0"
	      "b'");
	shows("\xc5\x9c", 2, plain,
	      "\xc5\x9c"); /* its last byte is a backslash's with the top bit set */
}

static void long_values_say_what_is_left_out(void **state)
{
	struct printable four = {.limit = 4};

	(void)state;
	shows("abcd", 4, four, "abcd");
	shows("abcdefg", 7, four, "abcd[+3 bytes]");
	shows("abc\xc3\xa9", 5, four, "abc[+2 bytes]"); /* not half a character */
	shows("\x80\x80\x80\x80\x80\x80", 6, four, "$'\\x80'[+5 bytes]");
}

static void only_whole_and_shortest_utf8_is_decoded(void **state)
{
	static const struct {
		const char *text;
		int32_t code;
		size_t used;
	} cases[] = {
		{"A", 'A', 1},
		{"\xc2\x80", 0x80, 2},
		{"\xdf\xbf", 0x7ff, 2},
		{"\xe0\xa0\x80", 0x800, 3},
		{"\xef\xbf\xbf", 0xffff, 3},
		{"\xf0\x90\x80\x80", 0x10000, 4},
		{"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
		{"\x80", -1, 1},
		{"\xc0\x80", -1, 1},
		{"\xc1\xbf", -1, 1},
		{"\xe0\x9f\xbf", -1, 1},
		{"\xed\xa0\x80", -1, 1},
		{"\xf0\x8f\xbf\xbf", -1, 1},
		{"\xf4\x90\x80\x80", -1, 1},
		{"\xf5\x80\x80\x80", -1, 1},
		{"\xe2\x80", -1, 1},
		{"\xe2\x80x", -1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t cursor = 0, size = strlen(cases[i].text);
		cleanup(free) char *exact = malloc(size); /* so that one byte too far is seen */

		memcpy(exact, cases[i].text, size);
		assert_int_equal(utf8_next((struct bytes){exact, size}, &cursor), cases[i].code);
		assert_int_equal(cursor, cases[i].used);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_of_work),
		cmocka_unit_test(holes_cuts_and_redactions_stand_in_place),
		cmocka_unit_test(hostile_names_are_shown_tamely),
		cmocka_unit_test(json_is_what_went_in),
		cmocka_unit_test(raw_output_is_the_bytes_themselves),
		cmocka_unit_test(a_filter_never_hides_a_gap),
		cmocka_unit_test(colours_change_nothing_but_colours),
		cmocka_unit_test(no_field_of_any_kind_reaches_the_terminal_as_it_is),
		cmocka_unit_test(no_view_lets_an_attack_through),
		cmocka_unit_test(every_kind_has_a_line),
		cmocka_unit_test(a_kind_of_tomorrow_is_not_a_crash),
		cmocka_unit_test(words_are_quoted_as_a_shell_would_read_them),
		cmocka_unit_test(long_values_say_what_is_left_out),
		cmocka_unit_test(only_whole_and_shortest_utf8_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
