/*
 * The rules of a policy: added, tuned, allowed; and what is wrong with one, said by its place.
 */
#include "supervisor/redact/redactor.h"
#include "supervisor/redact/rules.h"
/* its emit has the name of a parameter in the one above */
#include "redact_output.h"

static struct shapes *table;

static int set_up(void **state)
{
	(void)state;
	return shapes_new(SHAPES_READ, &table);
}

static int tear_down(void **state)
{
	(void)state;
	shapes_free(table);
	return 0;
}

/* A redactor under the rules that @text is the JSON of. */
static struct redactor *under(const char *text, struct shapes **ret_shapes)
{
	json_t *changes = json_loads(text, 0, NULL);
	char why[RULES_WHY];
	struct redactor *r;

	assert_non_null(changes);
	if (shapes_change(table, changes, ret_shapes, why) < 0)
		fail_msg("%s", why);
	json_decref(changes);
	assert_int_equal(redactor_new(key, *ret_shapes, NULL, 0, &r), 0);
	return r;
}

/* What is found of @text under @rules: the name of the first rule, or NULL. */
static bool finds(const char *rules, const char *text, const char *rule)
{
	struct shapes *shapes = NULL;
	struct redactor *r = under(rules, &shapes);
	bool found;

	assert_int_equal(redactor_find(r, bytes_of(text)), 0);
	found = r->spans.count > 0;
	if (found)
		assert_string_equal(redactor_rule(r, r->spans.items[0].rule), rule);
	redactor_free(r);
	shapes_free(shapes);
	return found;
}

#define ACME "{\"name\":\"acme-token\",\"keywords\":[\"ACME_\"],\"pattern\":\"acme_([a-z0-9]{16})\""

static void a_rule_is_added(void **state)
{
	(void)state;
	assert_false(finds("[]", "use acme_k3j9x0q2m7z1p5w8 now", ""));
	assert_true(finds("[" ACME "}]", "use acme_k3j9x0q2m7z1p5w8 now", "acme-token"));
	assert_false(finds("[" ACME "}]", "use acme_short now", ""));
	assert_true(
		finds("[" ACME "}]", "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", "github-token"));
	assert_true(finds("[{\"name\":\"x\",\"keywords\":[\"-end\"],\"pattern\":\"[0-9]{6}-end\","
			  "\"back\":6}]",
			  "n 123456-end", "x"));
}

static void what_a_rule_asks_for_decides(void **state)
{
	(void)state;
	assert_false(finds("[" ACME ",\"entropy\":3}]", "acme_aaaaaaaabbbbbbbb", ""));
	assert_true(finds("[" ACME ",\"entropy\":3}]", "acme_k3j9x0q2m7z1p5w8", "acme-token"));
	assert_false(finds("[" ACME ",\"allow\":[\"k3j9\"]}]", "acme_k3j9x0q2m7z1p5w8", ""));
	assert_false(finds("[" ACME ",\"check\":\"mixed\"}]", "acme_k3j9x0q2m7z1p5w8", ""));
	assert_false(finds("[" ACME ",\"check\":\"luhn\"}]", "acme_4111111111111112", ""));
}

/* What is not given stays as it is in the table. */
static void a_detector_is_tuned(void **state)
{
	static const char url[] = "postgres://app:Xk3Lm9QpZ2vB@db/app";

	(void)state;
	assert_true(finds("[]", url, "url-password"));
	assert_false(finds("[{\"name\":\"url-password\",\"allow\":[\"Xk3Lm9\"]}]", url, ""));
	assert_false(finds("[{\"name\":\"url-password\",\"entropy\":7}]", url, ""));
	assert_true(finds("[{\"name\":\"url-password\",\"entropy\":2.5}]", url, "url-password"));
	assert_true(finds("[{\"name\":\"gitlab-token\",\"keywords\":[\"acpat-\"],\"pattern\":"
			  "\"acpat-[A-Za-z0-9]{20}\"}]",
			  "acpat-kY3mZ8qLp0xR7vTn2WcJ", "gitlab-token"));
}

/* What one rule allows, another still finds. */
static void what_is_allowed_is_allowed_for_one_rule(void **state)
{
	(void)state;
	assert_true(finds("[{\"name\":\"url-password\",\"allow\":[\"k3j9\"]}," ACME "}]",
			  "acme_k3j9x0q2m7z1p5w8", "acme-token"));
}

