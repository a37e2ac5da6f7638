/* Verdicts: the first reason stays, and each has its exit status. */
#include "../../supervisor/verdict.h"

#include "../../supervisor/record/jansson_cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

static void the_first_reason_is_the_true_one(void **state)
{
	(void)state;
	struct verdict v = {.cpu_ns = 9};
	struct verdict first = verdict_of_wait_status(3 << 8);
	struct verdict second = {.reason = VERDICT_KILLED, .by = "client"};

	verdict_decide(&v, &first);
	verdict_decide(&v, &second);
	assert_int_equal(v.reason, VERDICT_EXIT);
	assert_int_equal(v.exit_code, 3);
	assert_null(v.by);
	assert_int_equal(v.cpu_ns, 9);
}

static void each_reason_has_its_exit_status(void **state)
{
	(void)state;
	const struct {
		struct verdict v;
		int status;
	} cases[] = {
		{verdict_of_wait_status(0), 0},
		{verdict_of_wait_status(255 << 8), 255},
		{verdict_of_wait_status(SIGTERM), 143},
		{verdict_of_wait_status(SIGSEGV | 0x80), 139},
		{{.reason = VERDICT_KILLED}, 137},
		{{.reason = VERDICT_LIMIT, .limit = "journal"}, 137},
		{{.reason = VERDICT_SUPERVISOR_LOST}, 125},
		{{.reason = VERDICT_SETUP_FAILED, .step = "mount", .error = ENOENT}, 125},
		{{.reason = VERDICT_SETUP_FAILED, .step = "exec", .error = ENOENT}, 127},
		{{.reason = VERDICT_SETUP_FAILED, .step = "exec", .error = EACCES}, 126},
		{{.reason = VERDICT_SETUP_FAILED, .step = "exec", .error = ENOEXEC}, 126},
		{{.reason = VERDICT_NONE}, 125},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum verdict_reason reason = cases[i].v.reason;

		assert_int_equal(verdict_status(&cases[i].v), cases[i].status);
		assert_int_equal(verdict_reason_by_name(verdict_reason_name(reason)), reason);
	}
	assert_int_equal(verdict_reason_by_name("no such reason"), VERDICT_NONE);
}

/* Unknown is absent; an exit code of 0 is known. */
static void fields_hold_what_is_known(void **state)
{
	(void)state;
	const struct {
		struct verdict v;
		const char *json;
	} cases[] = {
		{{.reason = VERDICT_EXIT}, "{\"reason\":\"exit\",\"exit_code\":0}"},
		{{.reason = VERDICT_SIGNAL, .signal = 11, .core_dumped = true, .cpu_ns = 5},
		 "{\"reason\":\"signal\",\"signal\":11,\"core_dumped\":true,\"usage\":{\"cpu_ns\":"
		 "5}}"},
		{{.reason = VERDICT_SETUP_FAILED, .step = "exec", .error = ENOENT, .text = "no"},
		 "{\"reason\":\"setup_failed\",\"step\":\"exec\",\"errno\":2,\"error\":\"no\"}"},
		{{.reason = VERDICT_LIMIT, .limit = "journal"},
		 "{\"reason\":\"limit\",\"limit\":\"journal\"}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(json) json_t *fields = verdict_fields(&cases[i].v);
		cleanup(free) char *text = json_dumps(fields, JSON_COMPACT);

		assert_string_equal(text, cases[i].json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_reason_is_the_true_one),
		cmocka_unit_test(each_reason_has_its_exit_status),
		cmocka_unit_test(fields_hold_what_is_known),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
