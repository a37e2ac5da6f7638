/* Wire records of processes, as canonical JSON. */
#include "capture_world.h"

#include <errno.h>
#include <sys/stat.h>

#define CGROUP 77 /* of command 3 */

struct world {
	struct capture_world *out;
	size_t used;
	_Alignas(8) uint8_t record[WIRE_LENGTH_MAX];
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->out =
		capture_world_new((struct capture_options){.uid_base = 100000, .uid_count = 65536});
	assert_int_equal(capture_add_exec(w->out->capture, CGROUP, 3), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	void *out = w->out;

	free(w);
	return capture_world_tear_down(&out);
}

/* ---- making records ---- */

static void *begin(struct world *w, enum wire_kind kind, size_t size)
{
	struct wire_head *head = (struct wire_head *)w->record;

	memset(w->record, 0, size);
	*head = (struct wire_head){
		.boot_ns = 5000,
		.start_ns = 0x100,
		.cgroup = CGROUP,
		.pid = 40,
		.tid = 40,
		.ns_pid = 4,
		.kind = kind,
		.class = WIRE_CLASS_process,
	};
	w->used = size;
	return head;
}

static void tail(struct world *w, uint32_t *length, const void *data, size_t size)
{
	memcpy(w->record + w->used, data, size);
	w->used += size;
	*length = (uint32_t)size;
}

/* The record through the decoder and its translation; the line that comes out. */
static const char *translate(struct world *w)
{
	struct wire_record record;
	const char *why = NULL;

	((struct wire_head *)w->record)->length = (uint32_t)w->used;
	assert_int_equal(wire_decode(w->record, w->used, &record, &why), 0);
	assert_int_equal(capture_record(w->out->capture, &record), 0);
	return w->out->line.text;
}

static void assert_has(const char *line, const char *part)
{
	if (!strstr(line, part))
		fail_msg("no %s in %s", part, line);
}

static void assert_lacks(const char *line, const char *part)
{
	if (strstr(line, part))
		fail_msg("%s in %s", part, line);
}

static void fork_record(struct world *w, uint32_t parent, uint32_t child)
{
	struct wire_process_fork *r = begin(w, WIRE_KIND_process_fork, sizeof(*r));

	r->head.pid = r->head.tid = parent;
	r->child_pid = child;
	r->child_start_ns = 0x100;
	r->child_ns_pid = child / 10;
}

#define BYTES(text) (text), (sizeof(text) - 1)

static struct wire_process_exec *exec_record(struct world *w, const char *argv, size_t size)
{
	struct wire_process_exec *r = begin(w, WIRE_KIND_process_exec, sizeof(*r));