static void a_bad_rule_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *rules, *says;
	} cases[] = {
		{"[7]", "redact_rules[0]: 7: bad value"},
		{"[{}]", "redact_rules[0].name: nothing: missing"},
		{"[" ACME "},{\"name\":\"a b\"}]", "redact_rules[1].name: \"a b\": bad value"},
		{"[" ACME "}," ACME "}]", "\"acme-token\": is redact_rules[0] as well"},
		{"[{\"name\":\"new\",\"pattern\":\"x\"}]",
		 "redact_rules[0].keywords: nothing: missing"},
		{"[{\"name\":\"new\",\"keywords\":[\"abc\"]}]",
		 "redact_rules[0].pattern: nothing: missing"},
		{"[{\"name\":\"argument\",\"entropy\":1}]", "can only be switched off"},
		{"[" ACME ",\"colour\":1}]", "redact_rules[0].colour: unknown key"},
		{"[" ACME ",\"entropy\":9}]", "redact_rules[0].entropy: 9: bad value"},
		{"[" ACME ",\"check\":\"nose\"}]", "redact_rules[0].check: \"nose\""},
		{"[" ACME ",\"back\":81}]", "redact_rules[0].back: 81"},
		{"[" ACME ",\"allow\":[\"abc\"]}]", "redact_rules[0].allow: \"abc\""},
		{"[" ACME ",\"allow\":\"abcd\"}]", "redact_rules[0].allow: \"abcd\""},
		{"[{\"name\":\"x\",\"keywords\":[\"ab\"],\"pattern\":\"x\"}]",
		 "redact_rules[0].keywords: \"ab\""},
		{"[{\"name\":\"x\",\"keywords\":[],\"pattern\":\"x\"}]",
		 "redact_rules[0].keywords: []"},
		{"[{\"name\":\"x\",\"keywords\":[\"abc\"],\"pattern\":\"x(\"}]",
		 "redact_rules[0].pattern: x(: missing closing parenthesis, at character 3"},
		{"[{\"name\":\"x\",\"keywords\":[\"abc\"],\"pattern\":\"a*\"}]",
		 "matches at least one character"},
		{"[{\"name\":\"x\",\"keywords\":[\"abc\"],\"pattern\":\"\\\\Cabc\"}]", "pattern"},
		{"[{\"name\":\"x\",\"keywords\":[\"abc\"],\"pattern\":\"(?<=a{100})abc\"}]",
		 "looking behind"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *changes = json_loads(cases[i].rules, 0, NULL);
		struct rules *rules = NULL;
		char why[RULES_WHY];

		assert_non_null(changes);
		assert_int_equal(rules_new(changes, &rules, why), -EINVAL);
		if (!strstr(why, cases[i].says))
			fail_msg("%s: said: %s", cases[i].says, why);
		assert_non_null(strstr(why, "allowed"));
		json_decref(changes);
	}
}

/* A pattern that could take for ever is given up; what it was to judge goes, and says so. */
static void a_slow_pattern_is_given_up(void **state)
{
	enum { SIZE = 65536 };
	struct shapes *shapes = NULL;
	struct redactor *r = under(
		"[{\"name\":\"slow\",\"keywords\":[\"aaa\"],\"pattern\":\"(a+)+b\"}]", &shapes);
	char *text = malloc(SIZE);

	(void)state;
	memset(text, 'a', SIZE);
	text[SIZE / 2] = '\n';
	assert_int_equal(redactor_find(r, (struct bytes){text, SIZE}), 0);
	assert_true(r->spans.count > 0);
	assert_string_equal(r->spans.items[0].form, "budget");
	assert_int_equal(r->spans.items[r->spans.count - 1].end, SIZE);
	free(text);
	redactor_free(r);
	shapes_free(shapes);
}

/* A marker of a policy's rule is a marker, whatever its name. */
static void a_marker_is_not_cut_again(void **state)
{
	(void)state;
	assert_false(finds(
		"[{\"name\":\"m\",\"keywords\":[\"redacted\"],\"pattern\":\".REDACTED[^]]*.\","
		"\"back\":1}]",
		"x [REDACTED:m:0123abcd] y", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_added),
		cmocka_unit_test(what_a_rule_asks_for_decides),
		cmocka_unit_test(a_detector_is_tuned),
		cmocka_unit_test(what_is_allowed_is_allowed_for_one_rule),
		cmocka_unit_test(a_bad_rule_is_refused_with_its_place),
		cmocka_unit_test(a_slow_pattern_is_given_up),
		cmocka_unit_test(a_marker_is_not_cut_again),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
