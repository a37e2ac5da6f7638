/*
 * What is remembered of documents that held nothing: no other document passes for one of them.
 */
#include "supervisor/redact/clean.h"
#include "supervisor/redact/redactor.h"
#include "supervisor/redact/shapes.h"
/* its emit has the name of a parameter in the one above */
#include "redact_output.h"

#define HARMLESS "{\"env\":[\"PATH\"],\"note\":\"AKIA------------EXAM\"}"
#define SECRET_IN "{\"env\":[\"PATH\"],\"note\":\"AKIAIOSFODNN7ABCDEFG\"}"
_Static_assert(sizeof(HARMLESS) == sizeof(SECRET_IN), "told apart by their bytes alone");

static struct bytes text(const char *s)
{
	return (struct bytes){s, strlen(s)};
}

static void knows_the_same_text_of_the_same_field(void **state)
{
	struct clean *c = clean_new();
	static char large[64 * 1024];

	(void)state;
	assert_non_null(c);
	assert_false(clean_has(c, FIELD_policy, text("")));
	clean_keep(c, FIELD_policy, text("{\"a\":1}"));
	assert_true(clean_has(c, FIELD_policy, text("{\"a\":1}")));
	assert_false(clean_has(c, FIELD_policy, text("{\"a\":2}")));
	assert_false(clean_has(c, FIELD_policy, text("{\"a\":1")));
	assert_false(clean_has(c, FIELD_labels, text("{\"a\":1}")));

	clean_keep(c, FIELD_policy, text("{\"longer\":12345}"));
	assert_false(clean_has(c, FIELD_policy, text("{\"a\":1}")));
	assert_true(clean_has(c, FIELD_policy, text("{\"longer\":12345}")));
	clean_keep(c, FIELD_policy, text("{}"));
	assert_true(clean_has(c, FIELD_policy, text("{}")));

	clean_keep(c, FIELD_policy, (struct bytes){large, sizeof(large)});
	assert_false(clean_has(c, FIELD_policy, (struct bytes){large, sizeof(large)}));
	clean_free(c);
}

static bool is_cut(struct redactor *r, const char *policy)
{
	struct output out = {0};
	struct event e;

	event_init(&e, EVENT_session_start, 1, 1);
	event_put_text(&e, FIELD_policy, policy);
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	bool is = out.passed != &e;
	output_free(&out);
	return is;
}

static void what_holds_a_secret_is_never_remembered(void **state)
{
	struct clean *c = clean_new();
	struct shapes *shapes;
	struct redactor *first, *second;

	(void)state;
	assert_int_equal(shapes_new(SHAPES_READ, &shapes), 0);
	assert_int_equal(redactor_new(key, shapes, NULL, 0, &first), 0);
	assert_int_equal(redactor_new(key, shapes, NULL, 0, &second), 0);
	redactor_share(first, c);
	redactor_share(second, c);

	assert_true(is_cut(first, SECRET_IN));
	assert_true(is_cut(first, SECRET_IN));
	assert_false(is_cut(first, HARMLESS));
	assert_true(clean_has(c, FIELD_policy, text(HARMLESS)));
	assert_false(is_cut(second, HARMLESS));
	assert_true(is_cut(second, SECRET_IN));
	assert_false(is_cut(first, HARMLESS));

	redactor_free(first);
	redactor_free(second);
	shapes_free(shapes);
	clean_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_same_text_of_the_same_field),
		cmocka_unit_test(what_holds_a_secret_is_never_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
