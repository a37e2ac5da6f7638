/*
 * The event tables, and putting and getting values.
 */
#include "sample.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* cmocka wants the three above */
#include <cmocka.h>

static void every_row_is_whole(void **state)
{
	(void)state;
	assert_null(field_table[FIELD_NONE].name);
	assert_null(kind_table[EVENT_KIND_NONE].name);
	for (size_t i = 1; i < FIELD_COUNT; i++) {
		assert_non_null(field_table[i].name);
		assert_int_equal(field_by_name(field_table[i].name), i);
		for (const char *c = field_table[i].doc; *c; c++)
			assert_true(isprint((unsigned char)*c) && *c != '|');
	}
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		assert_int_equal(kind_by_name(kind_table[k].name), k);
		assert_true(kind_table[k].field_count > 0);
		assert_true(kind_table[k].field_count <= EVENT_VALUES_MAX);
		assert_true(kind_table[k].class < EVENT_CLASS_COUNT);
		for (const char *c = kind_table[k].doc; *c; c++)
			assert_true(isprint((unsigned char)*c) && *c != '|');
	}
	assert_int_equal(kind_by_name("process"), EVENT_KIND_NONE);
	assert_int_equal(field_by_name(""), FIELD_NONE);
	assert_string_equal(event_class_names[EVENT_CLASS_session], "session");
}

/* Where the dot of a dotted name stands, 0 if there is none. */
static size_t dot_of(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

static bool is_member_name(const struct kind_info *kind, const char *name)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		if (!strcmp(field_table[kind->fields[i]].name, name))
			return true;
	}
	return false;
}

/* No member of a line may be said twice, nor be mistaken for another's sibling. */
static void names_of_a_line_do_not_clash(void **state)
{
	static const char *const heads[] = {"seq", "session", "time", "boot_ns", "kind"};
	static const char *const siblings[] = {"_b64", "_truncated", "_length", "_digest"};
	char name[128];

	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		const struct kind_info *kind = &kind_table[k];

		for (size_t i = 0; i < 5; i++)
			assert_false(is_member_name(kind, heads[i]));
		for (size_t i = 0; i < kind->field_count; i++) {
			const char *field = field_table[kind->fields[i]].name;
			size_t dot = dot_of(field);

			assert_true(kind_has_field(k, kind->fields[i]));
			for (size_t j = 0; j < i; j++)
				assert_int_not_equal(kind->fields[i], kind->fields[j]);
			for (size_t s = 0; s < 4; s++) {
				snprintf(name, sizeof(name), "%s%s", field, siblings[s]);
				assert_false(is_member_name(kind, name));
			}
			snprintf(name, sizeof(name), "%.*s", (int)dot, field);
			assert_false(dot && is_member_name(kind, name));
		}
	}
}

/* The fields of one object stand side by side: the object is opened once. */
static void groups_stand_together(void **state)
{
	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		const struct kind_info *kind = &kind_table[k];

		for (size_t i = 1; i < kind->field_count; i++) {
			const char *field = field_table[kind->fields[i]].name;
			const char *before = field_table[kind->fields[i - 1]].name;
			size_t dot = dot_of(field);

			if (!dot || (dot == dot_of(before) && !memcmp(field, before, dot)))
				continue;
			for (size_t j = 0; j < i; j++) {
				const char *other = field_table[kind->fields[j]].name;

				assert_false(dot == dot_of(other) && !memcmp(field, other, dot));
			}
		}
	}
}

/* Where something can be cut, the record says what was. */
static void what_can_be_redacted_can_say_so(void **state)
{
	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		bool is_redactable = false;

		for (size_t i = 0; i < kind_table[k].field_count; i++)
			is_redactable |=
				field_table[kind_table[k].fields[i]].redact != REDACT_NEVER;
		if (is_redactable != kind_has_field(k, FIELD_redacted))
			fail_msg("%s: redacted", kind_table[k].name);
	}
}

static void values_are_put_and_got(void **state)
{
	const uint8_t digest[EVENT_DIGEST_SIZE] = {1, 2, 3};
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec, 11, 22);
	assert_int_equal(e.kind, EVENT_process_exec);
	assert_int_equal(e.time_ns, 11);
	assert_int_equal(e.boot_ns, 22);
	assert_null(event_get(&e, FIELD_pid));
	assert_int_equal(event_u64(&e, FIELD_pid, 77), 77);
	assert_null(event_bytes(&e, FIELD_cwd).data);

	event_put_u64(&e, FIELD_pid, 5);
	event_put_bool(&e, FIELD_exe_memfd, true);
	event_put_text(&e, FIELD_cwd, "/work");
	event_put_bytes(&e, FIELD_argv, "a\0", 2);
	event_mark_cut(&e, FIELD_argv, 900, digest);
	assert_int_equal(e.count, 4);
	assert_int_equal(event_u64(&e, FIELD_pid, 0), 5);
	assert_int_equal(event_u64(&e, FIELD_exe_memfd, 0), 1);
	assert_int_equal(event_bytes(&e, FIELD_cwd).size, 5);
	assert_true(event_get(&e, FIELD_argv)->is_cut);
	assert_int_equal(event_get(&e, FIELD_argv)->cut.full_length, 900);
	assert_memory_equal(event_get(&e, FIELD_argv)->cut.digest, digest, sizeof(digest));
}

static void putting_twice_replaces(void **state)
{
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec, 0, 0);
	event_put_text(&e, FIELD_cwd, "/a");
	event_mark_cut(&e, FIELD_cwd, 9, NULL);
	event_put_u64(&e, FIELD_pid, 1);
	event_put_text(&e, FIELD_cwd, "/other");
	assert_int_equal(e.count, 2);
	assert_int_equal(event_bytes(&e, FIELD_cwd).size, 6);
	assert_false(event_get(&e, FIELD_cwd)->is_cut);
}

static void unknown_is_absent(void **state)
{
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec, 0, 0);
	event_put_text(&e, FIELD_cwd, NULL);
	event_put_bytes(&e, FIELD_argv, NULL, 0);
	assert_int_equal(e.count, 0);
	event_put_bytes(&e, FIELD_argv, "", 0);
	assert_int_equal(e.count, 1);
	assert_non_null(event_get(&e, FIELD_argv));
}

static void every_kind_can_be_full(void **state)
{
	struct event e;

	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		sample_event(&e, k, 0);
		assert_int_equal(e.count, kind_table[k].field_count);
		for (size_t i = 0; i < kind_table[k].field_count; i++)
			assert_int_equal(event_get(&e, kind_table[k].fields[i])->field,
					 kind_table[k].fields[i]);
	}
}

static void items_are_walked(void **state)
{
	static const char *const expected[] = {"a", "", "bc", "open"};
	struct bytes packed = {"a\0\0bc\0open", 10}, item;
	size_t cursor = 0, count = 0;

	(void)state;
	while (bytes_next_item(packed, &cursor, &item)) {
		assert_true(count < 4);
		assert_int_equal(item.size, strlen(expected[count]));
		assert_memory_equal(item.data, expected[count], item.size);
		count++;
	}
	assert_int_equal(count, 4);
	cursor = 0;
	assert_false(bytes_next_item((struct bytes){NULL, 0}, &cursor, &item));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(names_of_a_line_do_not_clash),
		cmocka_unit_test(groups_stand_together),
		cmocka_unit_test(what_can_be_redacted_can_say_so),
		cmocka_unit_test(values_are_put_and_got),
		cmocka_unit_test(putting_twice_replaces),
		cmocka_unit_test(unknown_is_absent),
		cmocka_unit_test(every_kind_can_be_full),
		cmocka_unit_test(items_are_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
