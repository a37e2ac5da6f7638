/*
 * Syslog messages: their form, and what happens to what is too long or hostile.
 */
#include "exporters/sinks/syslog_message.h"
#include "sample.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define SESSION "0123456789ab"

static const struct session_facts facts = {.host = "ho st\x01\xc3\xa9"};

static char *message(const struct syslog_form *form, const struct event *e, size_t *ret_size)
{
	struct json_buffer line = {0}, scratch = {0}, out = {0};
	struct projected p = {SESSION, &facts, e, &scratch};

	assert_int_equal(projection_jsonl.write(&line, &p), 0);
	assert_int_equal(syslog_message(form, &p, (struct bytes){line.text, line.length - 1}, &out),
			 0);
	*ret_size = out.length;
	json_write_raw(&out, "", 1);
	json_buffer_free(&line);
	json_buffer_free(&scratch);
	return out.text;
}

static void the_form_is_that_of_5424(void **state)
{
	struct hide_key key = {.size = 0};
	const struct syslog_form form = {.facility = 10, .max_bytes = 8000, .key = &key};
	struct event e;
	size_t size;
	char *text;

	(void)state;
	event_init(&e, EVENT_gap, UINT64_C(1767323045123456789), 1);
	e.seq = 7;
	text = message(&form, &e, &size);
	static const char want[] = "<83>1 2026-01-02T03:04:05.123456Z ho_st___ vitrine - gap "
				   "[vitrine@32473 session=\"0123456789ab\" seq=\"7\"] {\"seq\":7,";
	assert_int_equal(strncmp(text, want, strlen(want)), 0);
	free(text);
}

static void the_old_form_is_that_of_3164(void **state)
{
	const struct syslog_form form = {.is_old = true, .facility = 1, .max_bytes = 8000};
	struct event e;
	size_t size;
	char *text;

	(void)state;
	event_init(&e, EVENT_checkpoint, UINT64_C(1767323045123456789), 1);
	text = message(&form, &e, &size);
	static const char want[] = "<14>Jan  2 03:04:05 ho_st___ vitrine: {\"seq\":0,";
	assert_int_equal(strncmp(text, want, strlen(want)), 0);
	free(text);
}

/* Nothing that a session made can end a message or begin another one. */
static void every_message_is_one_line(void **state)
{
	struct hide_key key = {.bytes = "k", .size = 1};
	const struct syslog_form form = {
		.is_counted = true, .facility = 13, .max_bytes = 1024, .key = &key};

	(void)state;
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		for (unsigned variant = 0; variant < SAMPLE_VARIANTS; variant++) {
			struct event e;
			size_t size, counted;
			char *text, *rest;

			sample_event(&e, kind, variant);
			text = message(&form, &e, &size);
			counted = strtoull(text, &rest, 10);
			assert_int_equal(*rest, ' ');
			assert_int_equal(strlen(rest + 1), counted);
			assert_int_equal(size, (size_t)(rest + 1 - text) + counted);
			assert_true(counted <= 1024);
			for (size_t i = 0; i < size; i++)
				assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
			free(text);
		}
	}
}

static void what_is_cut_says_so(void **state)
{
	struct hide_key key = {.bytes = "k", .size = 1};
	const struct syslog_form form = {.facility = 10, .max_bytes = 1024, .key = &key};
	static char path[5000];
	struct event e;
	size_t size;
	char *text;
	json_t *o;

	(void)state;
	memset(path, '"', sizeof(path) - 1);
	event_init(&e, EVENT_file_open, UINT64_C(1767323045123456789), 1);
	e.seq = 9;
	event_put_text(&e, FIELD_path, path);
	text = message(&form, &e, &size);
	assert_in_range(size, 1000, 1024);
	json_error_t error;
	o = json_loads(strstr(text, "] {") + 2, JSON_REJECT_DUPLICATES, &error);
	if (!o)
		fail_msg("%s: %s", error.text, text);
	assert_true(json_is_true(json_object_get(o, "truncated")));
	assert_int_equal(json_integer_value(json_object_get(o, "seq")), 9);
	assert_true(json_integer_value(json_object_get(o, "length")) > 9998);
	assert_int_equal(json_string_length(json_object_get(o, "digest")), 64);
	assert_memory_equal(json_string_value(json_object_get(o, "head")), "{\"seq\":9,", 9);
	json_decref(o);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_form_is_that_of_5424),
		cmocka_unit_test(the_old_form_is_that_of_3164),
		cmocka_unit_test(every_message_is_one_line),
		cmocka_unit_test(what_is_cut_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
