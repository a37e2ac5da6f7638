/*
 * What has failed in others' redaction, as public reports tell it: each as a test of its kind.
 */
#include "supervisor/redact/redactor.h"
#include "supervisor/redact/shapes.h"

#include "redact_output.h"

#include <string.h>

static struct redactor *redactor_of(const char *value, const struct shapes *shapes)
{
	const struct redact_secret secret = {"TOKEN", value, strlen(value)};
	struct redactor *r;

	assert_int_equal(redactor_new(key, shapes, &secret, 1, &r), 0);
	return r;
}

/* What is left of @text when it was written to standard output. */
static void write_text(struct redactor *r, const char *text, struct output *out)
{
	struct event e;

	out->next_offset = 0;
	event_init(&e, EVENT_output, 1, 1);
	event_put_u64(&e, FIELD_exec, 1);
	event_put_text(&e, FIELD_stream, "stdout");
	event_put_u64(&e, FIELD_offset, 0);
	event_put_text(&e, FIELD_data, text);
	assert_int_equal(redact_event(r, &e, emit, out), 0);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, out), 0);
}

static void expect_gone(const char *secret, const char *text, const char *what)
{
	struct redactor *r = redactor_of(secret, NULL);
	struct output out = {0};

	write_text(r, text, &out);
	if (holds(&out.data, what) || !holds(&out.data, "[REDACTED:TOKEN:"))
		fail_msg("%s: %.*s", text, (int)out.data.length, out.data.text);
	redactor_free(r);
	output_free(&out);
}

/* actions/runner 291: echo adds a newline, and the end of the base64 is another one. */
static void a_newline_behind_it_changes_base64(void **state)
{
	(void)state;
	expect_gone("my-secret-pw", "bXktc2VjcmV0LXB3\n", "bXktc2VjcmV0");
	expect_gone("my-secret-pw", "bXktc2VjcmV0LXB3Cg==\n", "bXktc2VjcmV0");
	expect_gone("my-secret-p", "bXktc2VjcmV0LXA=\n", "bXktc2VjcmV0");
	expect_gone("my-secret-p", "bXktc2VjcmV0LXAK\n", "bXktc2VjcmV0");
}

/* actions/runner 326, jenkins 284: a secret of one character, or a line "{", hides the world. */
static void small_parts_hide_nothing(void **state)
{
	static const char secret[] =
		"{\n  \"user\": \"me\",\n  \"password\": \"correct-horse\"\n}\n";
	const struct redact_secret one = {"A", "x", 1};
	struct redactor *r = NULL;
	struct output out = {0};

	(void)state;
	assert_int_equal(redactor_new(key, NULL, &one, 1, &r), -EINVAL);
	r = redactor_of(secret, NULL);
	write_text(r, "if (x) {\n  \"user\": \"me\"\n}\n", &out);
	assert_data(&out, "if (x) {\n  \"user\": \"me\"\n}\n");
	redactor_free(r);
	output_free(&out);
}

/* actions/runner 1488, 2232: a JSON secret that is printed in another layout. */
static void json_in_another_layout(void **state)
{
	static const char secret[] = "{\"client\": {\"id\": \"abc\", \"key\": \"correct-horse\"}}";

	(void)state;
	expect_gone(secret,
		    "{\n\t\"client\":{\n\t\t\"id\":\"abc\",\n\t\t\"key\":\"correct-horse\"\n\t}\n}",
		    "correct-horse");
	expect_gone(secret, "client.key = correct-horse\n", "correct-horse");
	expect_gone(secret, "{'client': {'id': 'abc', 'key': 'correct-horse'}}", "correct-horse");
}

/* actions/runner 943, 2265: an error of a tool that prints it quoted and escaped. */
static void an_error_quotes_it(void **state)
{
	static const char secret[] = "a\"b\\c'd$e f/g";

	(void)state;
	expect_gone(secret, "bad argument: \"a\\\"b\\\\c'd$e f/g\"\n", "d$e");
	expect_gone(secret, "bad argument: 'a\"b\\\\c\\'d$e f/g'\n", "d$e");
	expect_gone(secret, "{\"error\":\"a\\\"b\\\\c'd$e f\\/g\"}\n", "d$e");
	expect_gone(secret, "{\"error\":\"{\\\"value\\\":\\\"a\\\\\\\"b\\\\\\\\c'd$e f/g\\\"}\"}\n",
		    "d$e");
	expect_gone(secret, "GET /?q=a%22b%5Cc%27d%24e+f%2Fg\n", "d%24e");
}

