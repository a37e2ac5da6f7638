/*
 * Cursors: written and read back, and of what is not one nothing is believed.
 */
#include "exporters/cursor.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

static struct cursor sample(void)
{
	static const char *const sessions[] = {"ffffffffffff", "000000000000", "0123456789ab"};
	struct cursor c = {.totals = {1, UINT64_MAX, 0}};

	for (uint64_t i = 0; i < 3; i++) {
		struct cursor_entry *entry = cursor_need(&c, sessions[i]);

		entry->next_seq = i ? i : UINT64_MAX;
		entry->is_done = i == 1;
	}
	return c;
}

static void assert_sample(const struct cursor *c)
{
	assert_int_equal(c->count, 3);
	assert_int_equal(c->totals.delivered, 1);
	assert_true(c->totals.quarantined == UINT64_MAX);
	assert_true(cursor_find(c, "ffffffffffff")->next_seq == UINT64_MAX);
	assert_true(cursor_find(c, "000000000000")->is_done);
	assert_int_equal(cursor_find(c, "0123456789ab")->next_seq, 2);
	assert_false(cursor_find(c, "0123456789ab")->is_done);
	assert_null(cursor_find(c, "0123456789ac"));
}

static void what_is_written_is_read(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = sample(), back;

	(void)state;
	assert_int_equal(cursor_read(s.fd, "sink", &back), -ENOENT);
	assert_int_equal(cursor_write(s.fd, "sink", &c), 0);
	assert_int_equal(cursor_read(s.fd, "sink", &back), 0);
	assert_sample(&back);
	assert_false(scratch_has(&s, "sink.cursor.new"));
	cursor_forget(&back, "0123456789ab");
	cursor_forget(&back, "no such one");
	assert_int_equal(back.count, 2);
	assert_null(cursor_find(&back, "0123456789ab"));
	cursor_free(&back);
	cursor_free(&c);
	scratch_free(&s);
}

/* Cut at each byte and changed in each, it is none; so is the good one of another sink. */
static void what_is_bent_is_none(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = sample(), back;
	uint8_t *text;
	size_t size;

	(void)state;
	assert_int_equal(cursor_write(s.fd, "sink", &c), 0);
	text = scratch_read(&s, "sink.cursor", &size);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(cursor_parse("sink", (char *)text, cut, &back), -EBADMSG);
	for (size_t at = 0; at < size; at++) {
		text[at] ^= 1;
		assert_int_equal(cursor_parse("sink", (char *)text, size, &back), -EBADMSG);
		text[at] ^= 1;
	}
	assert_int_equal(cursor_parse("sinks", (char *)text, size, &back), -EBADMSG);
	assert_int_equal(cursor_parse("sin", (char *)text, size, &back), -EBADMSG);
	assert_int_equal(cursor_parse("sink", (char *)text, size, &back), 0);
	assert_sample(&back);
	cursor_free(&back);
	cursor_free(&c);
	free(text);
	scratch_free(&s);
}

static void a_failed_write_leaves_the_old_one(void **state)
{
	struct scratch s = scratch_new();
	struct cursor c = sample(), back;

	(void)state;
	assert_int_equal(cursor_write(s.fd, "sink", &c), 0);
	/* A directory where the temporary file has to be. */
	assert_int_equal(mkdirat(s.fd, "sink.cursor.new", 0700), 0);
	c.totals.delivered = 2;
	assert_int_equal(cursor_write(s.fd, "sink", &c), -EISDIR);
	assert_int_equal(cursor_read(s.fd, "sink", &back), 0);
	assert_sample(&back);
	cursor_free(&back);
	cursor_free(&c);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_bent_is_none),
		cmocka_unit_test(a_failed_write_leaves_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
