/*
 * Manifests and the list of sessions.
 */
#include "supervisor/record/store.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the two above */
#include <cmocka.h>

static struct manifest sample_manifest(const char *id, const char *name, uint64_t started_ns)
{
	struct manifest m = {
		.name = (char *)name,
		.command = "[\"make\",\"-j\"]",
		.state = SESSION_RUNNING,
		.exit_code = -1,
		.signal = -1,
		.started_ns = started_ns,
		.supervisor_pid = 4711,
		.supervisor_start = 123456,
	};

	memcpy(m.id, id, sizeof(m.id));
	return m;
}

static int open_below(int dir_fd, const char *name)
{
	int fd;

	if (mkdirat(dir_fd, name, 0700) && errno != EEXIST)
		abort();
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		abort();
	return fd;
}

static void put_manifest(const struct scratch *state, const struct manifest *m)
{
	cleanup(close_fd) int sessions = open_below(state->fd, "sessions");
	cleanup(close_fd) int dir = open_below(sessions, m->id);

	assert_int_equal(manifest_write(dir, m), 0);
}

/* Put session @id into the state directory. */
static void put_session(const struct scratch *state, const char *id, const char *name,
			uint64_t started_ns)
{
	const struct manifest m = sample_manifest(id, name, started_ns);

	put_manifest(state, &m);
}

static void put_ended(const struct scratch *state, const char *id, const char *name,
		      uint64_t started_ns)
{
	struct manifest m = sample_manifest(id, name, started_ns);

	m.state = SESSION_ENDED;
	m.reason = "exit";
	m.exit_code = 0;
	m.ended_ns = started_ns + 1;
	put_manifest(state, &m);
}

static void what_is_written_is_read(void **state)
{
	struct scratch s = scratch_new();
	struct manifest m =
		sample_manifest("0123456789ab", "a \"name\"\n\xc3\xa9", 1767323045123456789);
	struct manifest back;

	(void)state;
	m.tenant = "";
	m.reason = "exit";
	m.state = SESSION_ENDED;
	m.exit_code = 0;
	m.ended_ns = m.started_ns + 1;
	m.records = UINT64_C(1) << 60;
	m.lost = 3;
	assert_int_equal(manifest_write(s.fd, &m), 0);
	assert_int_equal(manifest_read(s.fd, &back), 0);
	assert_string_equal(back.id, m.id);
	assert_string_equal(back.name, m.name);
	assert_string_equal(back.tenant, "");
	assert_string_equal(back.reason, "exit");
	assert_string_equal(back.command, m.command);
	assert_int_equal(back.state, SESSION_ENDED);
	assert_int_equal(back.exit_code, 0);
	assert_int_equal(back.signal, -1);
	assert_int_equal(back.started_ns, m.started_ns);
	assert_int_equal(back.ended_ns, m.ended_ns);
	assert_int_equal(back.records, m.records);
	assert_int_equal(back.lost, 3);
	assert_int_equal(back.supervisor_pid, 4711);
	assert_int_equal(back.supervisor_start, 123456);
	manifest_free(&back);
	scratch_free(&s);
}

static void what_is_unknown_stays_so(void **state)
{
	struct scratch s = scratch_new();
	struct manifest m = sample_manifest("0123456789ab", NULL, 5), back;

	(void)state;
	assert_int_equal(manifest_write(s.fd, &m), 0);
	assert_int_equal(manifest_write(s.fd, &m), 0); /* over the first */
	assert_int_equal(manifest_read(s.fd, &back), 0);
	assert_null(back.name);
	assert_null(back.tenant);
	assert_null(back.reason);
	assert_int_equal(back.exit_code, -1);
	assert_int_equal(back.ended_ns, 0);
	assert_false(scratch_has(&s, "manifest.json.tmp"));
	manifest_free(&back);
	scratch_free(&s);
}

