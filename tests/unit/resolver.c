/* File handles to their places, on a tmpfs. Needs root: opening by handle is refused to others. */
#include "../../supervisor/capture/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SESSION 5

struct fixture {
	struct resolver *resolver;
	int root_fd;
	uint8_t *reply;
	size_t size;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char place[] = "/tmp/vitrine-resolver.XXXXXX";

	if (geteuid() != 0) {
		free(f);
		return 0;
	}
	assert_non_null(mkdtemp(place));
	assert_int_equal(mount("none", place, "tmpfs", 0, "size=1m"), 0);
	f->root_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
	umount2(place, MNT_DETACH);
	rmdir(place);
	f->reply = malloc(NAMES_REPLY_MAX);
	assert_int_equal(resolver_new(&f->resolver), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (!f)
		return 0;
	resolver_free(f->resolver);
	close(f->root_fd);
	free(f->reply);
	free(f);
	return 0;
}

#define NEEDS_ROOT(f)                                                                              \
	do {                                                                                       \
		if (!(f))                                                                          \
			skip();                                                                    \
	} while (0)

static struct file_id handle_of(int at, const char *name)
{
	union {
		struct file_handle head;
		uint8_t room[sizeof(struct file_handle) + NAMES_HANDLE_MAX];
	} kernel = {.head.handle_bytes = NAMES_HANDLE_MAX};
	struct file_id id = {0};
	int mount;

	assert_int_equal(name_to_handle_at(at, name, &kernel.head, &mount, AT_EMPTY_PATH), 0);
	id.type = kernel.head.handle_type;
	id.size = kernel.head.handle_bytes;
	memcpy(id.bytes, kernel.head.f_handle, id.size);
	return id;
}

static int ask(struct fixture *f, enum names_request_kind kind, const struct file_id *handle,
	       int fd)
{
	struct names_request request = {.id = 99, .session = SESSION, .kind = kind};
	struct names_reply head;

	if (handle)
		request.handle = *handle;
	f->size = resolver_answer(f->resolver, &request, fd, f->reply);
	assert_true(f->size >= sizeof(head));
	memcpy(&head, f->reply, sizeof(head));
	assert_int_equal(head.id, 99);
	if (head.error < 0) {
		assert_int_equal(head.steps, 0);
		assert_int_equal(f->size, sizeof(head));
	}
	return head.error < 0 ? head.error : (int)head.steps;
}

static void expect_step(struct fixture *f, size_t *cursor, const struct file_id *handle,
			const char *name)
{
	struct names_step step;

	memcpy(&step, f->reply + *cursor, sizeof(step));
	*cursor += sizeof(step);
	assert_int_equal(step.type, handle->type);
	assert_int_equal(step.handle_size, handle->size);
	assert_memory_equal(f->reply + *cursor, handle->bytes, handle->size);
	*cursor += step.handle_size;
	assert_int_equal(step.name_size, strlen(name));
	assert_memory_equal(f->reply + *cursor, name, step.name_size);
	*cursor += step.name_size;
}

static void add(struct fixture *f)
{
	assert_int_equal(ask(f, NAMES_ADD, NULL, dup(f->root_fd)), 1);
}

static void walks_up_to_the_root(void **state)
{
	struct fixture *f = *state;
	size_t cursor = sizeof(struct names_reply);

	NEEDS_ROOT(f);
	add(f);
	mkdirat(f->root_fd, "a", 0700);
	mkdirat(f->root_fd, "a/b (deleted)", 0);
	struct file_id root = handle_of(f->root_fd, "");
	struct file_id a = handle_of(f->root_fd, "a");
	struct file_id b = handle_of(f->root_fd, "a/b (deleted)");
	assert_int_equal(ask(f, NAMES_RESOLVE, &b, -1), 3);
	expect_step(f, &cursor, &b, "b (deleted)");
	expect_step(f, &cursor, &a, "a");
	expect_step(f, &cursor, &root, "");
	assert_int_equal(cursor, f->size);

	renameat(f->root_fd, "a/b (deleted)", f->root_fd, "c\n");
	cursor = sizeof(struct names_reply);
	assert_int_equal(ask(f, NAMES_RESOLVE, &b, -1), 2);
	expect_step(f, &cursor, &b, "c\n");
}

static void knows_no_place_of_what_is_gone(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT(f);
	add(f);
	mkdirat(f->root_fd, "a", 0700);
	struct file_id a = handle_of(f->root_fd, "a");
	int held = openat(f->root_fd, "a", O_RDONLY | O_DIRECTORY);
	unlinkat(f->root_fd, "a", AT_REMOVEDIR);
	assert_int_equal(ask(f, NAMES_RESOLVE, &a, -1), -ESTALE);
	close(held);
	assert_int_equal(ask(f, NAMES_RESOLVE, &a, -1), -ESTALE);
}

static void opens_directories_only(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT(f);
	add(f);
	close(openat(f->root_fd, "file", O_WRONLY | O_CREAT, 0600));
	struct file_id file = handle_of(f->root_fd, "file");
	assert_int_equal(ask(f, NAMES_RESOLVE, &file, -1), -ENOTDIR);
}

static void refuses_what_makes_no_sense(void **state)
{
	struct fixture *f = *state;
	struct file_id odd = {.type = 1, .size = NAMES_HANDLE_MAX + 1};

	NEEDS_ROOT(f);
	assert_int_equal(ask(f, NAMES_RESOLVE, &odd, -1), -ENOENT);
	assert_int_equal(ask(f, NAMES_ADD, NULL, -1), -EINVAL);
	add(f);
	assert_int_equal(ask(f, NAMES_RESOLVE, &odd, -1), -EINVAL);
	odd.size = 0;
	assert_true(ask(f, NAMES_RESOLVE, &odd, -1) < 0);
	assert_int_equal(ask(f, 77, NULL, -1), -EBADMSG);
}

static void forgets_a_session(void **state)
{
	struct fixture *f = *state;

	NEEDS_ROOT(f);
	add(f);
	add(f); /* anew: the one before is let go */
	struct file_id root = handle_of(f->root_fd, "");
	assert_int_equal(ask(f, NAMES_RESOLVE, &root, -1), 1);
	assert_int_equal(ask(f, NAMES_REMOVE, NULL, -1), 0);
	assert_int_equal(ask(f, NAMES_RESOLVE, &root, -1), -ENOENT);
	assert_int_equal(ask(f, NAMES_REMOVE, NULL, -1), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(walks_up_to_the_root),   TEST(knows_no_place_of_what_is_gone),
		TEST(opens_directories_only), TEST(refuses_what_makes_no_sense),
		TEST(forgets_a_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
