/* What users other than root may have: whose row counts, and requests measured against it. */
#include "../../supervisor/grant.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define USER 64901 /* nobody of the host's */

static json_t *load(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	assert_non_null(value);
	return value;
}

/* A grant as of a row for everybody, to a user who is in group USER alone. */
static void grant_of(json_t *users, struct grant *ret_grant)
{
	const struct ucred who = {.uid = USER, .gid = USER};
	struct fault f = {0};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	if (grant_find(users, pair[0], &who, ret_grant, &f) < 0)
		fail_msg("%s", f.text);
	close(pair[0]);
	close(pair[1]);
}

static void the_first_row_that_one_belongs_to_counts(void **state)
{
	(void)state;
	static const struct {
		const char *users;
		int sessions; /* -1: refused */
	} cases[] = {
		{"{}", -1},
		{"{\"root\": {}, \"@root\": {}}",
		 8}, /* the socket's other end is of root's group */
		{"{\"root\": {\"sessions\": 1}}", -1},
		{"{\"no-such-user\": {}, \"@no-such-group\": {}, \"*\": {\"sessions\": 3}}", 3},
		{"{\"*\": {\"sessions\": 2}, \"@root\": {\"sessions\": 5}}", 2},
		{"{\"@root\": {\"sessions\": 5}, \"*\": {\"sessions\": 2}}", 5},
		{"{\"*\": {\"sessions\": 0}}", 0},
	};
	const struct ucred who = {.uid = USER, .gid = 0}, root = {0};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(json) json_t *users = load(cases[i].users);
		struct grant g = {0};
		struct fault f = {0};
		int r = grant_find(users, pair[0], &who, &g, &f);

		assert_int_equal(r, cases[i].sessions < 0 ? -EPERM : 0);
		if (r == 0)
			assert_int_equal(g.sessions, cases[i].sessions);
		else
			assert_string_equal(f.code, "forbidden");
		grant_free(&g);
		assert_int_equal(grant_find(users, pair[0], &root, &g, &f), 0);
		assert_null(g.row);
	}
	close(pair[0]);
	close(pair[1]);
}

static void limits_are_put_under_and_measured(void **state)
{
	(void)state;
	static const struct {
		const char *given, *limits; /* NULL: refused */
	} cases[] = {
		{"{}", "{\"memory\": \"1G\", \"wall\": 60}"},
		{"{\"limits\": {\"memory\": \"64M\"}}", "{\"memory\": \"64M\", \"wall\": 60}"},
		{"{\"limits\": {\"pids\": 9}}", "{\"memory\": \"1G\", \"pids\": 9, \"wall\": 60}"},
		{"{\"limits\": {\"memory\": 1073741824, \"wall\": \"1m\"}}",
		 "{\"memory\": 1073741824, \"wall\": \"1m\"}"},
		{"{\"limits\": {\"memory\": \"1025M\"}}", NULL},
		{"{\"limits\": {\"wall\": \"61s\"}}", NULL},
	};
	cleanup(json) json_t *users =
		load("{\"*\": {\"limits\": {\"memory\": \"1G\", \"wall\": 60}}}");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(json) json_t *given = load(cases[i].given);
		struct grant g = {0};
		struct fault f = {0};

		grant_of(users, &g);
		int r = grant_apply(&g, given, &f);
		grant_free(&g);
		assert_int_equal(r, cases[i].limits ? 0 : -EPERM);
		if (r < 0) {
			assert_string_equal(f.code, "forbidden");
			assert_non_null(strstr(f.text, "at most"));
			continue;
		}
		cleanup(json) json_t *want = load(cases[i].limits);
		assert_true(json_equal(json_object_get(given, "limits"), want));
	}
}

static void a_record_is_weakened_by_who_may(void **state)
{
	(void)state;
	static const struct {
		const char *key, *given, *allow;
	} cases[] = {
		{"on_loss", "{\"on_loss\": \"count\"}", "record"},
		{"output", "{\"output\": \"none\"}", "record"},
		{"output_cap", "{\"output_cap\": 0}", "record"},
		{"redact_off", "{\"redact_off\": []}", "record"},
		{"redact_rules", "{\"redact_rules\": []}", "record"},
		{"watch_reads", "{\"watch_reads\": []}", "record"},
		{"seccomp_allow", "{\"seccomp_allow\": []}", "seccomp"},
	};
	cleanup(json) json_t *plain = load("{\"*\": {}}");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(json) json_t *given = load(cases[i].given);
		cleanup(json) json_t *free_of =
			json_pack("{s:{s:[s]}}", "*", "allow", cases[i].allow);
		struct grant g = {0};
		struct fault f = {0};

		grant_of(plain, &g);
		assert_int_equal(grant_apply(&g, given, &f), -EPERM);
		assert_non_null(strstr(f.text, cases[i].key));
		grant_free(&g);
		grant_of(free_of, &g);
		assert_int_equal(grant_apply(&g, given, &f), 0);
		grant_free(&g);
	}
}

