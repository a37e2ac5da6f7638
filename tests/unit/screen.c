/*
 * What the full-screen replay is made of, without a screen: sets of numbers, pages of records,
 * scans that begin in the middle, terms that find the value that they were made of, the line
 * editor, and notes beside the evidence.
 */
#include "replay/notes.h"
#include "replay/query.h"
#include "replay/screen/detail.h"
#include "replay/screen/numbers.h"
#include "replay/screen/pages.h"
#include "replay/screen/prompt.h"
#include "replay/screen/scan.h"
#include "replay/screen/survey.h"
#include "sample_journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define RECORDS 3000

static void numbers_are_found_both_ways(void **unused)
{
	static const uint64_t list[] = {1, 2, 63, 64, 65, 127, 128, 4096, 100000};
	struct numbers set = {0};
	size_t count = sizeof(list) / sizeof(list[0]);
	uint64_t at = 0;

	(void)unused;
	assert_int_equal(numbers_next(&set, 0), 0);
	assert_int_equal(numbers_before(&set, 10), 0);
	for (size_t i = count; i--;) {
		assert_int_equal(numbers_add(&set, list[i]), 0);
		assert_int_equal(numbers_add(&set, list[i]), 0);
	}
	assert_int_equal(set.count, count);
	for (size_t i = 0; i < count; i++) {
		at = numbers_next(&set, at);
		assert_int_equal(at, list[i]);
		assert_true(numbers_has(&set, at));
		assert_false(numbers_has(&set, at + 3));
	}
	assert_int_equal(numbers_next(&set, at), 0);
	at = UINT64_MAX;
	for (size_t i = count; i--;) {
		at = numbers_before(&set, at);
		assert_int_equal(at, list[i]);
	}
	assert_int_equal(numbers_before(&set, at), 0);
	assert_int_equal(numbers_add(&set, UINT64_MAX), -ENOMEM);
	numbers_clear(&set);
}

/* ---- pages and scans over a journal of several segments ---- */

static struct scratch write_sample(void)
{
	struct scratch place = scratch_new();
	struct journal *j = sample_open(&place, &(struct journal_options){.segment_bytes = 32768});

	sample_append(j, RECORDS);
	assert_int_equal(journal_close(j), 0);
	return place;
}

static void pages_have_every_record(void **unused)
{
	struct scratch place = write_sample();
	struct pages *pages;
	struct event e;
	const char *why = NULL;

	(void)unused;
	assert_int_equal(pages_open(place.fd, &pages), 0);
	assert_int_equal(pages_last(pages), RECORDS);
	for (uint64_t i = 0; i < RECORDS; i++) {
		uint64_t seq = i * 911 % RECORDS + 1; /* to and fro */

		assert_true(pages_get(pages, seq, &e, NULL));
		assert_true(is_sample_record(&e, seq));
	}
	for (uint64_t seq = RECORDS; seq; seq--)
		assert_true(pages_get(pages, seq, &e, NULL) && e.seq == seq);
	assert_false(pages_get(pages, RECORDS + 1, &e, &why));
	assert_non_null(why);
	assert_false(pages_get(pages, 0, &e, &why));
	pages_free(pages);
	scratch_free(&place);
}

static void pages_see_a_journal_grow(void **unused)
{
	struct scratch place = scratch_new();
	struct journal *j = sample_open(&place, NULL);
	struct pages *pages;
	struct event e;

	(void)unused;
	sample_append(j, 10);
	assert_int_equal(journal_flush(j, 1), 0);
	assert_int_equal(pages_open(place.fd, &pages), 0);
	assert_int_equal(pages_last(pages), 10);
	assert_false(pages_get(pages, 11, &e, NULL));
	sample_append(j, 10);
	assert_int_equal(journal_flush(j, 2), 0);
	assert_int_equal(pages_last(pages), 20);
	pages_refresh(pages);
	assert_true(pages_get(pages, 11, &e, NULL) && is_sample_record(&e, 11));
	assert_true(pages_get(pages, 20, &e, NULL) && is_sample_record(&e, 20));
	pages_free(pages);
	assert_int_equal(journal_close(j), 0);
	scratch_free(&place);
}

