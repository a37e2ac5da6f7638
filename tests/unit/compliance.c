/*
 * Compliance: what each measure says of facts that are good, bad and not there; and that no clause
 * of a table is without an answer.
 */
#include "replay/compliance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define DAY_NS UINT64_C(86400000000000)

/* A host whose records leave nothing to be wished for. */
static struct compliance_facts good(void)
{
	struct compliance_facts f = {
		.now_ns = 1000 * DAY_NS,
		.sessions = 3,
		.ended = 3,
		.oldest_ns = 500 * DAY_NS,
		.records = 90,
		.with_user = 3,
		.with_policy = 3,
		.with_rules = 3,
		.with_sensors = 3,
		.strict = 3,
		.verdicts = {[VERIFY_INTACT] = 3},
		.shortest_ns = UINT64_MAX,
		.accesses = 1,
		.key_is_private = true,
	};

	for (size_t i = 1; i < EVENT_KIND_COUNT; i++)
		f.kinds[i] = 3;
	return f;
}

static enum finding judge(const char *standard, const char *id, const struct compliance_facts *f)
{
	for (const struct clause *c = standard_find(standard)->clauses; c->id; c++) {
		if (!strcmp(c->id, id))
			return clause_judge(c, f);
	}
	fail_msg("%s has no %s", standard, id);
	return FINDING_OUTSIDE;
}

static void every_clause_has_an_answer(void **state)
{
	const struct compliance_facts f = good(), none = {.shortest_ns = UINT64_MAX};

	(void)state;
	for (const struct standard *s = standards; s->name; s++) {
		size_t count = 0;

		for (const struct clause *c = s->clauses; c->id; c++, count++) {
			assert_true(c->title[0] && (c->measures[0] || c->cannot));
			for (const struct clause *other = c + 1; other->id; other++)
				assert_string_not_equal(c->id, other->id);
			assert_int_equal(clause_judge(c, &f),
					 c->measures[0] ? FINDING_DEMONSTRATED : FINDING_OUTSIDE);
			assert_int_not_equal(clause_judge(c, &none), FINDING_DEMONSTRATED);
		}
		assert_true(count >= 9);
		assert_ptr_equal(standard_find(s->name), s);
	}
	assert_null(standard_find("nist"));
}

static void what_contradicts_is_said(void **state)
{
	struct compliance_facts f;

	(void)state;
#define CONTRADICTS(standard, id, change)                                                          \
	do {                                                                                       \
		f = good();                                                                        \
		change;                                                                            \
		assert_int_equal(judge(standard, id, &f), FINDING_CONTRADICTED);                   \
	} while (0)
	CONTRADICTS("nist-au", "AU-9", f.verdicts[VERIFY_TAMPERED] = 1);
	CONTRADICTS("nist-au", "AU-9", f.missing = 1);
	CONTRADICTS("nist-au", "AU-9", (f.verdicts[VERIFY_INTACT] = 0, f.missing = 1));
	CONTRADICTS("nist-au", "AU-9", f.ledger.verdict = VERIFY_TAMPERED);
	CONTRADICTS("nist-au", "AU-9", f.others_read = true);
	CONTRADICTS("nist-au", "AU-9", f.key_is_private = false);
	CONTRADICTS("nist-au", "AU-5", (f.gaps = 1, f.lost = 7));
	CONTRADICTS("nist-au", "AU-4", f.journal_limits = 1);
	CONTRADICTS("nist-au", "AU-10", f.with_user = 2);
	CONTRADICTS("nist-au", "AU-12", f.with_sensors = 2);
	CONTRADICTS("nist-au", "AU-12", f.unreadable = 1);
	CONTRADICTS("nist-au", "AU-3(3)", f.with_rules = 2);
#undef CONTRADICTS
}

/* A year and a half a year, and a standard that says no number. */
static void records_are_kept_long_enough_or_not(void **state)
{
	struct compliance_facts f = good();

	(void)state;
	f.removals = 1;
	f.shortest_ns = 200 * DAY_NS;
	assert_int_equal(judge("pci-dss", "10.5.1", &f), FINDING_CONTRADICTED);
	assert_int_equal(judge("eu-ai-act", "19(1)", &f), FINDING_DEMONSTRATED);
	f.shortest_ns = 183 * DAY_NS;
	assert_int_equal(judge("eu-ai-act", "26(6)", &f), FINDING_CONTRADICTED);
	assert_int_equal(judge("nist-au", "AU-11", &f), FINDING_DEMONSTRATED);
	f = good();
	f.oldest_ns = 990 * DAY_NS;
	assert_int_equal(judge("pci-dss", "10.5.1", &f), FINDING_NO_DATA);
}

static void what_is_not_there_is_no_proof(void **state)
{
	struct compliance_facts f = good();

	(void)state;
	f.accesses = f.bundles = 0;
	assert_int_equal(judge("pci-dss", "10.2.1.3", &f), FINDING_NO_DATA);
	f = good();
	f.verdicts[VERIFY_UNKNOWN] = 1;
	assert_int_equal(judge("pci-dss", "10.3.4", &f), FINDING_NO_DATA);
	assert_int_equal(judge("pci-dss", "10.3.3", &f), FINDING_OUTSIDE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_clause_has_an_answer),
		cmocka_unit_test(what_contradicts_is_said),
		cmocka_unit_test(records_are_kept_long_enough_or_not),
		cmocka_unit_test(what_is_not_there_is_no_proof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
