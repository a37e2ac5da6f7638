/*
 * A look at trees that bite: what changed is told, whatever stands in the way is counted, and
 * nothing but directories and regular files is ever opened.
 */
#include "supervisor/capture/survey.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
/* cmocka wants the three above */
#include <cmocka.h>

#define TEXT_MAX (4 << 20)
#define HOUR_NS 3600000000000ULL

static const char *const changes[] = {
	[FINAL_SAME] = "same",	       [FINAL_CREATED] = "created",
	[FINAL_MODIFIED] = "modified", [FINAL_REPLACED] = "replaced",
	[FINAL_DELETED] = "deleted",   [FINAL_ATTRIBUTES] = "attributes"};

struct world {
	struct scratch scratch;
	int upper, base, lower;
	struct survey_options options;
	struct content_budget budget;
	struct final_totals totals;
	struct final_packet last; /* FINAL_FOUND */
	size_t found, depth, deepest;
	bool is_quiet; /* do not write down */
	char *text;
	size_t used;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static int on_packet(void *context, const struct final_packet *p, const char *name,
		     const char *target)
{
	struct world *w = context;

	w->depth += p->kind == FINAL_ENTER;
	w->depth -= p->kind == FINAL_LEAVE;
	w->deepest = w->depth > w->deepest ? w->depth : w->deepest;
	if (p->kind == FINAL_FOUND) {
		w->last = *p;
		w->found++;
	}
	if (w->is_quiet || p->kind == FINAL_LEAVE)
		return 0;
	w->used += (size_t)snprintf(w->text + w->used, TEXT_MAX - w->used, "%s%.*s%s%.*s\n",
				    p->kind == FINAL_ENTER ? "in " : changes[p->change],
				    (int)p->name_size + 1, p->kind == FINAL_ENTER ? name : " ",
				    p->kind == FINAL_ENTER ? "" : name, (int)p->target_size,
				    target ? target : "");
	return 0;
}

static int make(int parent, const char *name)
{
	assert_int_equal(mkdirat(parent, name, 0755), 0);
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void put(int dir, const char *path, const char *text)
{
	cleanup(close_fd) int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->text = calloc(1, TEXT_MAX);
	assert_non_null(w->text);
	w->scratch = scratch_new();
	w->upper = make(w->scratch.fd, "upper");
	w->base = make(w->scratch.fd, "base");
	w->lower = make(w->scratch.fd, "lower");
	w->budget =
		(struct content_budget){.bytes_max = 1 << 30, .deadline_ns = now_ns() + HOUR_NS};
	w->options = (struct survey_options){
		.upper_fd = w->upper,
		.root_fd = -1,
		.below_fds = {w->base, w->lower},
		.workspace_fd = -1,
		.files_max = UINT64_MAX,
		.emit = on_packet,
		.context = w,
	};
	*state = w;
	return 0;
}

/* A tree of any depth. */
static void remove_tree(const char *path)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execlp("rm", "rm", "-rf", path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	close(w->upper);
	close(w->base);
	close(w->lower);
	close(w->scratch.fd);
	remove_tree(w->scratch.path);
	secrets_free(w->budget.secrets);
	free(w->text);
	free(w);
	return 0;
}

static size_t count_descriptors(void)
{
	cleanup(closedir) DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(dir))
		count++;
	return count;
}

static int survey(struct world *w)
{
	size_t before = count_descriptors();

	assert_int_equal(content_new(&w->budget, &w->options.content), 0);
	int r = survey_root(&w->options, &w->totals);
	content_free(w->options.content);
	assert_int_equal(count_descriptors(), before);
	return r;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lines that were told, in the order of the alphabet: a directory has none. */
static char *sorted(struct world *w)
{
	static char out[65536];
	const char *lines[256];
	size_t count = 0, used = 0;
	char *rest = w->text, *line;

	while ((line = strsep(&rest, "\n")) && *line && count < 256)
		lines[count++] = line;
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s\n", lines[i]);
	return out;
}

static void each_change_has_its_word(void **state)
{
	struct world *w = *state;

	put(w->upper, "new", "1");
	put(w->lower, "longer", "1");
	put(w->upper, "longer", "12");
	put(w->base, "other", "1");
	put(w->lower, "other", "hidden by the base");
	put(w->upper, "other", "2");
	put(w->lower, "touched", "1");
	put(w->upper, "touched", "1");
	put(w->lower, "chmod", "1");
	put(w->upper, "chmod", "1");
	assert_int_equal(fchmodat(w->upper, "chmod", 0600, 0), 0);
	put(w->lower, "file-to-link", "1");
	assert_int_equal(symlinkat("x", w->upper, "file-to-link"), 0);
	assert_int_equal(symlinkat("x", w->lower, "link"), 0);
	assert_int_equal(symlinkat("y", w->upper, "link"), 0);
	assert_int_equal(symlinkat("x", w->lower, "same-link"), 0);
	assert_int_equal(symlinkat("x", w->upper, "same-link"), 0);
	put(w->lower, "gone", "1");
	assert_int_equal(mknodat(w->upper, "gone", S_IFCHR, makedev(0, 0)), 0);
	assert_int_equal(mknodat(w->upper, "never-was", S_IFCHR, makedev(0, 0)), 0);
	close(make(w->lower, "passed"));
	close(make(w->upper, "passed"));
	put(w->upper, "passed/in-it", "1");

	assert_int_equal(survey(w), 0);
	assert_string_equal(sorted(w), "attributes chmod\n"
				       "created in-it\n"
				       "created new\n"
				       "deleted gone\n"
				       "in passed\n"
				       "modified linky\n"
				       "modified longer\n"
				       "modified other\n"
				       "replaced file-to-linkx\n"
				       "same same-linkx\n"
				       "same touched\n");
	assert_int_equal(w->totals.found, 10);
}

static void both_ends_are_told(void **state)
{
	/* of "abc" and of nothing */
	static const uint8_t abc[4] = {0xba, 0x78, 0x16, 0xbf}, none[4] = {0xe3, 0xb0, 0xc4, 0x42};
	struct world *w = *state;

	put(w->lower, "f", "abc");
	put(w->upper, "f", "");
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->last.now.size, 0);
	assert_int_equal(w->last.before.size, 3);
	assert_int_equal(w->last.now.unhashed, FINAL_HASHED);
	assert_memory_equal(w->last.now.sha256, none, 4);
	assert_memory_equal(w->last.before.sha256, abc, 4);
	assert_int_equal(w->totals.bytes, 3);
}

/* Over another directory the root shows that one's inode, in its place its own. */
static void what_a_new_directory_hides_is_gone(void **state)
{
	struct world *w = *state;

	close(make(w->base, "d"));
	close(make(w->lower, "d"));
	put(w->base, "d/in-both", "1");
	put(w->lower, "d/in-both", "1");
	put(w->lower, "d/kept", "1");
	close(make(w->upper, "d"));
	put(w->upper, "d/kept", "1");

	w->options.root_fd = w->base;
	assert_int_equal(survey(w), 0);
	assert_string_equal(sorted(w), "in d\nsame kept\n");
	w->used = 0;
	memset(w->text, 0, TEXT_MAX);
	w->options.root_fd = w->upper;
	assert_int_equal(survey(w), 0);
	assert_string_equal(sorted(w), "deleted in-both\nin d\nreplaced d\nsame kept\n");
}

static void names_that_bite_are_names(void **state)
{
	struct world *w = *state;

	put(w->upper, "new\nline", "1");
	put(w->upper, "\xff\xfe", "1");
	put(w->upper, "...", "1");
	assert_int_equal(symlinkat("loop", w->upper, "loop"), 0);
	assert_int_equal(symlinkat("/", w->upper, "out"), 0);
	assert_int_equal(symlinkat("..", w->upper, "up"), 0);
	close(make(w->upper, "d"));
	assert_int_equal(symlinkat("../d", w->upper, "d/again"), 0);
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->found, 8);
	assert_int_equal(w->totals.bytes, 3);
}

