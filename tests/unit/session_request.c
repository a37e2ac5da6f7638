/* Requests to run a session: what is taken, what is refused, and what becomes of secrets. */
#include "../../supervisor/session_request.h"

#include "../../supervisor/grant.h"

#include "../../supervisor/control.h"
#include "../../supervisor/record/jansson_cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int parse(const char *text, struct session_request *r, struct fault *f)
{
	json_error_t e;
	cleanup(json) json_t *body = json_loads(text, 0, &e);

	if (!body)
		fail_msg("%s: %s", text, e.text);
	const struct grant all = {0};

	return session_request_parse(body, &all, -1, r, f);
}

static const char *env_of(const struct session_request *r, const char *name)
{
	size_t length = strlen(name);

	for (char **e = r->command.env; *e; e++)
		if (!strncmp(*e, name, length) && (*e)[length] == '=')
			return *e + length + 1;
	return NULL;
}

static void fills_in_what_was_not_asked_for(void **state)
{
	(void)state;
	struct session_request r;
	struct fault f;

	assert_int_equal(parse("{\"command\": [\"a\", \"\"]}", &r, &f), 0);
	assert_string_equal(r.command.argv[0], "a");
	assert_string_equal(r.command.argv[1], "");
	assert_null(r.command.argv[2]);
	assert_string_equal(r.command.cwd, "/home/agent");
	assert_string_equal(env_of(&r, "HOME"), "/home/agent");
	assert_string_equal(env_of(&r, "USER"), "agent");
	assert_non_null(env_of(&r, "PATH"));
	assert_non_null(env_of(&r, "LANG"));
	assert_non_null(env_of(&r, "TERM"));
	assert_false(r.command.tty);
	assert_null(r.name);
	session_request_free(&r);

	assert_int_equal(parse("{\"command\": [\"a\"], \"user\": \"root\", \"tty\": true, "
			       "\"columns\": 120}",
			       &r, &f),
			 0);
	assert_string_equal(r.command.cwd, "/root");
	assert_string_equal(env_of(&r, "USER"), "root");
	assert_int_equal(r.command.columns, 120);
	assert_int_equal(r.command.rows, 24);
	session_request_free(&r);
}

static void the_request_overrides_the_policy(void **state)
{
	(void)state;
	struct session_request r;
	struct fault f;

	assert_int_equal(parse("{\"command\": [\"a\"], \"net\": \"host\", \"workspace\": \"/w\","
			       "\"labels\": {\"b\": \"2\"}, \"env\": {\"X\": \"request\"},"
			       "\"policy\": {\"net\": \"none\", \"tenant\": \"t\", \"labels\": "
			       "{\"a\": \"1\", "
			       "\"b\": \"1\"}, \"env\": {\"X\": \"policy\", \"Y\": \"policy\", "
			       "\"HOME\": \"/\"}}}",
			       &r, &f),
			 0);
	assert_string_equal(r.policy.net, "host");
	assert_string_equal(r.policy.tenant, "t");
	assert_string_equal(r.command.cwd, "/workspace");
	assert_string_equal(env_of(&r, "X"), "request");
	assert_string_equal(env_of(&r, "Y"), "policy");
	assert_string_equal(env_of(&r, "HOME"), "/");
	assert_string_equal(json_string_value(json_object_get(r.policy.labels, "a")), "1");
	assert_string_equal(json_string_value(json_object_get(r.policy.labels, "b")), "2");
	session_request_free(&r);
}

static void carries_bytes_that_are_not_text(void **state)
{
	(void)state;
	struct session_request r;
	struct fault f;

	assert_int_equal(parse("{\"command\": [\"a\", {\"b64\": \"/w==\"}, \"\\n\"]}", &r, &f), 0);
	assert_string_equal(r.command.argv[1], "\xff");
	assert_string_equal(r.command.argv[2], "\n");
	session_request_free(&r);
}

