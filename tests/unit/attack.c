/*
 * ATT&CK tags: a table of events and the techniques that each has to have, and none of them more;
 * and what holds for the table of rules itself.
 */
#include "supervisor/record/attack.h"
#include "replay/query.h"
#include "supervisor/record/json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define HEAD                                                                                       \
	"{\"seq\":1,\"session\":\"0123456789ab\",\"time\":\"2024-05-01T12:00:00.000000000Z\","     \
	"\"boot_ns\":1,"

static const struct {
	const char *line, *techniques;
} cases[] = {
	{"\"kind\":\"process.exec\",\"argv\":[\"x\"],\"exe\":{\"path\":\"/usr/bin/dash\"}}",
	 "T1059.004"},
	{"\"kind\":\"process.exec\",\"argv\":[\"/bin/bash\",\"-c\",\"true\"]}", "T1059.004"},
	{"\"kind\":\"process.exec\",\"argv\":[\"bash\"],\"exe\":{\"path\":\"/usr/bin/cat\"}}", ""},
	{"\"kind\":\"process.exec\",\"argv\":[\"bashful\"]}", ""},
	{"\"kind\":\"process.exec\",\"argv\":[\"python3.11\",\"a.py\"]}", "T1059.006"},
	{"\"kind\":\"process.exec\",\"argv\":[\"curl\",\"https://example.com\"]}", "T1105"},
	{"\"kind\":\"process.exec\",\"argv\":[\"curl\",\"-T\",\"f\",\"https://example.com\"]}",
	 "T1105 T1567"},
	{"\"kind\":\"process.exec\",\"argv\":[\"curl\",\"--data-binary\",\"@f\",\"x\"]}",
	 "T1105 T1567"},
	{"\"kind\":\"process.exec_failed\",\"argv\":[\"wget\"],\"result\":-2}", "T1105"},
	{"\"kind\":\"process.exec\",\"argv\":[\"nc\",\"host\",\"9\"]}", "T1048"},
	{"\"kind\":\"process.exec\",\"argv\":[\"a\"],\"exe\":{\"path\":\"/"
	 "memfd:x\",\"memfd\":true}}",
	 "T1620"},
	{"\"kind\":\"process.exec\",\"argv\":[\"sh\",\"-c\",\"echo x | base64 -d | sh\"]}",
	 "T1059.004 T1027"},
	{"\"kind\":\"file.read\",\"path\":\"/home/agent/.aws/credentials\"}", "T1552.001"},
	{"\"kind\":\"file.read\",\"requested\":\"/workspace/.env\"}", "T1552.001"},
	{"\"kind\":\"file.read\",\"path\":\"/workspace/environment\"}", ""},
	{"\"kind\":\"file.read\",\"path\":\"/home/a/.ssh/id_ed25519.pub\"}", ""},
	{"\"kind\":\"file.read\",\"path\":\"/home/a/.ssh/id_ed25519\"}", "T1552.004"},
	{"\"kind\":\"file.read\",\"path\":\"/etc/shadow\"}", "T1003.008"},
	{"\"kind\":\"file.open\",\"path\":\"/etc/shadow\"}", "T1003.008 T1136.001"},
	{"\"kind\":\"file.delete\",\"path\":\"/var/log/auth.log\"}", "T1070.002"},
	{"\"kind\":\"file.rename\",\"path\":\"/tmp/x\",\"new_path\":\"/home/a/.bashrc\"}",
	 "T1546.004"},
	{"\"kind\":\"file.attr\",\"path\":\"/tmp/x\",\"change\":\"mode\",\"mode\":2541}",
	 "T1548.001"},
	{"\"kind\":\"file.attr\",\"path\":\"/tmp/x\",\"change\":\"mode\",\"mode\":493}", ""},
	{"\"kind\":\"net.connect\",\"dst\":{\"address\":\"169.254.169.254\",\"port\":80}}",
	 "T1552.005"},
	{"\"kind\":\"net.connect\",\"dst\":{\"address\":\"10.0.0.1\",\"port\":80},\"name\":\"x."
	 "onion\"}",
	 "T1090.003"},
	{"\"kind\":\"attempt\",\"syscall\":\"mount\",\"errno\":1}", "T1611"},
	{"\"kind\":\"attempt\",\"syscall\":\"bpf\",\"errno\":1}", "T1562.001"},
	{"\"kind\":\"attempt\",\"syscall\":\"finit_module\",\"errno\":1}", "T1547.006"},
	{"\"kind\":\"output\",\"stream\":\"stdout\",\"data\":\"/etc/shadow\"}", ""},
};