/* To open one would wait for a writer, or ring a driver. */
static void what_is_no_file_is_not_opened(void **state)
{
	struct world *w = *state;

	assert_int_equal(mkfifoat(w->upper, "fifo", 0666), 0);
	put(w->lower, "was-a-file", "1");
	assert_int_equal(mkfifoat(w->upper, "was-a-file", 0666), 0);
	assert_int_equal(mknodat(w->upper, "socket", S_IFSOCK | 0666, 0), 0);
	assert_int_equal(survey(w), 0);
	assert_string_equal(sorted(w), "created fifo\ncreated socket\nreplaced was-a-file\n");
	assert_int_equal(w->totals.bytes, 1);
}

static void many_files_are_told(void **state)
{
	struct world *w = *state;
	char name[32];

	w->is_quiet = true;
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		put(w->upper, name, "1");
	}
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->found, 10000);
	w->found = 0;
	w->options.files_max = 100;
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->found, 100);
	assert_int_equal(w->totals.untold, 9900);
	assert_int_equal(w->totals.bytes, 100);
}

static void make_deep(int upper, int depth)
{
	int at = fcntl(upper, F_DUPFD_CLOEXEC, 3);

	for (int i = 0; i < depth; i++) {
		int next = make(at, "d");

		close(at);
		at = next;
	}
	put(at, "bottom", "1");
	close(at);
}

