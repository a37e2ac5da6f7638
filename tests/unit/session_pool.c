/* Sessions that take a sandbox out of the pool. */
#include "session_bench.h"

/* What was made ahead is dressed; what cannot be is made anew, under the same id, and so is its
 * record. */
static void one_that_was_made_ahead_is_taken(void **state)
{
	struct bench *b = *state;
	struct fault f;

	fake.has_pool = true;
	for (int fails = 0; fails < 2; fails++) {
		fake.failing = fails ? "dress" : NULL;
		fake.calls[0] = 0;
		assert_int_equal(start(b, &f), 0);
		assert_string_equal(b->session->manifest.id, "0123456789ab");
		assert_int_equal(fake.sandboxes, 1);
		hear(b, RECORDER_OPENED, 0);
		hear(b, RECORDER_EXECED, 0);
		happen(b, SANDBOX_STARTED, 0, 0);
		happen(b, SANDBOX_EXITED, 0, 0);
		hear(b, RECORDER_EXEC_CLOSED, 0);
		hear(b, RECORDER_CLOSED, 0);
		assert_string_equal(end_reason(), "exit");
		assert_ptr_equal(
			strstr(fake.calls,
			       fails ? "lease dress forget create watch prepare begin open "
				     : "lease dress watch begin open session.start "
				       "secret.give tell-exec session.ready "
				       "exec.start exec sign "),
			fake.calls);
		remove_sessions(b);
		nothing_is_left(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_that_was_made_ahead_is_taken),
	};

	return cmocka_run_group_tests_name("session_pool", tests, NULL, NULL);
}
