/*
 * The exporter's configuration: what is refused, where it stands, and what comes of what is not.
 */
#include "exporters/export_config.h"
#include "exporters/export_schema.h"
#include "exporters/place.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

static int parse(const char *text, struct export_config *ret_config, struct knob_fault *f)
{
	*f = (struct knob_fault){0};
	return export_config_parse("c.json", text, strlen(text), false, ret_config, f);
}

static void refused_with(const char *text, const char *want)
{
	struct knob_fault f;
	struct export_config c;

	assert_int_equal(parse(text, &c, &f), -EINVAL);
	if (strncmp(f.text, want, strlen(want)))
		fail_msg("want: %s\nhave: %s", want, f.text);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	refused_with("", "c.json:1: ");
	refused_with("[]", "c.json:1: not a JSON object");
	refused_with("{\n\"stat\": 1}", "c.json:2: stat: 1: unknown key; allowed are: state, ");
	refused_with("{\n\n\"drain_s\": -1, \"sinks\": []}",
		     "c.json:3: drain_s: -1: bad value; allowed: an integer from 0 to 3600");
	refused_with("{\"sinks\": []}", "c.json:1: sinks: []: bad value; allowed: an array of 1");
	refused_with("{\"sinks\": [\n7]}", "c.json:1: not a JSON object");
	refused_with("{\"sinks\": [{\"name\": \"a\"}]}", "c.json:1: type: missing");
	refused_with("{\"sinks\": [\n{\"name\": \"sinks\", \"type\": \"file\", \"path\": \"/x\"},\n"
		     "{\"name\": \"b\", \"type\": \"file\",\n\"path\": \"x\"}]}",
		     "c.json:4: path: \"x\": bad value; allowed: an absolute path");
	refused_with(
		"{\"sinks\": [{\"name\": \"a\", \"type\": \"elastic\",\n\"url\": \"ftp://h\"}]}",
		"c.json:2: url: \"ftp://h\": bad value");
	refused_with("{\"sinks\": [{\"name\": \"../a\", \"type\": \"file\", \"path\": \"/x\"}]}",
		     "c.json:1: name: \"../a\": bad value");
	refused_with("{\"sinks\": [{\"name\": \"a\", \"type\": \"file\", \"path\": \"/x\",\n"
		     "\"drop_fields\": [\"pid\", \"pidd\"]}]}",
		     "c.json:2: drop_fields[1]: \"pidd\": no such field");
	refused_with("{\"sinks\": [{\"name\": \"a\", \"type\": \"otlp\", \"url\": \"http://h\",\n"
		     "\"format\": \"ecs\"}]}",
		     "c.json:2: format: \"ecs\": bad value; allowed: otlp");
	refused_with("{\"sinks\": [{\"name\": \"a\", \"type\": \"file\", \"path\": \"/x\", "
		     "\"name\": \"b\"}]}",
		     "c.json:1: duplicate object key");
}

static void defaults_and_filters_are_what_they_say(void **state)
{
	struct knob_fault f;
	struct export_config c;

	(void)state;
	if (parse("{\"sinks\": [{\"name\": \"a\", \"type\": \"elastic\", \"url\": \"http://h\"},"
		  "{\"name\": \"b\", \"type\": \"file\", \"path\": \"/x\", \"kinds\": "
		  "[\"file.re*\", \"net\", \"gap\"], \"severity\": \"high\", \"format\": \"cef\","
		  "\"drop_fields\": [\"exe.path\"]}]}",
		  &c, &f))
		fail_msg("%s", f.text);
	assert_int_equal(c.sink_count, 2);
	assert_ptr_equal(c.sinks[0].projection, &projection_ecs);
	assert_true(c.sinks[0].kinds == UINT64_MAX);
	assert_int_equal(c.sinks[0].batch_count, 1000);
	assert_false(c.sinks[0].include_output);
	assert_ptr_equal(c.sinks[1].projection, &projection_cef);
	assert_int_equal(c.sinks[1].severity, SEVERITY_HIGH);
	assert_true(c.sinks[1].kinds >> EVENT_file_read & 1);
	assert_true(c.sinks[1].kinds >> EVENT_file_rename & 1);
	assert_true(c.sinks[1].kinds >> EVENT_net_connect & 1);
	assert_true(c.sinks[1].kinds >> EVENT_gap & 1);
	assert_false(c.sinks[1].kinds >> EVENT_file_open & 1);
	assert_true(c.sinks[1].drop[FIELD_exe_path / 64] >> FIELD_exe_path % 64 & 1);
	export_config_free(&c);
}

