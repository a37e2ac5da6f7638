/*
 * Reports: the same bytes for the same journal, and nothing of a session that becomes markup, a
 * script or a second column, whatever field it stands in.
 */
#include "../../replay/lanes.h"
#include "golden_session.h"

#define MARK "x-attack"

/* Each would be seen as it is if one form of escaping were missing. */
static const char *const attacks[] = {
	"<" MARK " onload=1>",	  "</script><" MARK ">",
	"</SCRIPT ><" MARK ">",	  "<!--<script><" MARK ">",
	"\" " MARK "=\"1",	  "' " MARK "='1",
	"&lt;" MARK "&gt;",	  "]]><" MARK ">",
	"\xff<" MARK ">",	  "`<" MARK ">` ``` | [a](javascript:" MARK ")",
	"\xe2\x80\xae<" MARK ">", "\033]0;" MARK "\007",
};

static void put_attack(struct event *e, enum event_field field, const char *attack)
{
	static char packed[256]; /* borrowed by the event; the same for all of its fields */
	size_t length = strlen(attack) + 1;

	memcpy(packed, attack, length);
	memcpy(packed + length, attack, length);
	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
		event_put_u64(e, field, UINT64_MAX);
		break;
	case FIELD_TYPE_I64:
		event_put_i64(e, field, INT64_MIN + 1);
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
		event_put_bytes(e, field, packed, 2 * length);
		break;
	}
}

/* A session in which every field of every kind is an attack. */
static void write_attacks(struct place *place, const char *id)
{
	struct writer w = open_journal(place, id, 0);

	for (size_t a = 0; a < sizeof(attacks) / sizeof(*attacks); a++) {
		for (enum event_kind kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			struct redacted record = begin(&w, kind);

			for (size_t i = 0; i < kind_table[kind].field_count; i++) {
				enum event_field field = kind_table[kind].fields[i];

				put_attack(&record.event, field, attacks[a]);
			}
			append(&w, &record);
		}
	}
	assert_int_equal(journal_close(w.journal), 0);
	write_manifest(place, id, "attacks", SESSION_ENDED, false);
}

static bool is_in_quotes(const char *text, const char *at)
{
	const char *open = at;

	while (open > text && *open != '<' && *open != '>')
		open--;
	return *open != '<'; /* not within a tag */
}

static void nothing_of_a_session_is_markup(void **state)
{
	struct place *place = *state;
	struct answer a;
	const char *at;

	write_attacks(place, "0123456789ab");
	a = ask(place, &command_report, "attacks");
	assert_int_equal(a.status, 0);
	assert_null(strstr(a.out, "<" MARK));
	assert_null(strchr(a.out, '\033'));
	assert_null(strstr(a.out, "\xe2\x80\xae"));
	assert_int_equal(count_of(a.out, "<script"), 7);
	for (at = a.out; (at = strstr(at, MARK)); at++)
		assert_true(is_in_quotes(a.out, at));
	assert_true(count_of(a.out, MARK) > 1000);
	answer_free(&a);

	a = ask(place, &command_report, "attacks", "--format", "md");
	assert_int_equal(a.status, 0);
	assert_null(strchr(a.out, '\033'));
	assert_true(count_of(a.out, MARK) > 100);
	answer_free(&a);
}

static void a_page_allows_nothing_but_its_own_style_and_script(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789ab", "golden", "build.jsonl");
	a = ask(place, &command_report, "golden");
	assert_int_equal(a.status, 0);
	contains(a.out, "content=\"default-src 'none'; script-src 'sha256-");
	contains(a.out, "; style-src 'sha256-");
	contains(a.out, "base-uri 'none'; form-action 'none'");
	assert_null(strstr(a.out, " style="));
	assert_null(strstr(a.out, " onclick="));
	assert_null(strstr(a.out, "src=\""));
	assert_null(strstr(a.out, "unsafe"));
	contains(a.out, "look: it failed, or was refused something; not verified");
	contains(a.out, "<dt>Denied</dt><dd>1 acts</dd>");
	answer_free(&a);
}

static void the_same_journal_gives_the_same_bytes(void **state)
{
	static const char *const forms[] = {"html", "md", "json"};
	static const char *const golden[] = {NULL, "build.report.md", "build.report.json"};
	struct place *place = *state;

	write_golden_session(place, "0123456789ab", "one", "build.jsonl");
	for (size_t i = 0; i < 3; i++) {
		struct answer a = ask(place, &command_report, "one", "--format", forms[i]), b;

		write_manifest(place, "0123456789ab", "two", SESSION_ENDED, false);
		b = ask(place, &command_report, "two", "--format", forms[i]);
		write_manifest(place, "0123456789ab", "one", SESSION_ENDED, false);
		assert_int_equal(a.status, 0);
		assert_string_equal(a.out, b.out);
		if (golden[i])
			is_golden(golden[i], a.out);
		answer_free(&a);
		answer_free(&b);
	}
}

static void what_is_missing_is_the_verdict(void **state)
{
	struct place *place = *state;
	struct answer a;

	write_golden_session(place, "0123456789ab", "golden", "holes.jsonl");
	a = ask(place, &command_report, "golden");
	contains(a.out, "<header class=\"doubt\">");
	contains(a.out, "records are missing here");
	answer_free(&a);
	a = ask(place, &command_report, "golden", "--format", "json");
	contains(a.out, "\"verdict\": \"doubt\"");
	contains(a.out, "\"verification\": {\"verdict\": \"unknown\"");
	answer_free(&a);
}

static void a_file_is_written_or_the_exit_status_says_so(void **state)
{
	struct place *place = *state;
	char path[128];
	struct answer a;
	struct stat st;

	write_golden_session(place, "0123456789ab", "golden", "build.jsonl");
	snprintf(path, sizeof(path), "%s/report.html", place->path);
	a = ask(place, &command_report, "golden", "-o", path);
	assert_int_equal(a.status, 0);
	assert_string_equal(a.out, "");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(st.st_size > 10000);
	answer_free(&a);
	a = ask(place, &command_report, "golden", "-o", "/no/such/directory/x");
	assert_int_equal(a.status, 1);
	contains(a.err, "/no/such/directory/x: No such file");
	answer_free(&a);
	a = ask(place, &command_report, "golden", "-o", "/dev/full");
	assert_int_equal(a.status, 1);
	answer_free(&a);
}

static void lanes_keep_every_record_when_they_are_joined(void **state)
{
	struct lanes lanes = {0};
	struct event e;
	uint64_t sum = 0;

	(void)state;
	event_init(&e, EVENT_file_create, 1, 1);
	for (uint64_t i = 0; i < 5000; i++)
		lanes_add(&lanes, i * 1000000, &e);
	for (size_t i = 0; i < LANES_PARTS; i++)
		sum += lanes.counts[EVENT_CLASS_file][i];
	assert_int_equal(sum, 5000);
	assert_true(lanes.used > LANES_PARTS / 2 && lanes.used <= LANES_PARTS);
	assert_true(lanes.used * lanes.part_ns >= 5000 * UINT64_C(1000000));
	lanes_add(&lanes, UINT64_MAX, &e);
	assert_true(lanes.used <= LANES_PARTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(nothing_of_a_session_is_markup),
		IN_PLACE(a_page_allows_nothing_but_its_own_style_and_script),
		IN_PLACE(the_same_journal_gives_the_same_bytes),
		IN_PLACE(what_is_missing_is_the_verdict),
		IN_PLACE(a_file_is_written_or_the_exit_status_says_so),
		cmocka_unit_test(lanes_keep_every_record_when_they_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
