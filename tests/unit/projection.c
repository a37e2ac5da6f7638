/*
 * Projections: one line a kind as in tests/golden/export, and what the schemas demand of each line,
 * for every kind with all of its fields, with hostile ones, and with none. GOLDEN=write writes the
 * files anew.
 */
#include "exporters/project/projection.h"
#include "exporters/project/cef.h"
#include "exporters/project/ecs.h"
#include "exporters/project/hide.h"
#include "exporters/project/ocsf_rows.h"
#include "exporters/project/otlp.h"
#include "exporters/project/trait.h"
#include "sample.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define EVENTS "tests/golden/events.jsonl"
#define SESSION "0123456789ab"
#define BARE SAMPLE_VARIANTS /* the variant without any field */

static const struct session_facts facts = {"host.example", "boot", "0.1.0", "build", "blue"};

static void project(const struct projection *projection, struct json_buffer *line,
		    const struct event *e)
{
	struct json_buffer scratch = {0};
	struct projected p = {SESSION, &facts, e, &scratch};

	assert_int_equal(projection->write(line, &p), 0);
	json_buffer_free(&scratch);
}

static void make_event(struct event *e, enum event_kind kind, unsigned variant)
{
	if (variant == BARE)
		event_init(e, kind, UINT64_C(1767323045123456789), 1);
	else
		sample_event(e, kind, variant);
	e->seq = variant == 1 ? UINT64_MAX : kind;
}

/* The one line of @projection for @e, as an object; freed by the caller. */
static json_t *project_json(const struct projection *projection, const struct event *e)
{
	struct json_buffer line = {0};
	json_error_t error;
	json_t *object;

	project(projection, &line, e);
	assert_ptr_equal(memchr(line.text, '\n', line.length), line.text + line.length - 1);
	object =
		json_loadb(line.text, line.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!object)
		fail_msg("%s: %s at %d: %.*s", projection->name, error.text, error.position,
			 (int)line.length, line.text);
	json_buffer_free(&line);
	return object;
}

static const json_t *at(const json_t *object, const char *path)
{
	char copy[128], *rest = copy;

	snprintf(copy, sizeof(copy), "%s", path);
	while (object && rest)
		object = json_object_get(object, strsep(&rest, "."));
	return object;
}

static json_int_t number_at(const json_t *object, const char *path)
{
	const json_t *value = at(object, path);

	if (!json_is_integer(value))
		fail_msg("%s is no number", path);
	return json_integer_value(value);
}

static const char *text_at(const json_t *object, const char *path)
{
	const json_t *value = at(object, path);

	if (!json_is_string(value))
		fail_msg("%s is no string", path);
	return json_string_value(value);
}

/* ---- golden lines ---- */

static void golden_of(const struct projection *projection)
{
	struct json_arena *arena = json_arena_new();
	struct json_buffer lines = {0}, golden = {0};
	FILE *events = fopen(EVENTS, "r"), *file;
	char path[64], *line = NULL, part[4096];
	size_t room = 0, n;
	ssize_t length;

	snprintf(path, sizeof(path), "tests/golden/export/%s.txt", projection->name);
	assert_non_null(events);
	while ((length = getline(&line, &room, events)) > 0) {
		const char *session, *error = "";
		struct event e;

		if (json_read_event(arena, line, (size_t)length, &e, &session, &error))
			fail_msg("%s: %s", error, line);
		project(projection, &lines, &e);
	}
	if (getenv("GOLDEN") && !strcmp(getenv("GOLDEN"), "write")) {
		file = fopen(path, "w");
		assert_int_equal(fwrite(lines.text, 1, lines.length, file), lines.length);
		fclose(file);
	}
	file = fopen(path, "r");
	assert_non_null(file);
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		json_write_raw(&golden, part, n);
	assert_int_equal(golden.length, lines.length);
	assert_memory_equal(golden.text, lines.text, lines.length);
	fclose(file);
	fclose(events);
	free(line);
	json_buffer_free(&lines);
	json_buffer_free(&golden);
	json_arena_free(arena);
}

static void golden_lines_stay(void **state)
{
	(void)state;
	for (size_t i = 0; projections[i]; i++)
		golden_of(projections[i]);
}

static void every_kind_has_a_row_in_each(void **state)
{
	(void)state;
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		if (!ocsf_has_row(kind) || !ecs_has_row(kind) || !otlp_has_row(kind) ||
		    !cef_has_row(kind) || !trait_table[kind].title)
			fail_msg("a projection has no row for %s", kind_table[kind].name);
	}
	for (size_t i = 0; projections[i]; i++)
		assert_string_equal(projections[i]->name, projection_names[i]);
}

