/*
 * What is derived from the event tables, and that the tables only grow.
 */
#include "supervisor/record/schema.h"
#include "sample.h"
#include "supervisor/record/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define GOLDEN "tests/golden/events.txt"

static char *written(void (*write)(FILE *out), size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	assert_non_null(out);
	write(out);
	fclose(out);
	return text;
}

/* The first three words of a row are its place and its name; of a kind, the class follows. */
static bool is_same_row(const char *was, const char *is)
{
	if (strncmp(was, "kind ", 5))
		return !strcmp(was, is);
	/* A kind may get more fields; those it had stay. */
	while (*was) {
		size_t word = strcspn(was, " ");
		char name[128];

		snprintf(name, sizeof(name), " %.*s ", (int)word, was);
		if (!strstr(is, name))
			return false;
		was += word + strspn(was + word, " ");
	}
	return true;
}

/* The row of the dump that has the place of @row: "kind 7 " or "field 7 ". */
static bool row_at(const char *dump, const char *row, char *ret_row, size_t room)
{
	const char *place_end = strchr(strchr(row, ' ') + 1, ' ');
	size_t place = (size_t)(place_end - row) + 1;

	for (const char *line = dump; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, row, place))
			continue;
		snprintf(ret_row, room, "%.*s", (int)strcspn(line, "\n"), line);
		return true;
	}
	return false;
}

/*
 * Journals hold the numbers of rows. A row of the last release that is not where it was, or says
 * something else, makes every journal of that release a lie.
 */
static void rows_never_move(void **state)
{
	FILE *golden = fopen(GOLDEN, "r");
	char *row = NULL, now[4096], padded[4098];
	size_t room = 0, size, rows = 0;
	char *dump = written(schema_write_dump, &size);

	(void)state;
	assert_non_null(golden);
	while (getline(&row, &room, golden) > 0) {
		row[strcspn(row, "\n")] = 0;
		rows++;
		if (!row_at(dump, row, now, sizeof(now)))
			fail_msg("gone: %s", row);
		snprintf(padded, sizeof(padded), " %s ", now);
		if (!is_same_row(row, strncmp(row, "kind ", 5) ? now : padded))
			fail_msg("was: %s\nis: %s", row, now);
	}
	assert_true(rows > 150);
	free(row);
	free(dump);
	fclose(golden);
}

static const json_t *definition(const json_t *schema, const char *name)
{
	const json_t *found = json_object_get(json_object_get(schema, "$defs"), name);

	assert_non_null(found);
	return found;
}

static void assert_described(const json_t *line, const json_t *schema)
{
	const json_t *properties = json_object_get(schema, "properties");
	const char *name;
	json_t *member;

	assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
	json_object_foreach ((json_t *)line, name, member) {
		const json_t *described = json_object_get(properties, name);

		if (!described)
			fail_msg("%s is not described", name);
		if (json_object_get(described, "properties"))
			assert_described(member, described);
	}
}

/* Every member that a line can have is described in the schema of its kind. */
static void the_json_schema_describes_every_line(void **state)
{
	size_t size;
	char *text = written(schema_write_json_schema, &size);
	json_t *schema = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	struct json_buffer line = {0};

	(void)state;
	assert_non_null(schema);
	assert_string_equal(json_string_value(json_object_get(schema, "$schema")),
			    "https://json-schema.org/draft/2020-12/schema");
	assert_int_equal(json_array_size(json_object_get(schema, "oneOf")), EVENT_KIND_COUNT - 1);
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		struct event e;
		json_t *object;

		sample_event(&e, k, 2);
		line.length = 0;
		assert_int_equal(json_write_event(&line, "s", &e), 0);
		object = json_loadb(line.text, line.length, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(object);
		assert_described(object, definition(schema, kind_table[k].name));
		json_decref(object);
	}
	json_buffer_free(&line);
	json_decref(schema);
	free(text);
}

static void assert_section(const char *text, const struct kind_info *kind)
{
	char row[512];
	const char *section;

	snprintf(row, sizeof(row), "\n## %s\n", kind->name);
	section = strstr(text, row);
	assert_non_null(section);
	for (size_t i = 0; i < kind->field_count; i++) {
		snprintf(row, sizeof(row), "\n| `%s` | ", field_table[kind->fields[i]].name);
		assert_non_null(strstr(section, row));
	}
}

static void the_markdown_names_every_kind_and_field(void **state)
{
	size_t size;
	char *text = written(schema_write_markdown, &size);

	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++)
		assert_section(text, &kind_table[k]);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_never_move),
		cmocka_unit_test(the_json_schema_describes_every_line),
		cmocka_unit_test(the_markdown_names_every_kind_and_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
