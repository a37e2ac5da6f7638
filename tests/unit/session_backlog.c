/* What sessions that have ended still cost, and who waits for it. */
#include "session_bench.h"

/* So many of @uid's that have ended, before those that @h has. */
static void seal(struct host *h, struct session *room, size_t count, uid_t uid)
{
	for (size_t i = 0; i < count; i++) {
		room[i] = (struct session){
			.stage = SESSION_SEALING, .asker = {.uid = uid}, .next = h->sessions};
		h->sessions = &room[i];
	}
}

/* Nobody waits for sessions that live, nor for those of other users while they are few. */
static void who_ends_more_than_the_disk_takes_waits(void **state)
{
	const size_t of_user = 128, users = 4;
	cleanup(free) struct session *room = calloc(of_user * users, sizeof(*room));
	struct host h = {0};

	(void)state;
	seal(&h, room, of_user, 1000);
	assert_true(session_has_to_wait(&h, 1000));
	assert_false(session_has_to_wait(&h, 1001));
	room[3].stage = SESSION_CLOSING;
	assert_false(session_has_to_wait(&h, 1000));
	for (uid_t i = 1; i < users; i++)
		seal(&h, room + i * of_user, of_user, 1000 + i);
	assert_false(session_has_to_wait(&h, 0));
	room[3].stage = SESSION_SEALING;
	assert_true(session_has_to_wait(&h, 0));
}

static void a_manifest_that_gets_onto_the_disk_counts(void **state)
{
	struct bench *b = *state;
	const size_t sealed = 127;
	cleanup(free) struct session *room = calloc(sealed, sizeof(*room));
	struct fault f;

	assert_int_equal(worker_start(b->host.loop, &b->host.ends), 0);
	assert_int_equal(start(b, &f), 0);
	hear(b, RECORDER_OPENED, 0);
	hear(b, RECORDER_EXECED, 0);
	happen(b, SANDBOX_EXITED, 0, 0);
	hear(b, RECORDER_EXEC_CLOSED, 0);
	hear(b, RECORDER_CLOSED, 0);
	assert_null(b->host.sessions);

	seal(&b->host, room, sealed, 0);
	assert_true(session_has_to_wait(&b->host, 0)); /* what the thread did is not told yet */
	worker_stop(take(b->host.ends));
	assert_false(session_has_to_wait(&b->host, 0));
	b->host.sessions = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_ends_more_than_the_disk_takes_waits),
		TEST(a_manifest_that_gets_onto_the_disk_counts),
	};

	return cmocka_run_group_tests_name("session_backlog", tests, NULL, NULL);
}
