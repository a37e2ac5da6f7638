/*
 * Lines of OCSF and ECS against rules that were derived from the schemas themselves
 * (tests/golden/schemas): every kind, with all of its fields, with hostile ones, and with none.
 */
#include "exporters/project/projection.h"
#include "sample.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define BARE SAMPLE_VARIANTS /* the variant without any field */

/* What is wrong with a line: the first of it. "" where nothing is. */
struct verdict_of_line {
	char text[256];
};

static void fault(struct verdict_of_line *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void fault(struct verdict_of_line *v, const char *format, ...)
{
	va_list arguments;

	if (v->text[0])
		return;
	va_start(arguments, format);
	vsnprintf(v->text, sizeof(v->text), format, arguments);
	va_end(arguments);
}

static json_t *load(const char *path)
{
	json_error_t error;
	json_t *json = json_load_file(path, 0, &error);

	if (!json)
		fail_msg("%s: %s", path, error.text);
	return json;
}

static bool holds(const json_t *list, const json_t *item)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (json_equal(one, item))
			return true;
	return false;
}

static bool holds_text(const json_t *list, const char *text)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!strcmp(json_string_value(one), text))
			return true;
	return false;
}

/* ---- OCSF ---- */

struct ocsf {
	json_t *rules;
	const json_t *profiles; /* of the line */
	struct verdict_of_line *verdict;
};

static void check_shape(const struct ocsf *o, const json_t *value, const json_t *shape,
			const char *path);

static const char *base_type(const struct ocsf *o, const char *type)
{
	const json_t *types = json_object_get(o->rules, "types");
	const char *next;

	while ((next = json_string_value(json_object_get(types, type))) && strcmp(next, type))
		type = next;
	return type;
}

static bool is_of_type(const json_t *value, const char *base)
{
	if (!strcmp(base, "integer_t") || !strcmp(base, "long_t") || !strcmp(base, "timestamp_t"))
		return json_is_integer(value);
	if (!strcmp(base, "float_t"))
		return json_is_number(value);
	if (!strcmp(base, "boolean_t"))
		return json_is_boolean(value);
	return json_is_string(value);
}

static void check_value(const struct ocsf *o, const json_t *value, const json_t *rule,
			const char *path)
{
	const char *type = json_string_value(json_object_get(rule, "type"));
	const json_t *object = json_object_get(json_object_get(o->rules, "objects"), type);
	const json_t *allowed = json_object_get(rule, "enum");

	if (object) {
		if (json_is_object(value))
			check_shape(o, value, object, path);
		else
			fault(o->verdict, "%s: no object", path);
		return;
	}
	if (!strcmp(type, "object") || !strcmp(base_type(o, type), "json_t"))
		return;
	if (!is_of_type(value, base_type(o, type)))
		fault(o->verdict, "%s: not of type %s", path, type);
	if (allowed && !holds(allowed, value))
		fault(o->verdict, "%s: a value that the enumeration does not have", path);
}

static void check_attribute(const struct ocsf *o, const json_t *owner, const json_t *rule,
			    const json_t *value, const char *path)
{
	const char *profile = json_string_value(json_object_get(rule, "profile"));
	const char *sibling = json_string_value(json_object_get(rule, "sibling"));
	const json_t *item;
	size_t i;

	if (profile && !holds_text(o->profiles, profile))
		fault(o->verdict, "%s: only with the profile %s", path, profile);
	if (json_is_array(value) != (json_object_get(rule, "array") != NULL))
		fault(o->verdict, "%s: an array, or none", path);
	if (json_object_get(rule, "enum") && json_integer_value(value) == 99 && sibling &&
	    !json_object_get(owner, sibling))
		fault(o->verdict, "%s: other, and no %s", path, sibling);
	if (json_is_array(value)) {
		json_array_foreach (value, i, item)
			check_value(o, item, rule, path);
	} else {
		check_value(o, value, rule, path);
	}
}

static size_t count_of(const json_t *names, const json_t *value)
{
	const json_t *name;
	size_t i, count = 0;

	json_array_foreach (names, i, name)
		count += json_object_get(value, json_string_value(name)) != NULL;
	return count;
}

static void check_shape(const struct ocsf *o, const json_t *value, const json_t *shape,
			const char *path)
{
	json_t *rules = json_object_get(shape, "attributes"), *rule;
	const json_t *least = json_object_get(shape, "at_least_one");
	const json_t *just = json_object_get(shape, "just_one");
	const char *key;
	json_t *member;
	char below[256];

	json_object_foreach ((json_t *)value, key, member) {
		snprintf(below, sizeof(below), "%s.%s", path, key);
		rule = json_object_get(rules, key);
		if (rule)
			check_attribute(o, value, rule, member, below);
		else
			fault(o->verdict, "%s: no such attribute", below);
	}
	json_object_foreach (rules, key, rule) {
		const char *profile = json_string_value(json_object_get(rule, "profile"));

		if (json_object_get(rule, "required") && !json_object_get(value, key) &&
		    (!profile || holds_text(o->profiles, profile)))
			fault(o->verdict, "%s: lacks %s", path, key);
	}
	if (least && !count_of(least, value))
		fault(o->verdict, "%s: none of those of which one is required", path);
	if (just && count_of(just, value) != 1)
		fault(o->verdict, "%s: not just one of those", path);
}