static void a_tenant_is_the_rows(void **state)
{
	(void)state;
	cleanup(json) json_t *users = load("{\"*\": {\"tenant\": \"acme\"}}");
	cleanup(json) json_t *none = json_object(), *other = load("{\"tenant\": \"evil\"}");
	struct grant g = {0};
	struct fault f = {0};

	grant_of(users, &g);
	assert_int_equal(grant_apply(&g, none, &f), 0);
	assert_string_equal(json_string_value(json_object_get(none, "tenant")), "acme");
	assert_int_equal(grant_apply(&g, other, &f), -EPERM);
	grant_free(&g);
}

/* The daemon is root's: what it binds is what the user could write to alone. */
static void a_workspace_is_the_users_own(void **state)
{
	(void)state;
	static const struct {
		uid_t uid;
		gid_t gid;
		const char *why; /* NULL: it may be had */
	} cases[] = {
		{USER, USER, NULL},
		{0, USER, "belongs to uid 0"},
		{USER, 0, "belongs to gid 0"},
		{USER + 1, USER, "belongs to uid"},
	};
	const struct ucred who = {.uid = USER, .gid = USER};
	cleanup(json) json_t *users = load("{\"*\": {\"allow\": [\"workspace\"]}}");
	char dir[] = "/tmp/vitrine-grant-XXXXXX";

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(close_fd) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct session_request r = {
			.policy = {.net = "none", .user = "agent", .workspace = dir},
			.workspace_fd = fd,
		};
		struct grant g = {0};
		struct fault f = {0};

		assert_int_equal(chown(dir, cases[i].uid, cases[i].gid), 0);
		grant_of(users, &g);
		g.group_count = 1; /* what the kernel says of this process is root's */
		g.groups[0] = USER;
		assert_int_equal(grant_check(&g, &who, &r, &f), cases[i].why ? -EPERM : 0);
		if (cases[i].why)
			assert_non_null(strstr(f.text, cases[i].why));
		r.workspace_fd = -1;
		assert_int_equal(grant_check(&g, &who, &r, &f), -EPERM);
		g.workspace = false;
		r.workspace_fd = fd;
		assert_int_equal(grant_check(&g, &who, &r, &f), -EPERM);
		grant_free(&g);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void what_is_allowed_beside_is_named(void **state)
{
	(void)state;
	const struct ucred who = {.uid = USER, .gid = USER};
	struct session_request host = {.policy = {.net = "host", .user = "agent"}};
	struct session_request root = {.policy = {.net = "none", .user = "root"}};
	cleanup(json) json_t *plain = load("{\"*\": {}}");
	cleanup(json) json_t *other = load("{\"*\": {\"allow\": [\"net_host\"]}}");
	struct grant g = {0};
	struct fault f = {0};

	grant_of(plain, &g);
	assert_int_equal(grant_check(&g, &who, &host, &f), -EPERM);
	assert_non_null(strstr(f.text, "net_host"));
	assert_int_equal(grant_check(&g, &who, &root, &f), 0);
	grant_free(&g);
	grant_of(other, &g);
	assert_int_equal(grant_check(&g, &who, &host, &f), 0);
	assert_int_equal(grant_check(&g, &who, &root, &f), -EPERM);
	grant_free(&g);
}

static void rows_are_checked(void **state)
{
	(void)state;
	static const char *const good[] = {
		"{}",
		"{\"ann\": {}, \"@staff\": {\"sessions\": 1024}}",
		"{\"*\": {\"limits\": {\"memory\": \"1G\"}, \"tenant\": \"t\", \"allow\": []}}",
	};
	static const char *const bad[] = {
		"[]",
		"{\"\": {}}",
		"{\"@\": {}}",
		"{\"ann\": 3}",
		"{\"ann\": {\"sessions\": -1}}",
		"{\"ann\": {\"sessions\": 1025}}",
		"{\"ann\": {\"limits\": {\"memory\": 1}}}",
		"{\"ann\": {\"limits\": {\"speed\": 1}}}",
		"{\"ann\": {\"allow\": [\"all\"]}}",
		"{\"ann\": {\"allow\": \"root\"}}",
		"{\"ann\": {\"tenant\": \"\"}}",
		"{\"ann\": {\"anything\": 1}}",
	};
	const struct setting s = {.type = SETTING_USERS};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]) + sizeof(bad) / sizeof(bad[0]); i++) {
		size_t first_bad = sizeof(good) / sizeof(good[0]);
		cleanup(json) json_t *value =
			json_loads(i < first_bad ? good[i] : bad[i - first_bad], 0, NULL);
		struct setting_place p = {.value = value};

		assert_int_equal(grant_settings_check(&s, &p), i < first_bad);
	}
	cleanup(json) json_t *schema = grant_settings_schema(&s);
	assert_true(json_is_object(schema));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_row_that_one_belongs_to_counts),
		cmocka_unit_test(limits_are_put_under_and_measured),
		cmocka_unit_test(a_record_is_weakened_by_who_may),
		cmocka_unit_test(a_tenant_is_the_rows),
		cmocka_unit_test(a_workspace_is_the_users_own),
		cmocka_unit_test(what_is_allowed_beside_is_named),
		cmocka_unit_test(rows_are_checked),
	};

	return cmocka_run_group_tests_name("grant", tests, NULL, NULL);
}