/* A write that fails leaves what was there. */
static void a_manifest_is_replaced_whole_or_not_at_all(void **state)
{
	struct scratch s = scratch_new();
	struct manifest m = sample_manifest("0123456789ab", "first", 5), back;

	(void)state;
	assert_int_equal(manifest_write(s.fd, &m), 0);
	m.name = "second";
	m.command = "[\"make";
	assert_int_equal(manifest_write(s.fd, &m), -EINVAL);
	m.command = "[]";
	assert_int_equal(mkdirat(s.fd, "manifest.json.tmp", 0700), 0);
	assert_true(manifest_write(s.fd, &m) < 0);
	assert_int_equal(manifest_read(s.fd, &back), 0);
	assert_string_equal(back.name, "first");
	manifest_free(&back);
	scratch_free(&s);
}

static void a_temporary_link_is_not_followed(void **state)
{
	struct scratch s = scratch_new();
	struct manifest m = sample_manifest("0123456789ab", "name", 5);
	size_t size;
	uint8_t *bytes;

	(void)state;
	scratch_write(&s, "victim", "precious", 8);
	assert_int_equal(symlinkat("victim", s.fd, "manifest.json.tmp"), 0);
	assert_int_equal(manifest_write(s.fd, &m), 0);
	bytes = scratch_read(&s, "victim", &size);
	assert_int_equal(size, 8);
	free(bytes);
	scratch_free(&s);
}

#define GOOD "\"id\":\"0123456789ab\",\"command\":[],\"state\":\"ended\""

static void what_is_no_manifest_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{" GOOD,
		"{\"id\":\"0123456789aB\",\"command\":[],\"state\":\"ended\"}",
		"{\"id\":\"../../../etc\",\"command\":[],\"state\":\"ended\"}",
		"{\"id\":\"0123456789ab\",\"state\":\"ended\"}",
		"{\"id\":\"0123456789ab\",\"command\":\"x\",\"state\":\"ended\"}",
		"{\"id\":\"0123456789ab\",\"command\":[],\"state\":\"gone\"}",
		"{" GOOD ",\"name\":1}",
		"{" GOOD ",\"records\":-1}",
		"{" GOOD ",\"started_ns\":\"5\"}",
		"{" GOOD ",\"supervisor\":{\"pid\":true}}",
		"{" GOOD ",\"state\":\"running\"}",
	};
	struct scratch s = scratch_new();
	struct manifest m;

	(void)state;
	assert_int_equal(manifest_read(s.fd, &m), -ENOENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		scratch_write(&s, "manifest.json", bad[i], strlen(bad[i]));
		if (manifest_read(s.fd, &m) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
	}
	scratch_write(&s, "manifest.json", "{" GOOD "}", strlen("{" GOOD "}"));
	assert_int_equal(manifest_read(s.fd, &m), 0);
	manifest_free(&m);

	assert_int_equal(renameat(s.fd, "manifest.json", s.fd, "elsewhere"), 0);
	assert_int_equal(symlinkat("elsewhere", s.fd, "manifest.json"), 0);
	assert_int_equal(manifest_read(s.fd, &m), -ELOOP);
	assert_int_equal(unlinkat(s.fd, "manifest.json", 0), 0);
	assert_int_equal(mkfifoat(s.fd, "manifest.json", 0600), 0);
	assert_int_equal(manifest_read(s.fd, &m), -EBADMSG);
	scratch_free(&s);
}

static void sessions_are_listed_oldest_first(void **state)
{
	struct scratch s = scratch_new();
	struct manifest *list;
	size_t count, unreadable;

	(void)state;
	assert_int_equal(store_list(s.fd, &list, &count, &unreadable), 0);
	assert_int_equal(count, 0); /* no session was ever made */
	assert_int_equal(unreadable, 0);
	store_list_free(list, count);

	put_session(&s, "bbbbbbbbbbbb", "two", 200);
	put_session(&s, "cccccccccccc", "one", 100);
	put_session(&s, "aaaaaaaaaaaa", "three", 200);
	cleanup(close_fd) int sessions = open_below(s.fd, "sessions");
	close(open_below(sessions, "dddddddddddd"));		  /* has no manifest yet */
	close(open_below(sessions, "lost+found"));		  /* is none of ours */
	close(open_below(sessions, SPARE_PREFIX "ffffffffffff")); /* is to become one */
	assert_int_equal(symlinkat("aaaaaaaaaaaa", sessions, "eeeeeeeeeeee"), 0);
	assert_int_equal(renameat(sessions, "cccccccccccc", sessions, "cccccccccccd"), 0);

	assert_int_equal(store_list(s.fd, &list, &count, &unreadable), 0);
	assert_int_equal(count, 2);
	assert_int_equal(unreadable, 4); /* and the one whose id is not its name */
	assert_string_equal(list[0].id, "aaaaaaaaaaaa");
	assert_string_equal(list[1].id, "bbbbbbbbbbbb");
	store_list_free(list, count);
	scratch_free(&s);
}

