/* Policies: what is accepted, what an error says, what is recorded, and that the schema agrees. */
#include "../../supervisor/policy.h"

#include "../../supervisor/record/jansson_cleanup.h"

#include <errno.h>
#include <openssl/sha.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *text, json_t **ret_values, struct fault *f)
{
	return settings_parse(policy_settings, "p.json", text, strlen(text), ret_values, f);
}

static void names_file_line_key_value_and_what_is_allowed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says[4];
	} cases[] = {
		{"{\n\n \"net\": \"all\"}", {"p.json:3: net: \"all\": ", "allowed: none, host"}},
		{"{\"a\": {\"net\": 1},\n\"nett\": 1}", {"p.json:1: a: {\"net\":1}: unknown key"}},
		{"{\n\"nett\": 1}",
		 {"p.json:2: nett: 1: unknown key; allowed are: ", " on_loss, "}},
		{"{\"user\":\n\"x\\u0007\"}", {"p.json:1: user: \"x\\u0007\": ", "agent, root"}},
		{"{\"output_cap\": -1}", {"output_cap: -1: ", "an integer from 0 to "}},
		{"{\"output_cap\": 1.5}", {"output_cap: 1.5: "}},
		{"{\"output_cap\": \"1\"}", {"output_cap: \"1\": "}},
		{"{\"watch_reads\": [\n\"a\",\n\"[,]\", \n\"\"]}",
		 {"p.json:4: watch_reads[2]: \"\": "}},
		{"{\"seccomp_deny\": [\"connect\",\n\"conect\"]}",
		 {"p.json:2: seccomp_deny[1]: \"conect\": ", "names of system calls"}},
		{"{\"seccomp_deny\": \"connect\"}", {"seccomp_deny: \"connect\": "}},
		{"{\"seccomp_deny\": [42]}", {"seccomp_deny[0]: 42: "}},
		{"{\"watch_reads\": {}}", {"watch_reads: {}: ", "an array of patterns"}},
		{"{\"env\": {\"A\": \"1\",\n \"1B\": \"2\"}}", {"p.json:2: env.1B: \"2\": "}},
		{"{\"env\": {\"A\": 1}}", {"env.A: 1: "}},
		{"{\"labels\": {\"a b\": \"1\"}}", {"labels.a b: \"1\": "}},
		{"{\"labels\": {\"a\": \"\\n\"}}", {"labels.a: \"\\n\": "}},
		{"{\"secrets\": [{\"name\": \"A\"}]}",
		 {"secrets[0]: {\"name\":\"A\"}: ", "env:VAR"}},
		{"{\"secrets\": [{\"name\":\"A\",\"source\":\"x\"}]}", {"secrets[0]: "}},
		{"{\"secrets\": [{\"name\":\"A\",\"source\":\"env:1\"}]}", {"secrets[0]: "}},
		{"{\"limits\": 1}", {"limits: 1: ", "an object of memory"}},
		{"{\"limits\": {\"memory\": \"1M\"}}", {"limits.memory: \"1M\": "}},
		{"{\"limits\": {\"memory\": \"64 M\"}}", {"limits.memory: "}},
		{"{\"limits\": {\"memory\": \"64MB\"}}", {"limits.memory: "}},
		{"{\"limits\": {\"memory\": -1}}", {"limits.memory: -1: "}},
		{"{\"limits\": {\"memory\": 1e300}}", {"limits.memory: "}},
		{"{\"limits\": {\"pids\": 0}}", {"limits.pids: 0: "}},
		{"{\"limits\": {\"pids\": \"1.5\"}}", {"limits.pids: \"1.5\": "}},
		{"{\"limits\": {\"cpu\": \"0.001\"}}", {"limits.cpu: "}},
		{"{\"limits\": {\"wall\": \"\"}}", {"limits.wall: \"\": "}},
		{"{\"limits\": {\"wall\": \"1d\"}}", {"limits.wall: \"1d\": "}},
		{"{\"limits\": {\"wall\": true}}", {"limits.wall: true: "}},
		{"{\"limits\": {\n\"mem\": 1}}", {"p.json:2: limits.mem: 1: "}},
		{"{\"workspace\": \"here\"}", {"workspace: \"here\": ", "an absolute path"}},
		{"{\"rootfs\": 5}", {"rootfs: 5: ", "an absolute path"}},
		{"{\"rootfs\": \"\"}", {"rootfs: \"\": "}},
		{"{\"rootfs\": \".a\"}", {"rootfs: \".a\": "}},
		{"{\"rootfs\": \"-a\"}", {"rootfs: \"-a\": "}},
		{"{\"rootfs\": \"a b\"}", {"rootfs: \"a b\": "}},
		{"{\"rootfs\": \"/a\\n\"}", {"rootfs: \"/a\\n\": "}},
		{"{\"tenant\": \"a/b\"}", {"tenant: \"a/b\": "}},
		{"{\"net\": \"none\",\n\"net\": \"host\"}", {"p.json:2: duplicate"}},
		{"{\n\"net\" \"none\"}", {"p.json:2: "}},
		{"[]", {"p.json:1: not a JSON object"}},
		{"", {"p.json:1: "}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault f = {0};
		json_t *values = NULL;

		assert_int_equal(parse(cases[i].text, &values, &f), -EINVAL);
		assert_null(values);
		for (size_t k = 0; k < 4 && cases[i].says[k]; k++)
			if (!strstr(f.text, cases[i].says[k]))
				fail_msg("case %zu: \"%s\" lacks \"%s\"", i, f.text,
					 cases[i].says[k]);
		for (const char *c = f.text; *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

static void a_string_is_no_key(void **state)
{
	(void)state;
	struct fault f;
	json_t *values = NULL;

	assert_int_equal(parse("{\"tenant\": \"net\",\n\"labels\": {\"net\": \"x\"},\n\"net\":"
			       "\n2}",
			       &values, &f),
			 -EINVAL);
	assert_non_null(strstr(f.text, "p.json:3: net: 2: "));
}

static void defaults_complete_what_was_given(void **state)
{
	(void)state;
	struct fault f;
	struct policy p;
	cleanup(json) json_t *given = json_pack("{s:s}", "user", "root");

	assert_int_equal(policy_make(given, NULL, &p, &f), 0);
	assert_string_equal(p.net, "none");
	assert_string_equal(p.user, "root");
	assert_string_equal(p.output, "full");
	assert_string_equal(p.on_loss, "freeze");
	assert_null(p.workspace);
	assert_int_equal(p.disk_wait_s, 60);
	assert_true(json_array_size(p.watch_reads) > 20);
	assert_int_equal(json_object_size(given), 1);
	policy_free(&p);
}

/* Every default is a value that the table itself accepts. */
static void defaults_are_allowed(void **state)
{
	(void)state;
	struct fault f;
	cleanup(json) json_t *values = json_object();

	assert_int_equal(settings_complete(policy_settings, values), 0);
	assert_int_equal(settings_check(policy_settings, values, &f), 0);
}

static void the_record_holds_no_value_of_the_environment(void **state)
{
	(void)state;
	struct fault f;
	struct policy p, q;
	cleanup(json) json_t *given =
		json_pack("{s:{s:s, s:s}}", "env", "ZED", "hidden-one", "ALPHA", "hidden-two");
	cleanup(json) json_t *env = json_pack("{s:s, s:s}", "MID", "hidden-three", "ZED", "x");
	cleanup(json) json_t *same =
		json_pack("{s:{s:s, s:s, s:s}}", "env", "MID", "1", "ZED", "2", "ALPHA", "3");

	assert_int_equal(policy_make(given, env, &p, &f), 0);
	assert_null(strstr(p.recorded, "hidden"));
	assert_non_null(strstr(p.recorded, "\"env\":[\"ALPHA\",\"MID\",\"ZED\"]"));
	assert_int_equal(strlen(p.sha256), 64);

	assert_int_equal(policy_make(same, NULL, &q, &f), 0);
	assert_string_equal(p.recorded, q.recorded);
	assert_string_equal(p.sha256, q.sha256);
	policy_free(&p);
	policy_free(&q);
}

/* What an auditor checks: the hash beside the policy is that of the text in the record. */
static void the_digest_is_that_of_the_recorded_text(void **state)
{
	(void)state;
	struct fault f;
	struct policy p;
	unsigned char digest[32];
	char hex[65];
	cleanup(json) json_t *given = json_object();

	assert_int_equal(policy_make(given, NULL, &p, &f), 0);
	SHA256((const unsigned char *)p.recorded, strlen(p.recorded), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(hex, p.sha256);
	policy_free(&p);
}

static void the_published_schema_is_that_of_the_table(void **state)
{
	(void)state;
	json_error_t e;
	cleanup(json) json_t *made = policy_schema();
	cleanup(json) json_t *published = json_load_file("docs/policy.schema.json", 0, &e);

	assert_non_null(made);
	if (!published)
		fail_msg("docs/policy.schema.json: %s", e.text);
	if (!json_equal(made, published))
		fail_msg("docs/policy.schema.json is not what `vitrine policy --schema` prints");
	for (const struct setting *s = policy_settings; s->name; s++)
		assert_non_null(json_object_get(json_object_get(made, "properties"), s->name));
}

static void an_unreadable_file_is_named(void **state)
{
	(void)state;
	struct fault f;
	json_t *values = NULL;

	assert_int_equal(settings_read(policy_settings, "/no/such\n", &values, &f), -ENOENT);
	assert_string_equal(f.text, "/no/such\\x0a: No such file or directory");
	assert_int_equal(settings_read(policy_settings, "/", &values, &f), -EINVAL);
	assert_string_equal(f.text, "/: not a file");
}

/* A value means the same however it is written, so it is recorded, and hashed, as one. */
static void limits_have_one_form(void **state)
{
	(void)state;
	static const char *const forms[] = {
		"{\"limits\": {\"memory\": \"64M\", \"cpu\": \"1.5\", \"wall\": \"8s\", \"pids\": "
		"\"7\"}}",
		"{\"limits\": {\"memory\": 67108864, \"cpu\": 1.5, \"wall\": 8, \"pids\": 7}}",
		"{\"limits\": {\"memory\": \"0.0625G\", \"cpu\": \"1.500\", \"wall\": \"8000ms\", "
		"\"pids\": 7}}",
	};
	cleanup(free) char *first = NULL;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct policy p;
		struct fault f;
		json_t *given = NULL;

		assert_int_equal(parse(forms[i], &given, &f), 0);
		assert_int_equal(policy_make(given, NULL, &p, &f), 0);
		assert_int_equal(p.limits.memory_bytes, 64 << 20);
		assert_int_equal(p.limits.cpu_milli, 1500);
		assert_int_equal(p.limits.wall_ms, 8000);
		assert_int_equal(p.limits.pids, 7);
		assert_int_equal(p.limits.disk_bytes, 0);
		if (!first)
			first = strdup(p.recorded);
		assert_string_equal(p.recorded, first);
		assert_non_null(strstr(first, "\"limits\":{\"cpu\":\"1.5\",\"memory\":67108864,"
					      "\"pids\":7,\"wall\":8}"));
		policy_free(&p);
		json_decref(given);
	}
}

static void options_set_limits(void **state)
{
	(void)state;
	static const char *const refused[] = {"",	 "memory", "memory=", "mem=1",
					      "pids=1,", "=1",	   "pids=x",  "pids=1,,cpu=1"};
	cleanup(json) json_t *limits = json_object();
	struct fault f;

	assert_int_equal(limit_settings_option("memory=64M,pids=3", limits, &f), 0);
	assert_int_equal(limit_settings_option("pids=4,wall=1.5s", limits, &f), 0);
	cleanup(free) char *text = json_dumps(limits, JSON_SORT_KEYS | JSON_COMPACT);
	assert_string_equal(text, "{\"memory\":\"64M\",\"pids\":\"4\",\"wall\":\"1.5s\"}");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(limit_settings_option(refused[i], limits, &f), -EINVAL);
		assert_non_null(strstr(f.text, "--limit"));
	}
	assert_int_equal(limit_settings_option("output=1k", limits, &f), -EINVAL);
	assert_non_null(strstr(f.text, "output=1k: bad value; allowed: bytes, or with a unit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_file_line_key_value_and_what_is_allowed),
		cmocka_unit_test(limits_have_one_form),
		cmocka_unit_test(options_set_limits),
		cmocka_unit_test(a_string_is_no_key),
		cmocka_unit_test(defaults_complete_what_was_given),
		cmocka_unit_test(defaults_are_allowed),
		cmocka_unit_test(the_record_holds_no_value_of_the_environment),
		cmocka_unit_test(the_digest_is_that_of_the_recorded_text),
		cmocka_unit_test(the_published_schema_is_that_of_the_table),
		cmocka_unit_test(an_unreadable_file_is_named),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