static void a_deep_tree_is_told_to_its_bottom(void **state)
{
	struct world *w = *state;
	struct rlimit was, now;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	now = was;
	now.rlim_cur = now.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	w->is_quiet = true;
	make_deep(w->upper, 2500);
	put(w->upper, "beside", "1");
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->found, 2502);
	assert_int_equal(w->deepest, 2500);
	assert_int_equal(w->totals.too_deep, 0);

	/* And without descriptors for it only as far as they last; the rest is not lost with it. */
	now.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	w->found = 0;
	int r = survey(w);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(r, 0);
	assert_int_equal(w->totals.too_deep, 1);
	assert_in_range(w->found, 50, 102);
}

static void what_may_be_read_is_bounded(void **state)
{
	struct world *w = *state;

	put(w->upper, "sparse", "");
	cleanup(close_fd) int fd = openat(w->upper, "sparse", O_WRONLY);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->last.now.unhashed, FINAL_TOO_LARGE);
	assert_int_equal(w->last.now.size, (uint64_t)1 << 40);
	assert_int_equal(w->totals.bytes, 0);

	assert_int_equal(unlinkat(w->upper, "sparse", 0), 0);
	put(w->upper, "a", "123456");
	put(w->upper, "b", "123456");
	w->budget.bytes_max = 10;
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->last.now.unhashed, FINAL_BYTES);
	assert_int_equal(w->totals.bytes, 6);

	w->budget.is_off = true;
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->last.now.unhashed, FINAL_OFF);

	w->budget.deadline_ns = 1;
	w->found = 0;
	assert_int_equal(survey(w), 0);
	assert_int_equal(w->totals.out_of_time, 1);
	assert_int_equal(w->found, 0);
}

