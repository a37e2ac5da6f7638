/* What may be bound as /workspace, and what may not. */
#include "supervisor/workspace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include "scratch.h"

#include <cmocka.h>

static void nothing_that_is_kept_is_in_reach(void **state)
{
	struct scratch s = scratch_new();
	static const char *const made[] = {"kept",	"kept/below", "keys",
					   "keys/work", "work",	      "work/deep"};
	static const struct {
		const char *path;
		bool refused;
		const char *says;
	} rows[] = {
		{"", true, "holds"},
		{"kept", true, "holds"},
		{"kept/below", true, "lies in"},
		{"keys", true, "holds"},
		{"keys/work", false, ""},
		{"work", false, ""},
		{"work/deep", false, ""},
		{"work/link", true, "lies in"},
		{"work/../kept", true, "holds"},
		{"work/nothing", false, ""},
	};
	char kept[128], keys[128], path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		assert_int_equal(mkdirat(s.fd, made[i], 0755), 0);
	assert_int_equal(symlinkat("../kept/below", s.fd, "work/link"), 0);
	snprintf(kept, sizeof(kept), "%s/kept", s.path);
	snprintf(keys, sizeof(keys), "%s/keys", s.path);
	const struct kept_place places[] = {{kept, true}, {keys, false}, {"/nonexistent", true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault f = {0};

		snprintf(path, sizeof(path), "%s/%s", s.path, rows[i].path);
		int r = workspace_check(path, places, 3, &f);
		if (r != (rows[i].refused ? -EINVAL : 0) ||
		    (rows[i].refused && !strstr(f.text, rows[i].says)))
			fail_msg("%s: %d, \"%s\"", rows[i].path, r, f.text);
	}
	struct fault f = {0};
	assert_int_equal(workspace_check("/", places, 3, &f), -EINVAL);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_is_kept_is_in_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
