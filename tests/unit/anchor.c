/*
 * A checkpoint is found again in whatever form it was kept.
 */
#include "replay/anchor.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

#include "exporters/project/projection.h"

#define SESSION "0123456789ab"

static const uint8_t seed[SIGN_SEED_SIZE] = "a seed that is no secret at all";

struct made {
	struct note note;
	char text[NOTE_MAX + 1];
	int length;
};

static struct made make(const char *origin, uint64_t size)
{
	struct made m = {.note = {.size = size, .time_ns = 5, .blocks = 1}};

	snprintf(m.note.origin, sizeof(m.note.origin), "%s", origin);
	m.length = note_write(&m.note, seed, m.text);
	assert_true(m.length > 0);
	m.text[m.length] = 0;
	return m;
}

static void found_in(const char *text, size_t size, const char *session, uint64_t tree)
{
	struct note note;

	if (anchor_find((struct bytes){text, size}, session, &note) < 0)
		fail_msg("nothing in %.*s", (int)size, text);
	assert_int_equal(note.size, tree);
}

static void the_note_itself_is_one(void **state)
{
	struct made m = make("host/" SESSION, 7);

	(void)state;
	found_in(m.text, (size_t)m.length, SESSION, 7);
	found_in(m.text, (size_t)m.length, "", 7);
}

static void every_projection_carries_it(void **state)
{
	static const struct session_facts facts = {.host = "host"};
	struct made m = make("host/" SESSION, 7);
	struct json_buffer line = {0}, scratch = {0};
	struct event e;

	(void)state;
	event_init(&e, EVENT_checkpoint, 5, 0);
	event_put_u64(&e, FIELD_tree_size, 7);
	event_put_bytes(&e, FIELD_note, m.text, (size_t)m.length);
	for (size_t i = 0; projections[i]; i++) {
		struct projected p = {SESSION, &facts, &e, &scratch};
		char framed[8192];

		line.length = 0;
		assert_int_equal(projections[i]->write(&line, &p), 0);
		found_in(line.text, line.length, SESSION, 7);
		/* Behind a syslog header, too. */
		int length = snprintf(framed, sizeof(framed),
				      "<13>1 - host vitrine - - [a b=\"c\"] %.*s", (int)line.length,
				      line.text);
		found_in(framed, (size_t)length, SESSION, 7);
	}
	json_buffer_free(&line);
	json_buffer_free(&scratch);
}

static void of_several_it_is_the_largest_of_the_session(void **state)
{
	struct made m[] = {make("host/" SESSION, 3), make("host/" SESSION, 9),
			   make("host/" SESSION, 4), make("host/fedcba987654", 12)};
	struct json_buffer text = {0};

	(void)state;
	json_write_raw(&text, "no JSON\n{\"data\":[", 17);
	for (size_t i = 0; i < 4; i++) {
		json_write_raw(&text, i ? ",{\"note\":" : "{\"note\":", i ? 9 : 8);
		json_write_string(&text, (struct bytes){m[i].text, (size_t)m[i].length});
		json_write_raw(&text, "}", 1);
	}
	json_write_raw(&text, "]}\n", 3);
	found_in(text.text, text.length, SESSION, 9);
	found_in(text.text, text.length, "fedcba987654", 12);
	json_buffer_free(&text);
}

static void what_holds_none_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "{", "{\"note\":\"host/x\\n7\\n\"}", "{\"note\":7}", "[[[[[[[[[[[["};
	struct made m = make("host/" SESSION, 3);
	struct note note;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(anchor_find((struct bytes){texts[i], strlen(texts[i])}, "", &note),
				 -ENODATA);
	assert_int_equal(
		anchor_find((struct bytes){m.text, (size_t)m.length}, "fedcba987654", &note),
		-ENODATA);
	m.text[20] ^= 1; /* bent */
	assert_int_equal(anchor_find((struct bytes){m.text, (size_t)m.length - 9}, "", &note),
			 -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_note_itself_is_one),
		cmocka_unit_test(every_projection_carries_it),
		cmocka_unit_test(of_several_it_is_the_largest_of_the_session),
		cmocka_unit_test(what_holds_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