/* What is hashed is what was looked at, or nothing. */
static void a_file_that_changes_has_no_hash(void **state)
{
	struct world *w = *state;
	struct final_file file = {0};
	struct content *c;
	struct stat st;

	assert_int_equal(content_new(&w->budget, &c), 0);
	put(w->upper, "f", "1234");
	assert_int_equal(fstatat(w->upper, "f", &st, 0), 0);
	put(w->upper, "f", "12345");
	content_hash(c, w->upper, "f", &st, &file);
	assert_int_equal(file.unhashed, FINAL_UNREADABLE);
	put(w->upper, "f", "1");
	content_hash(c, w->upper, "f", &st, &file);
	assert_int_equal(file.unhashed, FINAL_UNREADABLE);
	assert_int_equal(unlinkat(w->upper, "f", 0), 0);
	content_hash(c, w->upper, "f", &st, &file);
	assert_int_equal(file.unhashed, FINAL_UNREADABLE);
	assert_int_equal(mkfifoat(w->upper, "f", 0666), 0);
	content_hash(c, w->upper, "f", &st, &file);
	assert_int_equal(file.unhashed, FINAL_UNREADABLE);
	assert_int_equal(unlinkat(w->upper, "f", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", w->upper, "f"), 0);
	content_hash(c, w->upper, "f", &st, &file);
	assert_int_equal(file.unhashed, FINAL_UNREADABLE);
	content_free(c);
}

static enum final_unhashed hash_of(struct world *w, size_t zeros, const char *text)
{
	cleanup(close_fd) int fd = openat(w->upper, "s", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)zeros), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), (off_t)zeros), strlen(text));
	assert_int_equal(survey(w), 0);
	return w->last.now.unhashed;
}

static void a_file_with_a_secret_has_no_hash(void **state)
{
	static const uint8_t key[32];
	const char secret[] = "correct-horse-battery";
	const struct redact_secret list = {"TOKEN", secret, sizeof(secret) - 1};
	struct world *w = *state;

	assert_int_equal(secrets_new(key, &list, 1, &w->budget.secrets), 0);
	assert_int_equal(hash_of(w, 0, "nothing to see"), FINAL_HASHED);
	assert_int_equal(hash_of(w, 0, "x correct-horse-battery y"), FINAL_SECRET);
	assert_int_equal(hash_of(w, 0, "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"), FINAL_SECRET);
	for (size_t zeros = 256 * 1024 - 30; zeros < 256 * 1024 + 5; zeros += 3)
		assert_int_equal(hash_of(w, zeros, "x correct-horse-battery"), FINAL_SECRET);
	assert_int_equal(hash_of(w, 700000, "x correct-horse-battery"), FINAL_SECRET);
	assert_int_equal(hash_of(w, 700000, "x correct-horse"), FINAL_HASHED);
}

static void look(struct world *w, const char *path)
{
	assert_int_equal(content_new(&w->budget, &w->options.content), 0);
	assert_int_equal(survey_workspace(&w->options, path), 0);
	content_free(w->options.content);
}

static void nothing_leads_out_of_the_workspace(void **state)
{
	static const char *const out[] = {
		"gone", "d/gone",	  "link/f",	 "..",
		"d/..", "../base/secret", "/etc/passwd", "d/../../base/secret"};
	struct world *w = *state;

	w->options.workspace_fd = w->upper;
	close(make(w->upper, "d"));
	put(w->upper, "d/f", "12");
	put(w->base, "secret", "1");
	assert_int_equal(symlinkat("d", w->upper, "link"), 0);
	look(w, "d/f");
	assert_int_equal(w->last.now.size, 2);
	assert_int_equal(w->last.now.unhashed, FINAL_HASHED);
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		look(w, out[i]);
		assert_int_equal(w->last.now.mode, 0);
	}
	look(w, "link");
	assert_true(S_ISLNK(w->last.now.mode));
}

static int refuse(void *context, const struct final_packet *p, const char *name, const char *target)
{
	(void)context, (void)p, (void)name, (void)target;
	return -EPIPE;
}

static void it_ends_when_nobody_listens(void **state)
{
	struct world *w = *state;

	make_deep(w->upper, 20);
	w->options.emit = refuse;
	assert_int_equal(survey(w), -EPIPE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(each_change_has_its_word),		  TEST(both_ends_are_told),
		TEST(what_a_new_directory_hides_is_gone), TEST(names_that_bite_are_names),
		TEST(what_is_no_file_is_not_opened),	  TEST(many_files_are_told),
		TEST(a_deep_tree_is_told_to_its_bottom),  TEST(what_may_be_read_is_bounded),
		TEST(a_file_that_changes_has_no_hash),	  TEST(a_file_with_a_secret_has_no_hash),
		TEST(nothing_leads_out_of_the_workspace), TEST(it_ends_when_nobody_listens),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
