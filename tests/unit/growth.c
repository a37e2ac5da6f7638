/* What is measured of a directory that somebody hostile writes to, and when it is too much. */
#include "../../supervisor/growth.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KIB 1024ull

struct place {
	char dir[64];
	int fd;
	atomic_bool stop;
};

static int set_up(void **state)
{
	static struct place p;

	strcpy(p.dir, "/var/tmp/vitrine-growth-XXXXXX");
	if (!mkdtemp(p.dir))
		return -1;
	p.fd = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	atomic_store(&p.stop, false);
	*state = &p;
	return p.fd < 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	(void)st, (void)flag, (void)where;
	return remove(path);
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->fd);
	return nftw(p->dir, remove_one, 64, FTW_DEPTH | FTW_PHYS);
}

static void write_file(int dir_fd, const char *name, size_t kib)
{
	char block[1024];
	cleanup(close_fd) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	memset(block, 'x', sizeof(block));
	assert_true(fd >= 0);
	for (size_t i = 0; i < kib; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(fsync(fd), 0);
}

static uint64_t measure(struct place *p)
{
	uint64_t bytes = 0;

	assert_int_equal(growth_measure(p->fd, -1, &p->stop, &bytes), 0);
	return bytes;
}

static void sizes_are_those_on_the_disk(void **state)
{
	struct place *p = *state;
	uint64_t empty = measure(p);

	write_file(p->fd, "a", 256);
	uint64_t one = measure(p);
	assert_in_range(one - empty, 256 * KIB, 300 * KIB);

	/* Second names are no second files, a hole takes nothing, and a link leads nowhere. */
	assert_int_equal(linkat(p->fd, "a", p->fd, "b", 0), 0);
	assert_int_equal(linkat(p->fd, "a", p->fd, "c", 0), 0);
	assert_int_equal(symlinkat("/usr", p->fd, "link"), 0);
	assert_int_equal(mkfifoat(p->fd, "fifo", 0600), 0);
	cleanup(close_fd) int fd = openat(p->fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	assert_in_range(measure(p) - empty, 256 * KIB - 2, 320 * KIB);

	assert_int_equal(mkdirat(p->fd, "in", 0700), 0);
	cleanup(close_fd) int in = openat(p->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(in, "d", 128);
	assert_in_range(measure(p) - one, 128 * KIB, 200 * KIB);
}

static void what_is_too_deep_is_not_followed(void **state)
{
	struct place *p = *state;
	int fd = dup(p->fd);
	uint64_t bytes = 0;

	for (int i = 0; i < GROWTH_DEPTH + 8; i++) {
		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
		assert_true(fd >= 0);
	}
	close(fd);
	assert_int_equal(growth_measure(p->fd, -1, &p->stop, &bytes), -ELOOP);
	atomic_store(&p->stop, true);
	assert_int_equal(growth_measure(p->fd, -1, &p->stop, &bytes), -ECANCELED);
}

/* ---- again and again ---- */

struct told {
	sd_event *loop;
	int ready, over, error;
};

static void on_ready(void *context, int error)
{
	struct told *t = context;

	t->ready++;
	t->error = error;
}

static void on_over(void *context, int error)
{
	struct told *t = context;

	t->over++;
	t->error = error;
}

static void wait_for(struct told *t, const int *count)
{
	for (int i = 0; i < 600 && *count == 0; i++)
		assert_true(sd_event_run(t->loop, 100000) >= 0);
	assert_int_equal(*count, 1);
	assert_int_equal(t->error, 0);
}

static void what_was_there_before_does_not_count(void **state)
{
	struct place *p = *state;
	struct told t = {0};
	struct growth *g;
	struct growth_options options = {
		.dir_fd = p->fd,
		.cgroup_fd = p->fd, /* no cgroup: no processes */
		.most = 512 * KIB,
		.ready = on_ready,
		.over = on_over,
		.context = &t,
	};

	assert_true(sd_event_new(&t.loop) >= 0);
	options.loop = t.loop;
	write_file(p->fd, "before", 1024);
	assert_int_equal(growth_start(&options, &g), 0);
	wait_for(&t, &t.ready);
	write_file(p->fd, "little", 128);
	for (int i = 0; i < 15; i++)
		assert_true(sd_event_run(t.loop, 100000) >= 0);
	assert_int_equal(t.over, 0);
	write_file(p->fd, "much", 1024);
	wait_for(&t, &t.over);
	growth_stop(g);
	growth_stop(NULL);
	sd_event_unref(t.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sizes_are_those_on_the_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_too_deep_is_not_followed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_there_before_does_not_count, set_up,
						tear_down),
	};

	return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