	r->argv_bytes = size;
	r->exe_dev = 8 << 20 | 1;
	r->exe_ino = 12;
	r->exe_nlink = 1;
	r->uid = r->euid = 101000;
	r->gid = r->egid = 101000;
	r->caps = 1ull << 40;
	r->parent_ns_pid = 1;
	tail(w, &r->exe_length, BYTES("true\0bin\0usr\0"));
	tail(w, &r->cwd_length, BYTES("agent\0home\0"));
	tail(w, &r->requested_length, BYTES("./true"));
	tail(w, &r->interpreter_length, "", 0);
	tail(w, &r->argv_length, argv, size);
	tail(w, &r->stdin_path_length, "", 0);
	return r;
}

/* ---- tests ---- */

static void an_exec_says_all(void **state)
{
	struct world *w = *state;

	fork_record(w, 10, 20);
	translate(w);
	fork_record(w, 20, 40);
	translate(w);
	exec_record(w, BYTES("true\0\0\xff\0last\0"));

	assert_string_equal(
		translate(w),
		"{\"seq\":0,\"session\":\"0123456789ab\",\"time\":\"1970-01-01T00:00:00."
		"000000000Z\","
		"\"boot_ns\":5000,\"kind\":\"process.exec\",\"exec\":3,\"proc\":\"40-100\","
		"\"pid\":4,\"host_pid\":40,\"argv\":[\"true\",\"\",\"\xef\xbf\xbd\",\"last\"],"
		"\"argv_b64\":[null,null,\"/w==\",null],\"argv_bytes\":13,"
		"\"argv_source\":\"kernel\",\"exe\":{\"path\":\"/usr/bin/true\",\"dev\":2049,"
		"\"ino\":12},\"requested\":\"./true\",\"cwd\":\"/home/agent\",\"ppid\":1,"
		"\"parent_proc\":\"20-100\",\"ancestors\":[\"20-100\",\"10-100\"],\"uid\":1000,"
		"\"gid\":1000,\"euid\":1000,\"egid\":1000,\"host_uid\":101000,"
		"\"host_gid\":101000,\"caps\":1099511627776,\"stdin\":{\"kind\":\"closed\"}}\n");
}

static void arguments_that_were_lost_are_cut(void **state)
{
	struct world *w = *state;
	struct wire_process_exec *r = exec_record(w, BYTES("true\0tru"));
	const char *line;

	r->argv_bytes = 70000;
	line = translate(w);
	assert_has(line, "\"argv\":[\"true\",\"tru\"],\"argv_truncated\":true,"
			 "\"argv_length\":70000,\"argv_bytes\":70000");

	r = exec_record(w, "", 0);
	r->argv_bytes = 9;
	line = translate(w);
	assert_lacks(line, "\"argv\":");
	assert_has(line, "\"argv_bytes\":9");
}

static void a_program_without_arguments_has_one_empty_one(void **state)
{
	struct world *w = *state;

	exec_record(w, "", 1);
	assert_has(translate(w), "\"argv\":[\"\"],\"argv_bytes\":1");
}

static void replace_exe(struct wire_process_exec *r, const char *exe, size_t size)
{
	assert_int_equal(r->exe_length, size);
	memcpy(r->tails, exe, size);
}

static void a_program_in_memory_or_without_a_name_says_so(void **state)
{
	struct world *w = *state;
	struct wire_process_exec *r = exec_record(w, BYTES("x\0"));

	replace_exe(r, BYTES("memfd:secret\0"));
	r->exe_flags = PATH_PSEUDO | PATH_DELETED;
	r->exe_nlink = 0;
	assert_has(translate(w), "\"exe\":{\"path\":\"memfd:secret\",\"dev\":2049,\"ino\":12,"
				 "\"memfd\":true}");

	/* A file of that name is none. */
	r = exec_record(w, BYTES("x\0"));
	replace_exe(r, BYTES("memfd:secret\0"));
	assert_has(translate(w), "\"exe\":{\"path\":\"/memfd:secret\",\"dev\":2049,\"ino\":12}");

	r = exec_record(w, BYTES("x\0"));
	r->exe_nlink = 0;
	assert_has(translate(w), "\"ino\":12,\"deleted\":true}");

	r = exec_record(w, BYTES("x\0"));
	r->exe_flags = PATH_DELETED;
	assert_has(translate(w), "\"ino\":12,\"deleted\":true}");
}

static void a_path_that_cannot_be_reached_is_none(void **state)
{
	struct world *w = *state;
	struct wire_process_exec *r = exec_record(w, BYTES("x\0"));
	const char *line;

	r->exe_flags = r->cwd_flags = PATH_DETACHED;
	line = translate(w);
	assert_has(line, "\"exe\":{\"dev\":2049,\"ino\":12}");
	assert_lacks(line, "\"cwd\"");

	r = exec_record(w, BYTES("x\0"));
	r->cwd_flags = PATH_CUT;
	assert_has(translate(w), "\"cwd\":\"home/agent\",\"cwd_truncated\":true");
}

static void ids_that_are_not_the_sessions_are_absent(void **state)
{
	struct world *w = *state;
	struct wire_process_exec *r = exec_record(w, BYTES("x\0"));
	const char *line;

	r->uid = 0;
	r->egid = 100000 + 65536;
	line = translate(w);
	assert_lacks(line, "\"uid\":");
	assert_lacks(line, "\"egid\":");
	assert_has(line, "\"euid\":1000,\"host_uid\":0,\"host_gid\":101000");
}

static void standard_input_is_what_it_is(void **state)
{
	static const struct {
		uint32_t mode, major, minor, flags;
		const char *shown;
	} cases[] = {
		{0, 0, 0, 0, "\"stdin\":{\"kind\":\"closed\"}"},
		{S_IFIFO, 0, 0, PATH_PSEUDO, "\"stdin\":{\"kind\":\"pipe\"}"},
		{S_IFIFO, 0, 0, 0, "\"stdin\":{\"kind\":\"pipe\",\"path\":\"/in\"}"},
		{S_IFSOCK, 0, 0, PATH_PSEUDO, "\"stdin\":{\"kind\":\"socket\"}"},
		{S_IFREG, 0, 0, 0, "\"stdin\":{\"kind\":\"file\",\"path\":\"/in\"}"},
		{S_IFREG, 0, 0, PATH_DETACHED, "\"stdin\":{\"kind\":\"file\"}"},
		{S_IFCHR, 1, 3, 0, "\"stdin\":{\"kind\":\"null\",\"path\":\"/in\"}"},
		{S_IFCHR, 1, 5, 0, "\"stdin\":{\"kind\":\"file\",\"path\":\"/in\"}"},
		{S_IFCHR, 136, 300, 0, "\"stdin\":{\"kind\":\"tty\",\"path\":\"/in\"}"},
		{S_IFCHR, 5, 0, 0, "\"stdin\":{\"kind\":\"tty\",\"path\":\"/in\"}"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wire_process_exec *r = exec_record(w, BYTES("x\0"));

		r->stdin_mode = cases[i].mode ? cases[i].mode | 0600 : 0;
		r->stdin_rdev = cases[i].major << 20 | cases[i].minor;
		r->stdin_flags = cases[i].flags;
		if (cases[i].mode)
			tail(w, &r->stdin_path_length, BYTES("in\0"));
		assert_has(translate(w), cases[i].shown);
	}
}

static struct wire_process_exec_failed *failed_record(struct world *w, int error)
{
	struct wire_process_exec_failed *r = begin(w, WIRE_KIND_process_exec_failed, sizeof(*r));

	r->result = (uint32_t)-error;
	r->argv_bytes = 4;
	tail(w, &r->cwd_length, BYTES("\0"));
	tail(w, &r->requested_length, BYTES("/no"));
	tail(w, &r->argv_length, BYTES("no\0\0"));
	return r;
}

static void a_failed_exec_says_why_and_whom_to_believe(void **state)
{
	struct world *w = *state;
	struct wire_process_exec_failed *r = failed_record(w, ENOEXEC);
	const char *line = translate(w);

	assert_has(line, "\"argv\":[\"no\",\"\"],\"argv_bytes\":4,\"argv_source\":\"memory\","
			 "\"requested\":\"/no\",\"cwd\":\"/\",\"result\":-8,"
			 "\"error\":\"ENOEXEC\"");

	r = failed_record(w, E2BIG);
	r->head.flags = WIRE_FLAG_FAULT;
	line = translate(w);
	assert_has(line, "\"argv\":[\"no\",\"\"],\"argv_truncated\":true,\"argv_length\":5,");
	assert_lacks(line, "argv_bytes");

	/* What was counted may be less than what came. */
	r = failed_record(w, E2BIG);
	r->head.flags = WIRE_FLAG_FAULT;
	r->argv_bytes = 2;
	assert_has(translate(w), "\"argv_truncated\":true,\"argv_length\":5,");
}

static void an_exit_has_a_status_or_a_signal(void **state)
{
	static const struct {
		uint32_t code;
		const char *has, *lacks;
	} cases[] = {
		{0, "\"exit_code\":0", "signal"},
		{0x7f00, "\"exit_code\":127", "signal"},
		{9, "\"signal\":9", "exit_code"},
		{0x8b, "\"signal\":11,\"core_dumped\":true", "exit_code"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wire_process_exit *r = begin(w, WIRE_KIND_process_exit, sizeof(*r));

		r->exit_code = cases[i].code;
		r->cpu_ns = 123;
		assert_has(translate(w), cases[i].has);
		assert_lacks(w->out->line.text, cases[i].lacks);
		assert_has(w->out->line.text, "\"usage\":{\"cpu_ns\":123,\"wall_ns\":4744}");
	}
}

static void a_death_says_who_sent_the_signal(void **state)
{
	struct world *w = *state;
	static const struct {
		uint32_t code, sender, pid;
		const char *has, *lacks;
	} cases[] = {
		{9, SENDER_PROCESS, 77,
		 "\"by\":\"process\",\"sender\":{\"proc\":\"77-5\",\"pid\":7,"
		 "\"host_pid\":77}",
		 "none"},
		{9, SENDER_OOM, 0, "\"by\":\"oom\"", "sender"},
		{11, SENDER_KERNEL, 0, "\"by\":\"kernel\"", "sender"},
		{15, SENDER_SUPERVISOR, 0, "\"by\":\"supervisor\"", "sender"},
		{15, SENDER_UNKNOWN, 0, "\"signal\":15", "\"by\""},
		{15, 99, 0, "\"signal\":15", "\"by\""},
		{0, SENDER_PROCESS, 77, "\"exit_code\":0", "\"by\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_process_exit *r = begin(w, WIRE_KIND_process_exit, sizeof(*r));

		r->exit_code = cases[i].code;
		r->sender = cases[i].sender;
		r->sender_pid = cases[i].pid;
		r->sender_ns_pid = 7;
		r->sender_start_ns = 5;
		assert_has(translate(w), cases[i].has);
		assert_lacks(w->out->line.text, cases[i].lacks);
	}
}

static void a_hit_of_a_limit_has_its_process_and_count(void **state)
{
	struct world *w = *state;
	struct wire_limit_hit *r = begin(w, WIRE_KIND_limit_hit, sizeof(*r));

	r->head.class = WIRE_CLASS_policy;

	r->limit = WIRE_LIMIT_files;
	r->value = 16;
	r->count = 3;
	assert_has(translate(w), "\"limit\":\"files\",\"value\":16,\"count\":3");
	r = begin(w, WIRE_KIND_limit_hit, sizeof(*r));
	r->head.class = WIRE_CLASS_policy;
	r->limit = WIRE_LIMIT_memory;
	r->count = 1;
	assert_has(translate(w), "\"limit\":\"memory\",\"count\":1");
}

static void a_change_of_credentials_has_both_sides_if_both_are_known(void **state)
{
	struct world *w = *state;
	struct wire_process_cred *r = begin(w, WIRE_KIND_process_cred, sizeof(*r));

	r->uid = r->euid = 101000;
	r->gid = r->egid = 100000;
	r->old_uid = r->old_euid = r->old_gid = r->old_egid = 100000;
	r->old_caps = 5;
	assert_has(translate(w),
		   "\"uid\":1000,\"gid\":0,\"euid\":1000,\"egid\":0,\"host_uid\":101000,"
		   "\"host_gid\":100000,\"caps\":0,\"old\":{\"uid\":0,\"gid\":0,\"euid\":0,"
		   "\"egid\":0,\"caps\":5}");

	r->head.flags = WIRE_FLAG_FAULT;
	assert_lacks(translate(w), "old");
}

static void a_cgroup_is_told_from_the_session_on(void **state)
{
	static const struct {
		uint32_t inside;
		const char *path, *shown;
	} cases[] = {
		{1, "/vitrine/0123456789ab/1/sub", "\"cgroup\":\"1/sub\""},
		{1, "/vitrine/0123456789ab", "\"cgroup\":\".\""},
		{0, "/user.slice", "\"cgroup\":\"/user.slice\""},
		{0, "/other/0123456789ab/x", "\"cgroup\":\"/other/0123456789ab/x\""},
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wire_process_cgroup *r = begin(w, WIRE_KIND_process_cgroup, sizeof(*r));

		r->inside = cases[i].inside;
		tail(w, &r->path_length, cases[i].path, strlen(cases[i].path));
		assert_has(translate(w), cases[i].shown);
	}
}

static void a_commands_first_process_belongs_to_it(void **state)
{
	struct world *w = *state;
	struct wire_process_fork *r;

	fork_record(w, 10, 20);
	r = (struct wire_process_fork *)w->record;
	r->head.cgroup = 0;
	r->child_cgroup = CGROUP;
	assert_has(translate(w), "\"kind\":\"process.fork\",\"exec\":3,\"proc\":\"10-100\","
				 "\"pid\":4,\"host_pid\":10,\"child\":{\"proc\":\"20-100\","
				 "\"pid\":2,\"host_pid\":20}}");
	r->child_cgroup = CGROUP + 1;
	assert_lacks(translate(w), "\"exec\"");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_exec_says_all),
		TEST(arguments_that_were_lost_are_cut),
		TEST(a_program_without_arguments_has_one_empty_one),
		TEST(a_program_in_memory_or_without_a_name_says_so),
		TEST(a_path_that_cannot_be_reached_is_none),
		TEST(ids_that_are_not_the_sessions_are_absent),
		TEST(standard_input_is_what_it_is),
		TEST(a_failed_exec_says_why_and_whom_to_believe),
		TEST(an_exit_has_a_status_or_a_signal),
		TEST(a_death_says_who_sent_the_signal),
		TEST(a_hit_of_a_limit_has_its_process_and_count),
		TEST(a_change_of_credentials_has_both_sides_if_both_are_known),
		TEST(a_cgroup_is_told_from_the_session_on),
		TEST(a_commands_first_process_belongs_to_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