/* A record that is bent is missing, and all others are there. */
static void pages_go_on_behind_damage(void **unused)
{
	struct scratch place = write_sample();
	struct pages *pages;
	struct survey survey;
	struct event e;
	uint64_t missing = 0;
	int fd = openat(place.fd, "000001.vtj", O_RDWR | O_CLOEXEC);
	char byte;

	(void)unused;
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, 9000), 1);
	byte ^= 0x55;
	assert_int_equal(pwrite(fd, &byte, 1, 9000), 1);
	close(fd);
	assert_int_equal(pages_open(place.fd, &pages), 0);
	assert_int_equal(pages_last(pages), RECORDS);
	for (uint64_t seq = 1; seq <= RECORDS; seq++) {
		const char *why = NULL;

		if (pages_get(pages, seq, &e, &why))
			assert_true(is_sample_record(&e, seq));
		else
			missing++;
	}
	assert_true(missing > 0 && missing < RECORDS / 2);
	pages_free(pages);

	assert_int_equal(survey_open(place.fd, &survey), 0);
	while (survey_step(&survey, 1000) > 0)
		;
	assert_true(survey.damages > 0);
	assert_int_equal(survey.whole.count, RECORDS - missing);
	assert_true(numbers_next(&survey.landmarks[LANDMARK_GAP], 0) > 0);
	survey_close(&survey);
	scratch_free(&place);
}

static uint64_t scan_all(const struct scratch *place, const char *text, uint64_t from)
{
	struct origin origin = {0};
	struct query_error error;
	struct scan scan = {0};
	uint64_t sum = 0, at = 0;

	assert_int_equal(scan_open(&scan, place->fd, text, from, &error), 0);
	while (scan_step(&scan, &origin, 1000) > 0)
		;
	assert_int_equal(scan.looked, RECORDS);
	while ((at = numbers_next(&scan.found, at)))
		sum = sum * 31 + at;
	scan_close(&scan);
	return sum;
}

static void a_scan_finds_the_same_from_wherever_it_begins(void **unused)
{
	struct scratch place = write_sample();
	struct query_error error;
	struct scan scan = {0};
	uint64_t want = scan_all(&place, "pid:100..2000 path~long", 1);

	(void)unused;
	assert_true(want != 0);
	for (uint64_t from = 2; from <= RECORDS; from += 611)
		assert_int_equal(scan_all(&place, "pid:100..2000 path~long", from), want);
	assert_int_equal(scan_open(&scan, place.fd, "pid:(", 1, &error), -EINVAL);
	assert_false(scan_is_open(&scan));
	scratch_free(&place);
}

/* ---- values as terms ---- */

static void a_value_finds_itself(void **unused)
{
	static const struct bytes values[] = {
		{"/etc/passwd", 11},
		{"", 0},
		{"a \"quoted\" \\ thing", 18},
		{"*?()", 4},
		{"\x1b[31m\n\t", 7},
		{"\xff\xfe", 2},
		{"or", 2},
		{"not (x", 6},
		{"a\0b", 3},
		{"'", 1},
		{"\xe2\x80\xae", 3},
	};
	struct origin origin = {0};

	(void)unused;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct query_error error;
		struct query *q = NULL;
		struct event e;
		char *term = term_for("path", values[i]);

		assert_non_null(term);
		event_init(&e, EVENT_file_open, 1, 1);
		event_put_bytes(&e, FIELD_path, values[i].data, values[i].size);
		if (query_parse(term, &q, &error))
			fail_msg("%s: %s", term, error.why);
		assert_true(query_match(q, &origin, &e));
		event_put_text(&e, FIELD_path, "something else");
		assert_false(query_match(q, &origin, &e));
		query_free(q);
		free(term);
	}
}

static void a_record_is_told_value_by_value(void **unused)
{
	struct notes notes = {0};
	struct detail d = {0};
	struct message m;
	bool found = false;

	(void)unused;
	assert_int_equal(message_open(&m), 0);
	for (unsigned kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		for (unsigned variant = 0; variant < SAMPLE_VARIANTS; variant++) {
			struct event e;

			sample_event(&e, (enum event_kind)kind, variant);
			e.seq = kind;
			assert_int_equal(detail_fill(&d, &m, &notes, &e, 60), 0);
			assert_true(d.count >= 3);
			for (size_t i = 0; i < d.count; i++) {
				struct query_error error;
				struct query *q = NULL;

				for (const char *c = d.rows[i].text; *c; c++)
					assert_true((unsigned char)*c >= ' ' && *c != 127);
				/* Samples put any text there; an address that is none is refused.
				 */
				if (!d.rows[i].term || strstr(d.rows[i].label, "address"))
					continue;
				found = true;
				if (query_parse(d.rows[i].term, &q, &error))
					fail_msg("%s: %s", d.rows[i].term, error.why);
				query_free(q);
			}
		}
	}
	assert_true(found);
	assert_int_equal(detail_fill_unreadable(&d, 7, "bent"), 0);
	assert_int_equal(d.count, 1);
	detail_clear(&d);
	message_close(&m);
}