static struct json_arena *arena;

static void read_case(size_t i, struct event *e)
{
	const char *session, *error = "";
	char line[1024];

	snprintf(line, sizeof(line), "%s%s", HEAD, cases[i].line);
	if (json_read_event(arena, line, strlen(line), e, &session, &error))
		fail_msg("%s: %s", error, line);
}

static void events_have_their_tags(void **unused)
{
	(void)unused;
	arena = json_arena_new();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct attack_tag *tags[ATTACK_TAGS_MAX];
		char found[256] = "";
		struct event e;
		size_t count;

		read_case(i, &e);
		count = attack_tags(&e, tags);
		for (size_t k = 0; k < count; k++)
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s",
				 k ? " " : "", tags[k]->technique);
		if (strcmp(found, cases[i].techniques) != 0)
			fail_msg("%s: has '%s', not '%s'", cases[i].line, found,
				 cases[i].techniques);
	}
	json_arena_free(arena);
}

static bool query_says(const char *text, const struct event *e)
{
	struct origin origin = {0};
	struct query_error error;
	struct query *q;
	bool says;

	assert_int_equal(query_parse(text, &q, &error), 0);
	says = query_match(q, &origin, e);
	query_free(q);
	return says;
}

static void the_filter_knows_tags(void **unused)
{
	struct query_error error;
	struct query *q;
	struct event e;

	(void)unused;
	arena = json_arena_new();
	read_case(0, &e);
	assert_true(query_says("attack:T1059*", &e));
	assert_true(query_says("attack:T1059.004", &e));
	assert_true(query_says("attack:\"Unix Shell\"", &e));
	assert_true(query_says("attack:TA0002", &e));
	assert_true(query_says("attack:Execution", &e));
	assert_true(query_says("attack:*", &e));
	assert_false(query_says("attack:T1059", &e));
	read_case(2, &e);
	assert_false(query_says("attack:*", &e));
	assert_true(query_says("not attack:*", &e));
	assert_int_equal(query_parse("attack~x", &q, &error), -EINVAL);
	json_arena_free(arena);
}

/* A tag that nobody could look up is worth nothing. */
static void every_rule_is_whole(void **unused)
{
	size_t count = 0;

	(void)unused;
	for (const struct attack_tag *tag; (tag = attack_rule(count)); count++) {
		size_t digits = strspn(tag->technique + 1, "0123456789");

		assert_int_equal(tag->technique[0], 'T');
		assert_int_equal(digits, 4);
		assert_true(tag->technique[5] == 0 ||
			    (tag->technique[5] == '.' &&
			     strspn(tag->technique + 6, "0123456789") == 3 && !tag->technique[9]));
		assert_int_equal(tag->technique[5] == '.', tag->parent != NULL);
		assert_true(tag->name[0] && tag->reason[0] && !strncmp(tag->tactic, "TA00", 4));
		assert_int_equal(attack_rule_number(tag), count);
		for (size_t k = 0; k < count; k++)
			if (!strcmp(attack_rule(k)->technique, tag->technique))
				assert_string_equal(attack_rule(k)->name, tag->name);
	}
	assert_true(count > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_have_their_tags),
		cmocka_unit_test(the_filter_knows_tags),
		cmocka_unit_test(every_rule_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