static struct verdict_of_line check_ocsf(json_t *rules, const json_t *line)
{
	struct verdict_of_line verdict = {""};
	struct ocsf o = {rules, json_object_get(json_object_get(line, "metadata"), "profiles"),
			 &verdict};
	json_int_t class = json_integer_value(json_object_get(line, "class_uid"));
	json_int_t activity = json_integer_value(json_object_get(line, "activity_id"));
	char name[24];
	const json_t *shape;

	snprintf(name, sizeof(name), "%lld", (long long)class);
	shape = json_object_get(json_object_get(rules, "classes"), name);
	if (!shape) {
		fault(&verdict, "class %s: unknown", name);
		return verdict;
	}
	check_shape(&o, line, shape, name);
	if (json_integer_value(json_object_get(line, "type_uid")) != class * 100 + activity)
		fault(&verdict, "type_uid is not class_uid * 100 + activity_id");
	if (json_integer_value(json_object_get(line, "category_uid")) != class / 1000)
		fault(&verdict, "category_uid is not that of the class");
	return verdict;
}

/* ---- ECS ---- */

static bool is_of_ecs_type(const json_t *value, const char *type)
{
	static const char *const numbers[] = {"long", "integer", "short", "float", "scaled_float"};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(numbers[i], type))
			return json_is_number(value);
	if (!strcmp(type, "boolean"))
		return json_is_boolean(value);
	if (!strcmp(type, "object") || !strcmp(type, "flattened") || !strcmp(type, "nested"))
		return json_is_object(value);
	return json_is_string(value);
}

static void check_field(struct verdict_of_line *verdict, const json_t *rule, const json_t *value,
			const char *path)
{
	const json_t *allowed = json_object_get(rule, "allowed"), *item = value;
	size_t i = 0;

	if (json_is_array(value) != (json_object_get(rule, "array") != NULL))
		fault(verdict, "%s: an array, or none", path);
	do {
		if (json_is_array(value) && !(item = json_array_get(value, i)))
			break;
		if (!is_of_ecs_type(item, json_string_value(json_object_get(rule, "type"))))
			fault(verdict, "%s: of another type", path);
		if (allowed && !holds(allowed, item))
			fault(verdict, "%s: a value that is not allowed", path);
	} while (++i < json_array_size(value));
}

static void check_fields(struct verdict_of_line *verdict, const json_t *fields,
			 const json_t *object, const char *path)
{
	const char *key;
	json_t *member;
	char below[256];

	json_object_foreach ((json_t *)object, key, member) {
		const json_t *rule;

		/* What is ours alone, and labels, which are everybody's own. */
		if (!*path && (!strcmp(key, "vitrine") || !strcmp(key, "labels")))
			continue;
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		rule = json_object_get(fields, below);
		if (rule)
			check_field(verdict, rule, member, below);
		else if (json_is_object(member))
			check_fields(verdict, fields, member, below);
		else
			fault(verdict, "%s: no such field", below);
	}
}

static void check_types(struct verdict_of_line *verdict, const json_t *rules, const json_t *event)
{
	const json_t *expected = json_object_get(rules, "types_of_category");
	const json_t *categories = json_object_get(event, "category");
	const json_t *type, *category;
	size_t i, k;

	json_array_foreach (json_object_get(event, "type"), i, type) {
		bool is_expected = false;

		json_array_foreach (categories, k, category)
			is_expected |=
				holds(json_object_get(expected, json_string_value(category)), type);
		if (!is_expected)
			fault(verdict, "event.type: %s is of none of the categories",
			      json_string_value(type));
	}
	if (!json_array_size(categories) || !json_array_size(json_object_get(event, "type")))
		fault(verdict, "no category, or no type");
}

static struct verdict_of_line check_ecs(json_t *rules, const json_t *line)
{
	struct verdict_of_line verdict = {""};

	if (!json_object_get(line, "@timestamp") || !json_object_get(line, "ecs"))
		fault(&verdict, "no @timestamp, or no ecs.version");
	check_fields(&verdict, json_object_get(rules, "fields"), line, "");
	check_types(&verdict, rules, json_object_get(line, "event"));
	return verdict;
}

/* ---- all kinds ---- */

typedef struct verdict_of_line check_line(json_t *rules, const json_t *line);