/* ---- OCSF ---- */

static const struct {
	json_int_t class;
	const char *required[4];
} ocsf_required[] = {
	{0, {NULL}},
	{1001, {"actor", "device", "file.name", "file.type_id"}},
	{1007, {"actor", "device", "process.uid"}},
	{1008, {"log_name"}},
	{2006, {"finding_info.uid"}},
	{4001, {"connection_info.direction_id"}},
	{4003, {"query.hostname"}},
	{6002, {"app.name", "app.vendor_name"}},
};

static void check_ocsf(const json_t *o)
{
	json_int_t class = number_at(o, "class_uid"), activity = number_at(o, "activity_id");
	json_int_t severity = number_at(o, "severity_id");
	const json_t *file = at(o, "file"), *query = at(o, "query"), *process = at(o, "process");
	size_t row = 0;

	assert_int_equal(number_at(o, "type_uid"), class * 100 + activity);
	assert_int_equal(number_at(o, "category_uid"), class / 1000);
	assert_in_range(severity, 1, 6);
	assert_true(number_at(o, "time") > 1700000000000 && number_at(o, "time") < 4000000000000);
	assert_string_equal(text_at(o, "metadata.version"), "1.8.0");
	assert_string_equal(text_at(o, "metadata.product.vendor_name"), "vitrine");
	text_at(o, "metadata.uid");
	assert_int_equal(activity == 99, at(o, "activity_name") != NULL);
	if (at(o, "status_id"))
		assert_in_range(number_at(o, "status_id"), 1, 2);
	number_at(o, "device.type_id");
	while (ocsf_required[row].class != class)
		assert_true(++row < sizeof(ocsf_required) / sizeof(ocsf_required[0]));
	for (size_t i = 0; i < 4 && ocsf_required[row].required[i]; i++)
		if (!at(o, ocsf_required[row].required[i]))
			fail_msg("class %lld lacks %s", class, ocsf_required[row].required[i]);
	if (file)
		assert_in_range(number_at(file, "type_id"), 0, 8);
	if (query)
		text_at(query, "hostname");
	if (process && at(process, "file"))
		assert_true(at(process, "file.name") && at(process, "file.type_id"));
	if (at(o, "actor.process"))
		assert_true(at(o, "actor.process.uid") || at(o, "actor.process.pid"));
	if (at(o, "rcode_id"))
		assert_in_range(number_at(o, "rcode_id"), 0, 99);
}

/* ---- ECS ---- */

static const struct {
	const char *category, *types;
} ecs_types[] = {
	{"file", " access change creation deletion info "},
	{"process", " access change end info start "},
	{"network", " access allowed connection denied end info protocol start "},
	{"session", " start end info "},
	{"intrusion_detection", " allowed denied info "},
	{"configuration", " access change creation deletion info "},
	{"package", " access change deletion info installation start "},
	{"host", " access change end info start "},
};

static bool ecs_allows(const char *category, const char *type)
{
	char word[64];

	snprintf(word, sizeof(word), " %s ", type);
	for (size_t i = 0; i < sizeof(ecs_types) / sizeof(ecs_types[0]); i++)
		if (!strcmp(ecs_types[i].category, category))
			return strstr(ecs_types[i].types, word) != NULL;
	fail_msg("%s is no category", category);
	return false;
}

static void check_ecs(const json_t *o)
{
	const json_t *categories = at(o, "event.category"), *types = at(o, "event.type");
	const char *kind = text_at(o, "event.kind");
	json_t *category, *type;
	size_t i, k;

	text_at(o, "@timestamp");
	text_at(o, "event.id");
	text_at(o, "event.action");
	text_at(o, "ecs.version");
	assert_true(!strcmp(kind, "event") || !strcmp(kind, "pipeline_error"));
	assert_true(json_array_size(categories) > 0 && json_array_size(types) > 0);
	json_array_foreach (types, i, type) {
		bool allowed = false;

		json_array_foreach (categories, k, category)
			allowed |= ecs_allows(json_string_value(category), json_string_value(type));
		assert_true(allowed);
	}
}

/* ---- OTLP ---- */