static void keys_are_found_where_they_stand(void **state)
{
	static const char text[] =
		"{\n\"a\": \"b\\\"c\",\n\"b\": {\"sinks\": [{\"a\": 1}]},\n"
		"\"sinks\": [\n{\"x\": \"a\",\n\"a\": 1},\n{\n\"a\": [{\"a\": 1}],"
		"\n\"z\": 2}]}";

	(void)state;
	assert_int_equal(place_line(text, 0, "a"), 2);
	assert_int_equal(place_line(text, 0, "b"), 3);
	assert_int_equal(place_line(text, 0, "sinks"), 4);
	assert_int_equal(place_line(text, 1, "a"), 6);
	assert_int_equal(place_line(text, 2, "a"), 8);
	assert_int_equal(place_line(text, 2, "z"), 9);
	assert_int_equal(place_line(text, 2, "none"), 7);
	assert_int_equal(place_line(text, 0, ""), 1);
}

static void the_published_schema_is_that_of_the_tables(void **state)
{
	json_error_t e;
	json_t *made = export_schema();
	json_t *published = json_load_file("docs/export.schema.json", 0, &e);
	const json_t *sinks = json_object_get(json_object_get(made, "properties"), "sinks");
	const json_t *kinds = json_object_get(json_object_get(sinks, "items"), "oneOf");

	(void)state;
	if (!published)
		fail_msg("docs/export.schema.json: %s", e.text);
	if (!json_equal(made, published))
		fail_msg("docs/export.schema.json is not what `vitrine-export --schema` prints");
	for (size_t i = 0; sink_types[i]; i++) {
		const json_t *kind = json_array_get(kinds, i);

		assert_string_equal(json_string_value(json_object_get(kind, "title")),
				    sink_types[i]->name);
		for (const struct knob *k = sink_types[i]->knobs; k->name; k++)
			assert_non_null(
				json_object_get(json_object_get(kind, "properties"), k->name));
	}
	json_decref(made);
	json_decref(published);
}

static void parse_with_files(const char *text, struct export_config *ret_config)
{
	struct knob_fault f = {0};

	if (export_config_parse("c.json", text, strlen(text), true, ret_config, &f))
		fail_msg("%s", f.text);
}

/* What a reload leaves alone: equal keys in any order, and equal secrets. */
static void the_same_sink_is_known_again(void **state)
{
	static const char hec[] = "{\"sinks\": [{\"name\": \"a\", \"type\": \"hec\", "
				  "\"url\": \"http://h\", \"token\": {\"env\": \"SECRET\"}}]}";
	static const char other[] = "{\"sinks\": [{\"token\": {\"env\": \"SECRET\"}, "
				    "\"url\": \"http://h\", \"type\": \"hec\", \"name\": \"a\", "
				    "\"concurrency\": 1}]}";
	static const char changed[] = "{\"sinks\": [{\"name\": \"a\", \"type\": \"hec\", "
				      "\"url\": \"http://h\", \"concurrency\": 2, "
				      "\"token\": {\"env\": \"SECRET\"}}]}";
	struct export_config first, second;

	(void)state;
	setenv("SECRET", "one", 1);
	parse_with_files(hec, &first);
	parse_with_files(other, &second);
	assert_true(sink_config_equals(&first.sinks[0], &second.sinks[0]));
	export_config_free(&second);
	parse_with_files(changed, &second);
	assert_int_equal(second.sinks[0].concurrency, 2);
	assert_false(sink_config_equals(&first.sinks[0], &second.sinks[0]));
	export_config_free(&second);
	setenv("SECRET", "two", 1);
	parse_with_files(hec, &second);
	assert_false(sink_config_equals(&first.sinks[0], &second.sinks[0]));
	export_config_free(&second);
	export_config_free(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(defaults_and_filters_are_what_they_say),
		cmocka_unit_test(keys_are_found_where_they_stand),
		cmocka_unit_test(the_published_schema_is_that_of_the_tables),
		cmocka_unit_test(the_same_sink_is_known_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