/* The name of what is found, or the error. */
static int find(const struct scratch *s, const char *what, char ret_id[SESSION_ID_LENGTH + 1])
{
	struct manifest m, back;
	int dir_fd, r = store_find(s->fd, what, &m, &dir_fd);

	ret_id[0] = 0;
	if (r)
		return r;
	memcpy(ret_id, m.id, sizeof(m.id));
	assert_int_equal(manifest_read(dir_fd, &back), 0); /* it is that directory */
	assert_string_equal(back.id, m.id);
	close(dir_fd);
	manifest_free(&back);
	manifest_free(&m);
	return 0;
}

static void a_session_is_found(void **state)
{
	static const struct {
		const char *what, *id;
		int error;
	} cases[] = {
		{"abcd00000000", "abcd00000000", 0},
		{"abcd0", "abcd00000000", 0},
		{"abcd1111", "abcd11111111", 0},
		{"abcd", "", -ENOTUNIQ},
		{"abc", "", -ENOENT},
		{"last", "123400000000", 0},
		{"build", "abcd11111111", 0}, /* the newest of that name */
		{"twins", "", -ENOTUNIQ},     /* two are alive */
		{"1234", "", -ENOTUNIQ},      /* a prefix of one, the name of another */
		{"12340", "123400000000", 0},
		{"feedfeedfeed", "abcd22222222", 0}, /* looks like an id, is a name */
		{"beef", "", -ENOENT},
		{"000000000000", "", -ENOENT},
		{"", "", -ENOENT},
		{"..", "", -ENOENT},
		{"../sessions/abcd00000000", "", -ENOENT},
	};
	struct scratch s = scratch_new();
	char id[SESSION_ID_LENGTH + 1];

	(void)state;
	assert_int_equal(find(&s, "last", id), -ENOENT);
	put_ended(&s, "abcd00000000", "build", 100);
	put_session(&s, "abcd11111111", "build", 300);
	put_session(&s, "abcd22222222", "feedfeedfeed", 200);
	put_session(&s, "999900000000", "1234", 350);
	put_session(&s, "999911111111", "twins", 360);
	put_session(&s, "999922222222", "twins", 370);
	put_session(&s, "123400000000", NULL, 400);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(find(&s, cases[i].what, id), cases[i].error);
		assert_string_equal(id, cases[i].id);
	}
	scratch_free(&s);
}

static void a_link_is_no_session(void **state)
{
	struct scratch s = scratch_new(), elsewhere = scratch_new();
	char id[SESSION_ID_LENGTH + 1];

	(void)state;
	put_session(&elsewhere, "abcd00000000", "x", 1);
	assert_int_equal(symlinkat(elsewhere.path, s.fd, "sessions"), 0);
	assert_int_equal(find(&s, "abcd00000000", id), -ENOTDIR);
	scratch_free(&elsewhere);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_unknown_stays_so),
		cmocka_unit_test(a_manifest_is_replaced_whole_or_not_at_all),
		cmocka_unit_test(a_temporary_link_is_not_followed),
		cmocka_unit_test(what_is_no_manifest_is_refused),
		cmocka_unit_test(sessions_are_listed_oldest_first),
		cmocka_unit_test(a_session_is_found),
		cmocka_unit_test(a_link_is_no_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