static void check_otlp(const json_t *o)
{
	const json_t *record = json_array_get(
		at(json_array_get(at(json_array_get(at(o, "resourceLogs"), 0), "scopeLogs"), 0),
		   "logRecords"),
		0);
	const char *time = text_at(record, "timeUnixNano"), *body;
	json_t *inner, *attribute;
	size_t i;

	assert_int_equal(strspn(time, "0123456789"), strlen(time));
	assert_in_range(number_at(record, "severityNumber"), 1, 24);
	text_at(record, "eventName");
	body = text_at(record, "body.stringValue");
	inner = json_loads(body, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	assert_non_null(at(inner, "kind"));
	json_decref(inner);
	json_array_foreach (at(record, "attributes"), i, attribute) {
		text_at(attribute, "key");
		assert_int_equal(json_object_size(at(attribute, "value")), 1);
	}
}

static void every_line_obeys_its_schema(void **state)
{
	static const struct {
		const struct projection *projection;
		void (*check)(const json_t *o);
	} schemas[] = {
		{&projection_ocsf, check_ocsf},
		{&projection_ecs, check_ecs},
		{&projection_otlp, check_otlp},
	};

	(void)state;
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		for (unsigned variant = 0; variant <= BARE; variant++) {
			struct event e;

			make_event(&e, kind, variant);
			for (size_t i = 0; i < 3; i++) {
				json_t *o = project_json(schemas[i].projection, &e);

				schemas[i].check(o);
				json_decref(o);
			}
		}
	}
}

static const struct projection *const with_rest[] = {&projection_ocsf, &projection_ecs};

/* What was cut or is not UTF-8 is in the rest, with its bytes; what no row carries too. */
static void nothing_is_lost(void **state)
{
	(void)state;
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		for (size_t i = 0; i < 2; i++) {
			const char *rest = i ? "vitrine" : "unmapped";
			struct event e;
			json_t *o;

			make_event(&e, kind, 2);
			o = project_json(with_rest[i], &e);
			assert_string_equal(text_at(at(o, rest), "kind"), kind_table[kind].name);
			for (size_t v = 0; v < e.count; v++) {
				const char *name = field_table[e.values[v].field].name;

				if (e.values[v].is_cut && !at(at(o, rest), name))
					fail_msg("%s of %s is lost", name, kind_table[kind].name);
			}
			json_decref(o);
		}
	}
}

/* ---- CEF ---- */

static void check_cef(const struct event *e)
{
	struct json_buffer line = {0};
	size_t bars = 0;

	project(&projection_cef, &line, e);
	assert_memory_equal(line.text, "CEF:0|vitrine|vitrine|", 22);
	for (size_t i = 0; i + 1 < line.length; i++) {
		assert_true((unsigned char)line.text[i] >= 0x20 && line.text[i] != 0x7f);
		if (line.text[i] == '|' && line.text[i - 1] != '\\' && bars < 7)
			bars++;
	}
	assert_int_equal(bars, 7);
	assert_int_equal(line.text[line.length - 1], '\n');
	json_buffer_free(&line);
}

static void a_cef_line_cannot_be_forged(void **state)
{
	struct event e;

	(void)state;
	for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		for (unsigned variant = 0; variant <= BARE; variant++) {
			make_event(&e, kind, variant);
			check_cef(&e);
		}
	}
	event_init(&e, EVENT_file_open, UINT64_C(1767323045123456789), 1);
	event_put_text(&e, FIELD_path, "/a\nCEF:0|x|y|1|2|3|4|src=1.2.3.4 act=allow\\ b");
	struct json_buffer line = {0};
	project(&projection_cef, &line, &e);
	json_write_raw(&line, "", 1);
	assert_non_null(
		strstr(line.text,
		       "filePath=/a\\\\u000aCEF:0|x|y|1|2|3|4|src\\=1.2.3.4 act\\=allow\\\\ b "));
	json_buffer_free(&line);
}

/* ---- values that decide ---- */

static void results_decide_what_a_connection_was(void **state)
{
	static const struct {
		int64_t result;
		json_int_t activity;
	} cases[] = {{0, 1}, {-111, 5}, {-110, 4}, {-115, 1}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct event e;
		json_t *o;

		event_init(&e, EVENT_net_connect, UINT64_C(1767323045123456789), 1);
		event_put_i64(&e, FIELD_result, cases[i].result);
		o = project_json(&projection_ocsf, &e);
		assert_int_equal(number_at(o, "activity_id"), cases[i].activity);
		json_decref(o);
	}
}

static void a_denial_is_one_everywhere(void **state)
{
	struct event e;
	json_t *o;

	(void)state;
	event_init(&e, EVENT_egress_verdict, UINT64_C(1767323045123456789), 1);
	event_put_text(&e, FIELD_verdict, "deny");
	o = project_json(&projection_ocsf, &e);
	assert_int_equal(number_at(o, "activity_id"), 5);
	assert_int_equal(number_at(o, "action_id"), 2);
	assert_int_equal(number_at(o, "disposition_id"), 2);
	assert_int_equal(number_at(o, "status_id"), 2);
	json_decref(o);
	o = project_json(&projection_ecs, &e);
	assert_string_equal(text_at(o, "event.outcome"), "failure");
	assert_string_equal(json_string_value(json_array_get(at(o, "event.type"), 1)), "denied");
	json_decref(o);
}