static json_t *project(const struct projection *projection, enum event_kind kind, unsigned variant)
{
	static const struct session_facts facts = {"host.example", "boot", "0.1.0", "build",
						   "blue"};
	struct json_buffer line = {0}, scratch = {0};
	struct event e;
	struct projected p = {"0123456789ab", &facts, &e, &scratch};
	json_t *json;

	if (variant == BARE)
		event_init(&e, kind, UINT64_C(1767323045123456789), 1);
	else
		sample_event(&e, kind, variant);
	e.seq = kind;
	assert_int_equal(projection->write(&line, &p), 0);
	json = json_loadb(line.text, line.length, JSON_ALLOW_NUL, NULL);
	assert_non_null(json);
	json_buffer_free(&line);
	json_buffer_free(&scratch);
	return json;
}

static void check_all(const struct projection *projection, check_line *check, const char *file)
{
	json_t *rules = load(file);

	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		for (unsigned variant = 0; variant <= BARE; variant++) {
			json_t *line = project(projection, kind, variant);
			struct verdict_of_line verdict = check(rules, line);

			if (verdict.text[0])
				fail_msg("%s, %s, variant %u: %s", projection->name,
					 kind_table[kind].name, variant, verdict.text);
			json_decref(line);
		}
	}
	json_decref(rules);
}

static void every_line_is_ocsf(void **state)
{
	(void)state;
	check_all(&projection_ocsf, check_ocsf, "tests/golden/schemas/ocsf.json");
}

static void every_line_is_ecs(void **state)
{
	(void)state;
	check_all(&projection_ecs, check_ecs, "tests/golden/schemas/ecs.json");
}

/* ---- the rules themselves find what is wrong ---- */

static void refuses(check_line *check, json_t *rules, const json_t *good, const char *patch,
		    const char *without, const char *want)
{
	json_t *bad = json_deep_copy(good), *change = json_loads(patch, 0, NULL);
	struct verdict_of_line verdict;

	assert_non_null(change);
	json_object_update_recursive(bad, change);
	if (without)
		json_object_del(bad, without);
	verdict = check(rules, bad);
	if (!strstr(verdict.text, want))
		fail_msg("%s: want \"%s\", have \"%s\"", patch, want, verdict.text);
	json_decref(bad);
	json_decref(change);
}

static void what_is_not_ocsf_is_found(void **state)
{
	json_t *rules = load("tests/golden/schemas/ocsf.json");
	json_t *line = project(&projection_ocsf, EVENT_file_open, 0);

	(void)state;
	refuses(check_ocsf, rules, line, "{\"colour\": 1}", NULL, "1001.colour: no such attribute");
	refuses(check_ocsf, rules, line, "{}", "actor", "1001: lacks actor");
	refuses(check_ocsf, rules, line, "{\"severity_id\": 7}", NULL, "severity_id: a value");
	refuses(check_ocsf, rules, line, "{\"activity_id\": 15}", NULL, "activity_id: a value");
	refuses(check_ocsf, rules, line, "{\"type_uid\": 100199}", NULL, "type_uid");
	refuses(check_ocsf, rules, line, "{\"time\": \"now\"}", NULL, "time: not of type");
	refuses(check_ocsf, rules, line, "{\"file\": {\"type_id\": 99}}", NULL,
		"other, and no type");
	refuses(check_ocsf, rules, line, "{\"file\": {\"size\": \"1\"}}", NULL,
		"file.size: not of");
	refuses(check_ocsf, rules, line, "{\"action_id\": 1}", NULL, "only with the profile");
	refuses(check_ocsf, rules, line, "{\"metadata\": {\"profiles\": 1}}", NULL, "an array");
	refuses(check_ocsf, rules, line, "{\"class_uid\": 1}", NULL, "class 1: unknown");
	json_decref(line);
	json_decref(rules);
}

static void what_is_not_ecs_is_found(void **state)
{
	json_t *rules = load("tests/golden/schemas/ecs.json");
	json_t *line = project(&projection_ecs, EVENT_file_open, 0);

	(void)state;
	refuses(check_ecs, rules, line, "{\"file\": {\"colour\": 1}}", NULL,
		"file.colour: no such");
	refuses(check_ecs, rules, line, "{\"event\": {\"type\": [\"denied\"]}}", NULL,
		"event.type");
	refuses(check_ecs, rules, line, "{\"event\": {\"kind\": \"thing\"}}", NULL, "event.kind");
	refuses(check_ecs, rules, line, "{\"event\": {\"category\": \"file\"}}", NULL, "an array");
	refuses(check_ecs, rules, line, "{\"process\": {\"pid\": \"1\"}}", NULL, "process.pid: of");
	refuses(check_ecs, rules, line, "{}", "@timestamp", "no @timestamp");
	json_decref(line);
	json_decref(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_is_ocsf),
		cmocka_unit_test(every_line_is_ecs),
		cmocka_unit_test(what_is_not_ocsf_is_found),
		cmocka_unit_test(what_is_not_ecs_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
