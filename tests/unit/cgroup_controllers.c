/*
 * Controllers that were switched on, and back: on a directory that looks like the root of a v2
 * hierarchy. The last word that was written to a file is what stands in it.
 */
#include "supervisor/sandbox/cgroup_controllers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/xattr.h>

#include "scratch.h"

#include <cmocka.h>

#define SUBTREE "cgroup.subtree_control"

struct hierarchy {
	struct scratch s;
	struct cgroup_root root;
};

static void put(const struct hierarchy *h, const char *name, const char *text)
{
	scratch_write(&h->s, name, text, strlen(text));
}

/* Writes go to a file from its start and leave what is behind. */
static void expect_written(const struct hierarchy *h, const char *name, const char *want)
{
	size_t size;
	cleanup(free) uint8_t *have = scratch_read(&h->s, name, &size);

	have[size] = 0;
	assert_string_equal((char *)have, want);
}

static int open_hierarchy(void **state)
{
	static struct hierarchy h;

	h.s = scratch_new();
	put(&h, "cgroup.controllers", "cpuset cpu io memory pids\n");
	put(&h, SUBTREE, "");
	assert_int_equal(mkdirat(h.s.fd, "vitrine", 0755), 0);
	put(&h, "vitrine/cgroup.controllers", "cpu\n");
	put(&h, "vitrine/" SUBTREE, "");
	snprintf(h.root.path, sizeof(h.root.path), "%s", h.s.path);
	h.root.fd = openat(h.s.fd, "vitrine", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &h;
	return fsetxattr(h.root.fd, "trusted.vitrine.test", "x", 1, 0);
}

static int close_hierarchy(void **state)
{
	struct hierarchy *h = *state;

	close(h->root.fd);
	scratch_free(&h->s);
	return 0;
}

static void what_is_switched_on_is_noted(void **state)
{
	struct hierarchy *h = *state;
	char why[LIMITS_WHY], noted[CONTROLLERS_ROOM];

	cgroup_controllers_noted(h->root.fd, noted);
	assert_string_equal(noted, "");
	assert_int_equal(cgroup_controller_enable(&h->root, "memory", why), 0);
	expect_written(h, SUBTREE, "+memory");
	expect_written(h, "vitrine/" SUBTREE, "+memory");
	for (int i = 0; i < 2; i++)
		assert_int_equal(cgroup_controller_enable(&h->root, "pids", why), 0);
	/* One that was there already is nobody's to take away. */
	put(h, SUBTREE, "");
	assert_int_equal(cgroup_controller_enable(&h->root, "cpu", why), 0);
	expect_written(h, SUBTREE, "");
	cgroup_controllers_noted(h->root.fd, noted);
	assert_string_equal(noted, "memory pids");

	/* A part of a name is not the name. */
	assert_int_equal(cgroup_controller_enable(&h->root, "mem", why), -ENOENT);
	assert_int_equal(cgroup_controller_enable(&h->root, "set", why), -ENOENT);
	unlinkat(h->s.fd, SUBTREE, 0);
	assert_int_equal(cgroup_controller_enable(&h->root, "io", why), -ENOENT);
	assert_non_null(strstr(why, SUBTREE " takes no +io"));
}

static void what_nobody_uses_is_switched_off(void **state)
{
	struct hierarchy *h = *state;

	assert_int_equal(mkdirat(h->s.fd, "other", 0755), 0);
	put(h, "other/memory.max", "max\n");
	put(h, "other/memory.high", "max\n");
	put(h, "other/memory.min", "0\n");
	put(h, "other/cpu.max", "max 100000\n");
	put(h, "other/cpu.weight", "100\n");
	put(h, "other/io.max", "");
	put(h, "other/io.weight", "default 100\n");
	put(h, "other/" SUBTREE, "");
	cgroup_controllers_put_back(h->s.fd, "");
	expect_written(h, SUBTREE, "");
	cgroup_controllers_put_back(h->s.fd, "memory");
	expect_written(h, SUBTREE, "-memory");
	cgroup_controllers_put_back(h->s.fd, "cpu io");
	expect_written(h, SUBTREE, "-iouory");
}

static void what_others_use_stays(void **state)
{
	static const char *const files[][2] = {
		{"memory.max", "1048576\n"},   {"memory.low", "4096\n"},
		{"memory.high", "0\n"},	       {"cpu.max", "50000 100000\n"},
		{"cpu.weight", "1000\n"},      {"io.max", "8:0 rbps=1048576\n"},
		{"io.weight", "default 50\n"}, {"pids.max", "7\n"},
		{SUBTREE, "cpu memory\n"},
	};
	struct hierarchy *h = *state;

	assert_int_equal(mkdirat(h->s.fd, "other", 0755), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[64], name[32];

		snprintf(path, sizeof(path), "other/%s", files[i][0]);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(files[i][0], "."), files[i][0]);
		put(h, path, files[i][1]);
		cgroup_controllers_put_back(h->s.fd, strcmp(name, "cgroup") == 0 ? "cpu" : name);
		expect_written(h, SUBTREE, "");
		unlinkat(h->s.fd, path, 0);
	}
	cgroup_controllers_put_back(h->s.fd, "memory");
	expect_written(h, SUBTREE, "-memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_switched_on_is_noted, open_hierarchy,
						close_hierarchy),
		cmocka_unit_test_setup_teardown(what_nobody_uses_is_switched_off, open_hierarchy,
						close_hierarchy),
		cmocka_unit_test_setup_teardown(what_others_use_stays, open_hierarchy,
						close_hierarchy),
	};

	if (geteuid() != 0) {
		puts("needs root: skipped");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