static void a_command_line_can_be_taken_apart_again(void **state)
{
	struct event e;
	json_t *o;

	(void)state;
	event_init(&e, EVENT_process_exec, UINT64_C(1767323045123456789), 1);
	event_put_text(&e, FIELD_proc, "p");
	event_put_bytes(&e, FIELD_argv, "sh\0-c\0it's $HOME\0\0a/b=c\0", 24);
	o = project_json(&projection_ocsf, &e);
	assert_string_equal(text_at(o, "process.cmd_line"), "sh -c 'it'\\''s $HOME' '' a/b=c");
	json_decref(o);
}

static void data_is_hidden_behind_length_and_digest(void **state)
{
	struct hide_key key = {.bytes = "key", .size = 3};
	struct event e;
	json_t *o;

	(void)state;
	event_init(&e, EVENT_output, UINT64_C(1767323045123456789), 1);
	event_put_text(&e, FIELD_data, "hello");
	hide_data(&e, &key);
	o = project_json(&projection_jsonl, &e);
	assert_string_equal(text_at(o, "data"), "");
	assert_int_equal(number_at(o, "data_length"), 5);
	/* printf hello | openssl dgst -sha256 -hmac key */
	assert_string_equal(text_at(o, "data_digest"),
			    "9307b3b915efb5171ff14d8cb55fbcc798c6c0ef1456d66ded1a6aa723a58b7b");
	json_decref(o);

	event_init(&e, EVENT_input, UINT64_C(1767323045123456789), 1);
	event_put_text(&e, FIELD_data, "hello");
	key.size = 0;
	hide_data(&e, &key);
	o = project_json(&projection_jsonl, &e);
	assert_int_equal(number_at(o, "data_length"), 5);
	assert_null(at(o, "data_digest"));
	json_decref(o);

	event_init(&e, EVENT_file_open, UINT64_C(1767323045123456789), 1);
	event_put_text(&e, FIELD_path, "/x");
	hide_data(&e, &key);
	assert_int_equal(event_bytes(&e, FIELD_path).size, 2);
}

/* What a record hints at is in both schemas, in the members that they have for it. */
static void tags_are_where_the_schemas_want_them(void **unused)
{
	struct event e;
	json_t *object;

	(void)unused;
	event_init(&e, EVENT_process_exec, 1, 1);
	event_put_text(&e, FIELD_proc, "1-1");
	event_put_u64(&e, FIELD_host_pid, 1);
	event_put_bytes(&e, FIELD_argv, "curl\0-T\0x", 10);
	e.seq = 1;
	object = project_json(&projection_ocsf, &e);
	assert_string_equal(
		json_string_value(at(json_array_get(at(object, "attacks"), 1), "technique.uid")),
		"T1567");
	assert_int_equal(number_at(object, "action_id"), 3);
	assert_string_equal(json_string_value(json_array_get(at(object, "metadata.profiles"), 2)),
			    "security_control");
	json_decref(object);
	object = project_json(&projection_ecs, &e);
	assert_string_equal(text_at(object, "threat.framework"), "MITRE ATT&CK");
	assert_int_equal(json_array_size(at(object, "threat.technique.id")), 2);
	assert_null(at(object, "threat.technique.subtechnique"));
	json_decref(object);
	event_put_bytes(&e, FIELD_argv, "sh", 3);
	object = project_json(&projection_ecs, &e);
	assert_string_equal(json_string_value(json_array_get(
				    at(object, "threat.technique.subtechnique.name"), 0)),
			    "Unix Shell");
	json_decref(object);
	event_put_bytes(&e, FIELD_argv, "cc", 3);
	object = project_json(&projection_ocsf, &e);
	assert_null(at(object, "attacks"));
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags_are_where_the_schemas_want_them),
		cmocka_unit_test(every_kind_has_a_row_in_each),
		cmocka_unit_test(golden_lines_stay),
		cmocka_unit_test(every_line_obeys_its_schema),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(a_cef_line_cannot_be_forged),
		cmocka_unit_test(results_decide_what_a_connection_was),
		cmocka_unit_test(a_denial_is_one_everywhere),
		cmocka_unit_test(a_command_line_can_be_taken_apart_again),
		cmocka_unit_test(data_is_hidden_behind_length_and_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