/* ---- typing ---- */

static void a_line_is_edited_by_characters(void **unused)
{
	struct prompt p = {0};

	(void)unused;
	for (const char *c = "kind:x"; *c; c++)
		assert_true(prompt_insert(&p, (unsigned char)*c));
	assert_true(prompt_insert(&p, 0xe9));
	assert_true(prompt_insert(&p, 0x1f600));
	assert_string_equal(p.text, "kind:x\xc3\xa9\xf0\x9f\x98\x80");
	prompt_erase(&p);
	assert_string_equal(p.text, "kind:x\xc3\xa9");
	prompt_move(&p, -2);
	prompt_erase(&p);
	assert_string_equal(p.text, "kindx\xc3\xa9");
	prompt_move(&p, 99);
	prompt_erase(&p);
	prompt_erase_word(&p);
	assert_string_equal(p.text, "");
	prompt_erase(&p);
	prompt_move(&p, -5);
	assert_int_equal(p.at, 0);
	for (size_t i = 0; i < PROMPT_MAX + 10; i++)
		prompt_insert(&p, 'x');
	assert_int_equal(p.size, PROMPT_MAX);
	assert_false(prompt_insert(&p, 'x'));
	prompt_set(&p, "a b");
	prompt_erase_word(&p);
	assert_string_equal(p.text, "a ");
}

/* ---- notes ---- */

static void notes_are_lines_of_their_own(void **unused)
{
	struct scratch place = scratch_new();
	struct notes notes, again;
	char path[256];
	FILE *file;

	(void)unused;
	snprintf(path, sizeof(path), "%s/notes/x.jsonl", place.path);
	assert_int_equal(notes_open(path, &notes), 0);
	assert_int_equal(notes.count, 0);
	assert_int_equal(notes_add(&notes, SAMPLE_SESSION, 7, "first\n\x1b[31m"), 0);
	assert_int_equal(notes_add(&notes, SAMPLE_SESSION, 9, NULL), 0);
	assert_int_equal(notes_add(&notes, SAMPLE_SESSION, 9, "\xff"), -EILSEQ);
	assert_int_equal(notes.count, 2);
	assert_string_equal(notes_about(&notes, 7, false)->text, "first\n\x1b[31m");
	assert_null(notes_about(&notes, 7, true));
	assert_non_null(notes_about(&notes, 9, true));
	assert_true(notes_about(&notes, 9, true)->time_ns > 0);

	assert_int_equal(notes_withdraw(&notes, SAMPLE_SESSION, 2), 0);
	assert_int_equal(notes_withdraw(&notes, SAMPLE_SESSION, 2), -ENOENT);
	assert_int_equal(notes_withdraw(&notes, SAMPLE_SESSION, 77), -ENOENT);
	assert_null(notes_about(&notes, 9, false));

	file = fopen(path, "ae");
	fputs("not JSON\n{\"seq\":-1,\"author\":\"x\"}\n{\"seq\":3}\n", file);
	fclose(file);
	assert_int_equal(notes_open(path, &again), 0);
	assert_int_equal(again.bad_lines, 3);
	assert_int_equal(again.count, 2);
	assert_non_null(notes_about(&again, 7, false));
	notes_close(&again);
	notes_close(&notes);
	scratch_free(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_found_both_ways),
		cmocka_unit_test(pages_have_every_record),
		cmocka_unit_test(pages_see_a_journal_grow),
		cmocka_unit_test(pages_go_on_behind_damage),
		cmocka_unit_test(a_scan_finds_the_same_from_wherever_it_begins),
		cmocka_unit_test(a_value_finds_itself),
		cmocka_unit_test(a_record_is_told_value_by_value),
		cmocka_unit_test(a_line_is_edited_by_characters),
		cmocka_unit_test(notes_are_lines_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
