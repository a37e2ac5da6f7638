/* Directories of sessions that are made ahead: hidden, locked, used once, and never left. */
#include "../../supervisor/spare_dirs.h"

#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	struct scratch sessions;
	struct session_dir_owner owner;
	sd_event *loop;
	struct spare_dirs *spares;
};

static int set_up(void **state)
{
	static struct bench b;

	b = (struct bench){.sessions = scratch_new(),
			   .owner = {.uid = geteuid(), .gid = getegid()}};
	*state = &b;
	return sd_event_new(&b.loop) < 0 ||
	       spare_dirs_open(b.loop, b.sessions.fd, &b.owner, &b.spares) < 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	spare_dirs_close(b->spares);
	sd_event_unref(b->loop);
	scratch_free(&b->sessions);
	return 0;
}

static size_t count(const struct bench *b, bool hidden)
{
	DIR *dir = fdopendir(openat(b->sessions.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	size_t found = 0;

	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			found += (entry->d_name[0] == '.') == hidden;
	closedir(dir);
	return found;
}

static void fill(struct bench *b)
{
	while (sd_event_run(b->loop, 0) > 0)
		;
}

static struct spare_dir take_hidden(struct bench *b)
{
	struct spare_dir dir = SPARE_DIR_NONE;

	assert_int_equal(spare_dirs_take(b->spares, b->sessions.fd, &b->owner, &dir), 0);
	assert_memory_equal(dir.name, SPARE_PREFIX, strlen(SPARE_PREFIX));
	return dir;
}

/* As a session does: its manifest is there before its name. */
static void take_one(struct bench *b, const char *id)
{
	struct spare_dir dir = take_hidden(b);
	struct manifest m = {.state = SESSION_RUNNING, .exit_code = -1, .signal = -1}, seen;
	int fd = -1;

	memcpy(m.id, id, sizeof(m.id));
	assert_int_equal(manifest_fill(dir.dir.manifest_fd, &m), 0);
	assert_int_equal(spare_dir_name(&dir, b->sessions.fd, id), 0);
	assert_string_equal(dir.name, id);
	assert_int_equal(session_dir_open(b->sessions.fd, id, &fd), -EAGAIN); /* it is locked */
	assert_int_equal(manifest_read(dir.dir.fd, &seen), 0);
	assert_string_equal(seen.id, id);
	manifest_free(&seen);
	session_dir_close(&dir.dir);
}

static void they_are_made_when_it_is_idle_and_taken_once(void **state)
{
	struct bench *b = *state;
	char id[SESSION_ID_LENGTH + 1];

	assert_int_equal(count(b, true), 0);
	fill(b);
	size_t made = count(b, true);
	assert_true(made > 1);
	assert_int_equal(count(b, false), 0);

	take_one(b, "0123456789ab");
	assert_int_equal(count(b, true), made - 1);
	for (size_t i = 0; i < made; i++) { /* one more than there are */
		assert_int_equal(session_dir_make_id(id), 0);
		take_one(b, id);
	}
	assert_int_equal(count(b, false), made + 1);
}

static void a_taken_name_is_not_taken_again(void **state)
{
	struct bench *b = *state;

	fill(b);
	size_t made = count(b, true);
	take_one(b, "0123456789ab");
	struct spare_dir dir = take_hidden(b);
	assert_int_equal(spare_dir_name(&dir, b->sessions.fd, "0123456789ab"), -EEXIST);
	assert_memory_equal(dir.name, SPARE_PREFIX, strlen(SPARE_PREFIX));
	assert_int_equal(count(b, true), made - 1);
	spare_dir_remove(&dir, b->sessions.fd);
	assert_int_equal(dir.dir.fd, -1);
	assert_int_equal(count(b, true), made - 2);
	assert_int_equal(count(b, false), 1);
}

static void none_is_left(void **state)
{
	struct bench *b = *state;

	fill(b);
	assert_true(count(b, true) > 0);
	spare_dirs_close(b->spares);
	b->spares = NULL;
	assert_int_equal(count(b, true), 0);
}

/* Those of the living are locked. */
static void those_of_the_dead_are_cleared_up(void **state)
{
	struct bench *b = *state;

	fill(b);
	size_t made = count(b, true);
	assert_int_equal(mkdirat(b->sessions.fd, SPARE_PREFIX "0123456789ab", 0700), 0);
	assert_int_equal(mkdirat(b->sessions.fd, ".not-ours", 0700), 0);
	session_dir_tidy(b->sessions.fd);
	assert_int_equal(count(b, true), made + 1);
	assert_int_equal(faccessat(b->sessions.fd, ".not-ours", F_OK, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(they_are_made_when_it_is_idle_and_taken_once),
		TEST(a_taken_name_is_not_taken_again),
		TEST(none_is_left),
		TEST(those_of_the_dead_are_cleared_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