static void refuses_with_the_name_of_what_is_wrong(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"{}", "command"},
		{"{\"command\": []}", "command"},
		{"{\"command\": \"a\"}", "command"},
		{"{\"command\": [1]}", "command"},
		{"{\"command\": [\"\"]}", "command"},
		{"{\"command\": [{\"b64\": \"YQBi\"}]}", "NUL"},
		{"{\"command\": [\"a\"], \"name\": \"a b\"}", "name"},
		{"{\"command\": [\"a\"], \"name\": \"last\"}", "name"},
		{"{\"command\": [\"a\"], \"name\": \"0123456789ab\"}", "name"},
		{"{\"command\": [\"a\"], \"name\": \"\"}", "name"},
		{"{\"command\": [\"a\"], \"name\": \"a\\nb\"}", "name"},
		{"{\"command\": [\"a\"], \"name\": {\"b64\": \"YQ==\"}}", "name"},
		{"{\"command\": [\"a\"], \"cwd\": \"a\"}", "cwd"},
		{"{\"command\": [\"a\"], \"cwd\": 1}", "cwd"},
		{"{\"command\": [\"a\"], \"tty\": 1}", "tty"},
		{"{\"command\": [\"a\"], \"columns\": 0}", "columns"},
		{"{\"command\": [\"a\"], \"rows\": 65536}", "rows"},
		{"{\"command\": [\"a\"], \"net\": \"all\"}", "net"},
		{"{\"command\": [\"a\"], \"net\": 1}", "net"},
		{"{\"command\": [\"a\"], \"on_loss\": \"x\"}", "freeze"},
		{"{\"command\": [\"a\"], \"user\": \"bob\"}", "agent"},
		{"{\"command\": [\"a\"], \"workspace\": \"w\"}", "workspace"},
		{"{\"command\": [\"a\"], \"tenant\": \"\\u001b\"}", "tenant"},
		{"{\"command\": [\"a\"], \"labels\": 1}", "labels"},
		{"{\"command\": [\"a\"], \"labels\": {\"a\": \"\\n\"}}", "labels.a"},
		{"{\"command\": [\"a\"], \"policy\": []}", "policy"},
		{"{\"command\": [\"a\"], \"policy\": {\"x\": 1}}", "unknown key"},
		{"{\"command\": [\"a\"], \"env\": []}", "env"},
		{"{\"command\": [\"a\"], \"env\": {\"A=B\": \"1\"}}", "env"},
		{"{\"command\": [\"a\"], \"env\": {\"A\": 1}}", "env"},
		{"{\"command\": [\"a\"], \"secrets\": {}}", "secrets"},
		{"{\"command\": [\"a\"], \"secrets\": [{\"name\": \"A\"}]}", "A"},
		{"{\"command\": [\"a\"], \"secrets\": [{\"name\": \"1\", \"value\": "
		 "\"12345678\"}]}",
		 "secrets"},
		{"{\"command\": [\"a\"], \"secrets\": [{\"name\": \"A\", \"value\": \"1234567\"}]}",
		 "too short"},
		{"{\"command\": [\"a\"], \"secrets\": [{\"name\": \"A\", \"value\": {\"b64\": "
		 "\"MTIzNDU2NzgA\"}}]}",
		 "NUL"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session_request r;
		struct fault f = {0};

		assert_int_equal(parse(cases[i][0], &r, &f), -EINVAL);
		if (!strstr(f.text, cases[i][1]))
			fail_msg("%s: \"%s\" lacks \"%s\"", cases[i][0], f.text, cases[i][1]);
		assert_null(strchr(f.text, '\n'));
	}
}

static void a_secret_reaches_the_environment_and_no_error(void **state)
{
	(void)state;
	struct session_request r;
	struct fault f = {0};

	assert_int_equal(parse("{\"command\": [\"a\"], \"env\": {\"TOKEN\": \"x\"}, \"secrets\": "
			       "[{\"name\": \"TOKEN\", \"value\": \"correct-horse\"}]}",
			       &r, &f),
			 0);
	cleanup(free) const char **env = session_secrets_env(&r.secrets, r.command.env);
	size_t found = 0;

	for (size_t i = 0; env[i]; i++) {
		found += !strcmp(env[i], "TOKEN=correct-horse");
		assert_string_not_equal(env[i], "TOKEN=x");
	}
	assert_int_equal(found, 1);
	assert_null(strstr(r.policy.recorded, "correct-horse"));
	session_request_free(&r);

	assert_int_equal(
		parse("{\"command\": [\"a\"], \"secrets\": [{\"name\": \"TOKEN\", \"value\": "
		      "\"horse\"}]}",
		      &r, &f),
		-EINVAL);
	assert_null(strstr(f.text, "horse"));
	assert_non_null(strstr(f.text, "TOKEN"));
}

/* The policy says how, the request what. */
static void a_secret_can_be_a_file(void **state)
{
	(void)state;
	struct session_request r;
	struct fault f = {0};

	assert_int_equal(
		parse("{\"command\": [\"a\"], \"secrets\": [{\"name\": \"K\", \"value\": "
		      "{\"b64\": \"MTIzNDU2NzgA\"}}], \"policy\": {\"secrets\": [{\"name\": \"K\", "
		      "\"source\": \"fd:7\", \"as\": \"file\", \"mode\": \"0440\", \"owner\": "
		      "\"root\", \"only\": \"/usr/bin/git\", \"ttl\": \"10m\", \"path\": "
		      "\"/run/secrets/a/b\"}]}}",
		      &r, &f),
		0);
	const struct session_secret *secret = &r.secrets.items[0];

	assert_int_equal(r.secrets.count, 1);
	assert_true(secret->delivery.as_file && secret->delivery.for_root);
	assert_int_equal(secret->delivery.mode, 0440);
	assert_int_equal(secret->delivery.ttl_ms, 600000);
	assert_string_equal(secret->delivery.only, "/usr/bin/git");
	assert_string_equal(secret->path, "/run/secrets/a/b");
	assert_string_equal(secret->entry, "K_FILE=/run/secrets/a/b");
	assert_int_equal(secret->size, 9);
	assert_memory_equal(secret->value, "12345678\0", 9);
	session_request_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_in_what_was_not_asked_for),
		cmocka_unit_test(the_request_overrides_the_policy),
		cmocka_unit_test(carries_bytes_that_are_not_text),
		cmocka_unit_test(refuses_with_the_name_of_what_is_wrong),
		cmocka_unit_test(a_secret_reaches_the_environment_and_no_error),
		cmocka_unit_test(a_secret_can_be_a_file),
	};

	return cmocka_run_group_tests_name("session_request", tests, NULL, NULL);
}