/* JENKINS-42950: sh -x prints 'foo'\''bar', bash $'...'. */
static void a_shell_traces_it(void **state)
{
	(void)state;
	expect_gone("foo'bar'baz", "+ echo 'foo'\\''bar'\\''baz'\n", "bar");
	expect_gone("foo'bar'baz", "+ echo 'foo'\"'\"'bar'\"'\"'baz'\n", "bar");
	expect_gone("foo'bar baz!", "+ echo foo\\'bar\\ baz\\!\n", "bar");
	expect_gone("foo\nbar\tbaz", "+ echo $'foo\\nbar\\tbaz'\n", "bar");
}

/* Elastic's session view: what is typed with backspaces is not found by its letters. */
static void it_is_typed_with_corrections(void **state)
{
	(void)state;
	expect_gone("sudo-password", "$ sdo\b\budo-pass\033[1mword\033[0m\r\n", "word");
	expect_gone("sudo-password", "$ sudo-paX\b \bssword\r\n", "word");
	expect_gone("sudo-password", "$ xxdo-password\r$ su\r\n", "word");
}

static void expect_gone_from(enum event_kind kind, enum event_field field, const char *text,
			     size_t size)
{
	struct redactor *r = redactor_of("correct-horse", NULL);
	struct output out = {0};
	struct event e;

	event_init(&e, kind, 1, 1);
	event_put_bytes(&e, field, text, size);
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_true(holds(&out.lines, "[REDACTED:TOKEN:"));
	assert_false(holds(&out.lines, "horse"));
	redactor_free(r);
	output_free(&out);
}

/* In a file's name, a label of a name, the path of a URL, a directory, SNI, two arguments. */
static void it_is_where_nobody_looks(void **state)
{
#define IN(kind, field, text) expect_gone_from(EVENT_##kind, FIELD_##field, text, sizeof(text) - 1)
	(void)state;
	IN(file_create, path, "/tmp/correct-horse.txt");
	IN(file_rename, new_path, "/tmp/x/correct-horse");
	IN(file_symlink, target, "../correct-horse");
	IN(dns_query, name, "correct-horse.example.org");
	IN(dns_query, name, "correct.-hor.se.example.org");
	IN(tls_hello, server_name, "correct-horse.example.org");
	IN(process_exec, cwd, "/home/agent/correct-horse");
	IN(process_exec, argv, "curl\0https://h/v1/correct-horse/x\0");
	IN(process_exec, argv, "login\0--token\0correct\0-horse\0");
	IN(exec_start, env, "PATH\0correct-horse\0");
	IN(net_unix, unix_abstract, "correct-horse");
	IN(file_attr, xattr_name, "user.correct-horse");
	IN(attempt, arguments, "open correct-horse");
#undef IN
}

/* gitleaks 1188: what stands for a secret must not be one by another rule, nor hold the secret. */
static void a_marker_is_left_alone(void **state)
{
	static const char *const names[] = {"password", "API_KEY", "token", "DATABASE_URL"};
	const struct redact_secret itself = {"REDACTED", "[REDACTED:", 10};
	struct redactor *r = NULL;
	struct shapes *shapes;

	(void)state;
	assert_int_equal(shapes_new(SHAPES_READ, &shapes), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct redact_secret list[] = {{names[i], "hunter2hunter2", 14},
						     {"inner-word-8", "inner-word", 10}};
		struct output out = {0};

		assert_int_equal(redactor_new(key, shapes, list, 2, &r), 0);
		write_text(r, "password=hunter2hunter2 inner-word\n", &out);
		assert_false(holds(&out.data, "inner-word"));
		assert_int_equal(redactor_find(r, (struct bytes){out.data.text, out.data.length}),
				 0);
		assert_int_equal(r->spans.count, 0);
		redactor_free(r);
		output_free(&out);
	}
	shapes_free(shapes);
	assert_int_equal(redactor_new(key, NULL, &itself, 1, &r), -EKEYREJECTED);
}

/* It ends within a character: what is left of that is carried as bytes, and the line is JSON. */
static void half_a_character_is_left(void **state)
{
	struct redactor *r = redactor_of("caf\303\251-secret\303", NULL);
	struct output out = {0};

	(void)state;
	write_text(r, "caf\303\251-secret\303\251 and more\n", &out);
	assert_true(holds(&out.lines, "\"data\":\"[REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "\xef\xbf\xbd and more"));
	assert_true(holds(&out.lines, "\"data_b64\":"));
	redactor_free(r);
	output_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_newline_behind_it_changes_base64),
		cmocka_unit_test(small_parts_hide_nothing),
		cmocka_unit_test(json_in_another_layout),
		cmocka_unit_test(an_error_quotes_it),
		cmocka_unit_test(a_shell_traces_it),
		cmocka_unit_test(it_is_typed_with_corrections),
		cmocka_unit_test(it_is_where_nobody_looks),
		cmocka_unit_test(a_marker_is_left_alone),
		cmocka_unit_test(half_a_character_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
