/*
 * Templates: what their digest depends on, that a copy is the same, that a change is seen, and the
 * life of one in the state directory.
 */
#include "supervisor/sandbox/changes.h"
#include "supervisor/sandbox/template_copy.h"
#include "supervisor/sandbox/template_watch.h"
#include "supervisor/template_directory.h"
#include "supervisor/template_store.h"
#include "supervisor/templates.h"

#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void put(int dir, const char *name, const char *text, mode_t mode)
{
	cleanup(close_fd) int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static int make_directory(int dir, const char *name)
{
	assert_int_equal(mkdirat(dir, name, 0755), 0);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* A small tree below the new directory @name. */
static int make_tree(int dir, const char *name)
{
	int root = make_directory(dir, name);
	cleanup(close_fd) int bin = make_directory(root, "bin");

	put(bin, "tool", "#!/bin/sh\n", 0755);
	assert_int_equal(linkat(bin, "tool", root, "same", 0), 0);
	assert_int_equal(symlinkat("bin/tool", root, "link"), 0);
	assert_int_equal(mkfifoat(root, "pipe", 0640), 0);
	put(root, "empty", "", 0444);
	put(root, "list", "one\ntwo\n", 0600);
	assert_int_equal(fchownat(root, "list", 1000, 33, 0), 0);
	return root;
}

static struct template_sum sum_of(int root)
{
	struct template_fault fault;
	struct template_sum sum = {0};

	assert_int_equal(template_digest(root, &sum, &fault), 0);
	assert_int_equal(strlen(sum.digest), 64);
	return sum;
}

/* ---- what the digest is of ---- */

static void other_content(int root)
{
	put(root, "list", "one\ntwO\n", 0600);
}

static void other_mode(int root)
{
	assert_int_equal(fchmodat(root, "list", 0640, 0), 0);
}

static void set_user_id(int root)
{
	assert_int_equal(fchmodat(root, "bin/tool", 04755, 0), 0);
}

static void other_owner(int root)
{
	assert_int_equal(fchownat(root, "link", 1, 0, AT_SYMLINK_NOFOLLOW), 0);
}

static void other_group(int root)
{
	assert_int_equal(fchownat(root, "list", 1000, 34, 0), 0);
}

static void other_name(int root)
{
	assert_int_equal(renameat(root, "empty", root, "Empty"), 0);
}

static void one_more(int root)
{
	put(root, "bin/zz", "", 0644);
}

static void one_less(int root)
{
	assert_int_equal(unlinkat(root, "pipe", 0), 0);
}

static void other_target(int root)
{
	unlinkat(root, "link", 0);
	assert_int_equal(symlinkat("bin/tooL", root, "link"), 0);
}

static void other_type(int root)
{
	unlinkat(root, "empty", 0);
	assert_int_equal(mkdirat(root, "empty", 0444), 0);
}

static void no_hard_link(int root)
{
	unlinkat(root, "same", 0);
	put(root, "same", "#!/bin/sh\n", 0755);
}

static void attribute(int root)
{
	cleanup(close_fd) int fd = openat(root, "list", O_RDONLY | O_CLOEXEC);

	assert_int_equal(fsetxattr(fd, "security.capability",
				   "\0\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0),
			 0);
}

static void root_mode(int root)
{
	assert_int_equal(fchmod(root, 0700), 0);
}

static void digest_is_of_all_that_a_session_sees(void **state)
{
	static void (*const changes[])(int root) = {
		other_content, other_mode, set_user_id, other_owner,  other_group,
		other_name,    one_more,   one_less,	other_target, other_type,
		no_hard_link,  attribute,  root_mode,
	};
	struct scratch s = scratch_new();
	char seen[COUNT(changes) + 1][TEMPLATE_HEX];
	char name[8];

	(void)state;
	for (size_t i = 0; i <= COUNT(changes); i++) {
		snprintf(name, sizeof(name), "t%zu", i);
		cleanup(close_fd) int root = make_tree(s.fd, name);

		if (i > 0)
			changes[i - 1](root);
		memcpy(seen[i], sum_of(root).digest, TEMPLATE_HEX);
		for (size_t j = 0; j < i; j++)
			if (strcmp(seen[i], seen[j]) == 0)
				fail_msg("changes %zu and %zu give one digest", i, j);
	}
	scratch_free(&s);
}

static void digest_is_of_nothing_else(void **state)
{
	struct scratch s = scratch_new();
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};

	(void)state;
	cleanup(close_fd) int one = make_tree(s.fd, "one");
	cleanup(close_fd) int two = make_directory(s.fd, "two");
	/* The other way round, and at other times. */
	put(two, "list", "one\ntwo\n", 0600);
	assert_int_equal(fchownat(two, "list", 1000, 33, 0), 0);
	put(two, "empty", "", 0444);
	assert_int_equal(mkfifoat(two, "pipe", 0640), 0);
	assert_int_equal(symlinkat("bin/tool", two, "link"), 0);
	cleanup(close_fd) int bin = make_directory(two, "bin");
	put(two, "same", "#!/bin/sh\n", 0755);
	assert_int_equal(linkat(two, "same", bin, "tool", 0), 0);
	assert_int_equal(utimensat(two, "list", times, 0), 0);

	assert_string_equal(sum_of(one).digest, sum_of(two).digest);
	assert_string_not_equal(sum_of(one).stamp, sum_of(two).stamp);
	scratch_free(&s);
}

static void refuses_owners_that_no_session_has(void **state)
{
	struct scratch s = scratch_new();
	struct template_fault fault;
	struct template_sum sum;

	(void)state;
	cleanup(close_fd) int root = make_tree(s.fd, "tree");
	assert_int_equal(fchownat(root, "bin/tool", 65536, 0, 0), 0);
	assert_int_equal(template_digest(root, &sum, &fault), -EOVERFLOW);
	assert_string_equal(fault.path, "bin/tool");
	assert_non_null(strstr(fault.what, "65536 ids"));
	scratch_free(&s);
}

static void refuses_a_tree_that_has_no_end(void **state)
{
	struct scratch s = scratch_new();
	struct template_fault fault;
	struct template_sum sum;
	int root = make_directory(s.fd, "0"), fd = fcntl(root, F_DUPFD_CLOEXEC, 0);

	(void)state;
	for (int i = 0; i < TEMPLATE_DEPTH_MAX + 2; i++) {
		int next = make_directory(fd, "d");

		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(template_digest(root, &sum, &fault), -ELOOP);
	close(root);
	scratch_free(&s);
}

/* ---- copies ---- */

static void a_copy_is_the_same(void **state)
{
	struct scratch s = scratch_new();
	struct template_fault fault = {0};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat a, b;
	uint64_t left_out = 0;

	(void)state;
	cleanup(close_fd) int from = make_tree(s.fd, "from");
	cleanup(close_fd) int to = make_directory(s.fd, "to");
	attribute(from);
	assert_int_equal(template_copy(from, to, &left_out, &fault), 0);
	assert_int_equal(left_out, 0);
	assert_string_equal(sum_of(from).digest, sum_of(to).digest);
	assert_int_equal(fstatat(to, "same", &a, 0), 0);
	assert_int_equal(fstatat(to, "bin/tool", &b, 0), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(fstatat(from, "list", &a, 0), 0);
	assert_int_equal(fstatat(to, "list", &b, 0), 0);
	assert_memory_equal(&a.st_mtim, &b.st_mtim, sizeof(a.st_mtim));

	/* Of devices and sockets there is no copy. */
	assert_int_equal(mknodat(from, "null", S_IFCHR | 0666, makedev(1, 3)), 0);
	cleanup(close_fd) int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/from/socket", s.path);
	assert_int_equal(bind(listening, (void *)&address, sizeof(address)), 0);
	cleanup(close_fd) int third = make_directory(s.fd, "third");
	assert_int_equal(template_copy(from, third, &left_out, &fault), 0);
	assert_int_equal(left_out, 2);
	assert_string_equal(sum_of(third).digest, sum_of(to).digest);

	assert_int_equal(template_clear(third), 0);
	assert_int_equal(unlinkat(s.fd, "third", AT_REMOVEDIR), 0);
	scratch_free(&s);
}

/* ---- changes ---- */

static void put_below(int root)
{
	put(root, "bin/new", "x", 0600);
}

static void write_in_place(int root)
{
	cleanup(close_fd) int fd = openat(root, "bin/tool", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "!", 1, 0), 1);
}

static void a_change_is_told(void **state)
{
	static void (*const changes[])(int root) = {
		put_below, write_in_place, other_mode, other_owner, other_name, one_less, attribute,
	};
	struct scratch s = scratch_new();
	struct template_sum sum;
	struct template_fault fault;
	int watch;

	(void)state;
	cleanup(close_fd) int root = make_tree(s.fd, "tree");
	for (size_t i = 0; i < COUNT(changes); i++) {
		assert_int_equal(template_watch(root, &watch), 0);
		assert_int_equal(template_stamp(root, &sum, &fault), 0);
		sum_of(root);
		assert_true(changes_none(watch));
		changes[i](root);
		if (changes_none(watch))
			fail_msg("change %zu is not told", i);
		close(watch);
	}
	scratch_free(&s);
}

/* ---- the store ---- */

static void names_are_checked(void **state)
{
	(void)state;
	assert_true(template_name_is_valid("debian-12.5_x"));
	assert_true(template_name_is_valid("_"));
	assert_false(template_name_is_valid(""));
	assert_false(template_name_is_valid("host"));
	assert_false(template_name_is_valid("."));
	assert_false(template_name_is_valid("..x"));
	assert_false(template_name_is_valid("-rf"));
	assert_false(template_name_is_valid("a/b"));
	assert_false(template_name_is_valid("a\n"));
	assert_false(template_name_is_valid(
		"0123456789012345678901234567890123456789012345678901234567890123x"));
}

static void life_of_a_template(void **state)
{
	struct scratch s = scratch_new();
	struct template_info info, again;
	struct fault f = {0};
	char from[128], **names;
	int store, root, lock;
	bool same;

	(void)state;
	assert_int_equal(template_store_open(s.path, false, &store, &f), -ENOENT);
	assert_int_equal(template_store_open(s.path, true, &store, &f), 0);
	cleanup(close_fd) int tree = make_tree(s.fd, "tree");
	snprintf(from, sizeof(from), "%s/tree", s.path);
	assert_int_equal(template_store_add(store, "box", from, false, &info, &f), 0);
	assert_string_equal(info.sum.digest, sum_of(tree).digest);
	assert_int_equal(template_store_add(store, "box", from, false, &info, &f), -EEXIST);
	assert_non_null(strstr(f.text, "--replace"));
	assert_int_equal(template_store_add(store, "host", from, false, &info, &f), -EINVAL);
	assert_int_equal(template_store_add(store, "root", "/", false, &info, &f), -EINVAL);
	assert_non_null(strstr(f.text, "root of the host"));

	assert_int_equal(template_store_load(store, "box", &again, &root, &lock, &f), 0);
	assert_string_equal(again.sum.stamp, info.sum.stamp);
	assert_string_equal(again.source, from);
	assert_int_equal(template_store_remove(store, "box", &f), -EBUSY);
	put(tree, "more", "", 0600);
	assert_int_equal(template_store_add(store, "box", from, true, &info, &f), -EBUSY);
	close(lock);
	assert_int_equal(template_store_add(store, "box", from, true, &info, &f), 0);
	assert_string_not_equal(info.sum.digest, again.sum.digest);
	close(root);

	/* A touch alone changes its stamp; check says that it is the same, and notes it. */
	assert_int_equal(template_store_load(store, "box", &again, &root, &lock, &f), 0);
	close(lock);
	assert_int_equal(fchmodat(root, "more", 0600, 0), 0);
	assert_int_equal(template_store_check(store, "box", &same, &again, &f), 0);
	assert_true(same);
	put(root, "more", "x", 0600);
	close(root);
	assert_int_equal(template_store_check(store, "box", &same, &again, &f), 0);
	assert_false(same);

	assert_int_equal(template_store_list(store, &names, &f), 0);
	assert_string_equal(names[0], "box");
	assert_null(names[1]);
	free(names[0]);
	free(names);
	assert_int_equal(template_store_remove(store, "box", &f), 0);
	assert_int_equal(template_store_remove(store, "box", &f), -ENOENT);
	assert_int_equal(template_store_load(store, "box", &again, &root, &lock, &f), -ENOENT);
	assert_int_equal(template_store_list(store, &names, &f), 0);
	assert_null(names[0]);
	free(names);
	close(store);
	scratch_free(&s);
}

/* What a crash leaves is locked by nobody, and goes with the next that adds. */
static void what_a_crash_left_is_swept(void **state)
{
	struct scratch s = scratch_new();
	struct template_info info;
	struct fault f = {0};
	char from[128];
	int store;

	(void)state;
	assert_int_equal(template_store_open(s.path, true, &store, &f), 0);
	cleanup(close_fd) int left = make_tree(store, ".4711-half");
	cleanup(close_fd) int held = make_tree(store, ".4712-held");
	assert_int_equal(flock(held, LOCK_EX), 0);
	cleanup(close_fd) int tree = make_tree(s.fd, "tree");
	snprintf(from, sizeof(from), "%s/tree", s.path);
	assert_int_equal(template_store_add(store, "box", from, false, &info, &f), 0);
	assert_int_equal(faccessat(store, ".4711-half", F_OK, 0), -1);
	assert_int_equal(faccessat(store, ".4712-held", F_OK, 0), 0);
	close(store);
	scratch_free(&s);
}

/* ---- what a daemon knows ---- */

static void a_changed_template_is_refused(void **state)
{
	struct scratch s = scratch_new();
	struct template_info info;
	struct template_use use;
	struct templates t;
	struct fault f = {0};
	char from[128];
	int store;

	(void)state;
	templates_init(&t);
	assert_int_equal(templates_take(&t, s.path, "box", NULL, &use, &f), -ENOENT);
	assert_non_null(strstr(f.text, "vitrine template add box"));
	assert_int_equal(template_store_open(s.path, true, &store, &f), 0);
	close(make_tree(s.fd, "tree"));
	snprintf(from, sizeof(from), "%s/tree", s.path);
	assert_int_equal(template_store_add(store, "box", from, false, &info, &f), 0);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(templates_take(&t, s.path, "box", NULL, &use, &f), 0);
		assert_string_equal(use.digest, info.sum.digest);
		assert_int_equal(template_store_remove(store, "box", &f), -EBUSY);
		if (i == 2)
			put(use.root_fd, "bin/tool", "#!/bin/sh\nevil\n", 0755);
		template_use_end(&use);
		template_use_end(&use);
	}
	assert_int_equal(templates_take(&t, s.path, "box", NULL, &use, &f), -ESTALE);
	assert_non_null(strstr(f.text, "changed after it was added"));
	templates_free(&t);
	close(store);
	scratch_free(&s);
}

static void a_directory_is_read_once(void **state)
{
	struct scratch s = scratch_new();
	const struct timespec once[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct template_sum first, second;
	struct fault f = {0};
	char from[128], note[160];

	(void)state;
	cleanup(close_fd) int tree = make_tree(s.fd, "tree");
	snprintf(from, sizeof(from), "%s/tree", s.path);
	snprintf(note, sizeof(note), "%s/templates/.paths", s.path);

	/* Just made: a change within the same tick of the clock would not be seen, so it is not
	 * noted. */
	assert_int_equal(template_of_directory(s.path, from, &first, &f), 0);
	struct stat st;
	assert_int_equal(stat(note, &st), 0);
	assert_int_equal(st.st_nlink, 2);
	DIR *dir = opendir(note);
	int files = 0;
	for (struct dirent *e; (e = readdir(dir));)
		files += e->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(files, 0);

	/* Neither size nor time of writing tell, the content does. */
	put(tree, "list", "oNe\ntwo\n", 0600);
	assert_int_equal(utimensat(tree, "list", once, 0), 0);
	assert_int_equal(template_of_directory(s.path, from, &second, &f), 0);
	assert_string_not_equal(first.digest, second.digest);
	assert_int_equal(template_of_directory(s.path, "/", &second, &f), -EINVAL);
	scratch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_is_of_all_that_a_session_sees),
		cmocka_unit_test(digest_is_of_nothing_else),
		cmocka_unit_test(refuses_owners_that_no_session_has),
		cmocka_unit_test(refuses_a_tree_that_has_no_end),
		cmocka_unit_test(a_copy_is_the_same),
		cmocka_unit_test(a_change_is_told),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(life_of_a_template),
		cmocka_unit_test(what_a_crash_left_is_swept),
		cmocka_unit_test(a_changed_template_is_refused),
		cmocka_unit_test(a_directory_is_read_once),
	};

	if (geteuid() != 0) {
		puts("needs root: skipped");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
