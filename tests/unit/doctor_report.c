/* What a daemon keeps of the doctor's findings: the digest, and the file of what was tried. */
#include "../../supervisor/doctor_report.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/jansson_cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
	char dir[64], kept[96];
	struct doctor_subject subject;
};

static int set_up(void **state)
{
	static const char *const none[] = {NULL};
	static struct place p;

	strcpy(p.dir, "/tmp/vitrine-doctor-XXXXXX");
	if (!mkdtemp(p.dir))
		return -1;
	snprintf(p.kept, sizeof(p.kept), "%s/kept", p.dir);
	p.subject = (struct doctor_subject){
		.state = p.dir,
		.workspace = p.dir,
		.kept = p.kept,
		.is_root = true,
		.missing_sensors = none,
	};
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	unlink(p->kept);
	return rmdir(p->dir);
}

static void needs_root(void)
{
	if (geteuid() != 0)
		skip();
}

static size_t read_kept(const struct place *p, char text[8192])
{
	cleanup(close_fd) int fd = open(p->kept, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 8191);

	assert_true(n >= 0);
	text[n] = 0;
	return (size_t)n;
}

static void write_kept(const struct place *p, const char *text, mode_t mode)
{
	unlink(p->kept);
	cleanup(close_fd) int fd = open(p->kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && fchmod(fd, mode) == 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void new_report(struct place *p, struct doctor_report **ret)
{
	assert_int_equal(doctor_report_new(&p->subject, ret), 0);
}

static bool has_degraded(const struct doctor_report *r, const char *name)
{
	cleanup(json) json_t *names = doctor_report_degraded(r);
	json_t *value;
	size_t i;

	json_array_foreach (names, i, value)
		if (!strcmp(json_string_value(value), name))
			return true;
	return false;
}

static void a_digest_is_that_of_names_and_states(void **state)
{
	(void)state;
	enum finding_state states[DOCTOR_CHECKS_MAX] = {0};
	char one[65], same[65], other[65];

	doctor_digest(states, one);
	doctor_digest(states, same);
	states[2] = FINDING_DEGRADED;
	doctor_digest(states, other);
	assert_string_equal(one, same);
	assert_string_not_equal(one, other);
	assert_int_equal(strlen(one), 64);
}

static void what_was_tried_is_kept_until_something_changes(void **state)
{
	struct place *p = *state;
	struct doctor_report *r;
	char text[8192], changed[8192];

	needs_root();
	new_report(p, &r);
	assert_false(has_degraded(r, "namespaces"));
	doctor_report_free(r);
	size_t length = read_kept(p, text);
	assert_true(length > 4);

	/* The first of what is tried: said to be missing, and believed. */
	char *states = strrchr(strndupa(text, length - 1), '\n') + 1;
	size_t at = length - 1 - strlen(states);
	memcpy(changed, text, length + 1);
	changed[at] = '2';
	write_kept(p, changed, 0644);
	new_report(p, &r);
	assert_true(has_degraded(r, "namespaces"));
	doctor_report_free(r);

	/* Not where others may write it, nor in other circumstances, nor what is no state. */
	write_kept(p, changed, 0666);
	new_report(p, &r);
	assert_false(has_degraded(r, "namespaces"));
	doctor_report_free(r);
	changed[0] ^= 1;
	write_kept(p, changed, 0644);
	new_report(p, &r);
	assert_false(has_degraded(r, "namespaces"));
	doctor_report_free(r);
	memcpy(changed, text, length + 1);
	changed[at] = '9';
	write_kept(p, changed, 0644);
	new_report(p, &r);
	assert_false(has_degraded(r, "namespaces"));
	doctor_report_free(r);
	assert_int_equal(read_kept(p, changed), length);
	assert_string_equal(changed, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_digest_is_that_of_names_and_states),
		cmocka_unit_test(what_was_tried_is_kept_until_something_changes),
	};

	return cmocka_run_group_tests_name("doctor_report", tests, set_up, tear_down);
}
