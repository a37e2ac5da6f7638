/*
 * Programs are loaded, attached and given sessions by the kernel that runs the test. Needs root;
 * says so and is skipped without.
 *
 * tests/golden/verifier.txt has the instructions that the verifier looks at for each program, per
 * kernel: a program that grew by more than a tenth has to be looked at. GOLDEN=write takes what
 * this kernel says.
 */
#include "../../supervisor/capture/sensors.h"

#include "../../supervisor/capture/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GOLDEN "tests/golden/verifier.txt"
#define RING_BYTES (4u << 20)

struct world {
	struct sensors *sensors;
	char root[128]; /* a cgroup of our own */
	int cgroup_fd;
};

static struct world world;

static int set_up(void **state)
{
	struct world *w = &world;
	char error[512] = "";
	struct sensors_options options = {
		.session_level = 2,
		.ring_bytes = RING_BYTES,
		.rings = 2,
	};

	*state = w;
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 0;
	}
	snprintf(w->root, sizeof(w->root), "%s/vitrine-test-%d",
		 access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0 ? "/sys/fs/cgroup/unified"
									  : "/sys/fs/cgroup",
		 getpid());
	assert_int_equal(mkdir(w->root, 0755), 0);
	w->cgroup_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->cgroup_fd >= 0);
	options.cgroup_fd = w->cgroup_fd;
	if (sensors_load(&options, &w->sensors, error) < 0)
		fail_msg("%s", error);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	if (geteuid() != 0)
		return 0;
	sensors_free(w->sensors);
	close(w->cgroup_fd);
	return rmdir(w->root);
}

static struct world *needs_root(void **state)
{
	if (geteuid() != 0)
		skip();
	return *state;
}

/* ---- sessions of the test ---- */

struct session {
	char path[160];
	uint64_t cgroup;
	struct sensors_session slot;
};

static int watch(struct world *w, uint64_t cgroup, struct sensors_session *ret_session)
{
	const struct sensors_subject subject = {.cgroup = cgroup};

	int r = sensors_take_slot(w->sensors, ret_session);

	return r < 0 ? r : sensors_open_session(w->sensors, &subject, ret_session);
}

static void open_session(struct world *w, struct session *s, const char *name)
{
	struct stat st;

	snprintf(s->path, sizeof(s->path), "%s/%s", w->root, name);
	assert_int_equal(mkdir(s->path, 0755), 0);
	assert_int_equal(stat(s->path, &st), 0);
	s->cgroup = st.st_ino;
	assert_int_equal(watch(w, s->cgroup, &s->slot), 0);
}

static void close_session(struct world *w, struct session *s)
{
	sensors_close_session(w->sensors, s->cgroup, s->slot.slot);
	assert_int_equal(rmdir(s->path), 0);
}

/* A process of the session forks and ends: a few records. */
static void act(const struct session *s)
{
	char path[192];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", s->path);
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
		if (fork() == 0)
			_exit(0);
		wait(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static uint64_t filled(const struct session *s)
{
	struct ring ring;

	assert_int_equal(ring_map(&ring, s->slot.ring_fd, s->slot.ring_bytes), 0);
	uint64_t fill = ring_fill(&ring);
	ring_unmap(&ring);
	return fill;
}

/* ---- tests ---- */

static void all_is_loaded_and_named(void **state)
{
	struct world *w = needs_root(state);
	const char *const *names = sensors_names(w->sensors);
	bool exec = false, failed = false;

	for (; *names; names++) {
		exec |= strcmp(*names, "tp_btf/sched_process_exec") == 0;
		failed |= strcmp(*names, "sys_exit/execve") == 0;
	}
	assert_true(exec);
	assert_true(failed);
	assert_true(sensors_map_fd(w->sensors, "numbers") >= 0);
	assert_true(sensors_map_fd(w->sensors, "losses") >= 0);
	assert_true(sensors_map_fd(w->sensors, "written_files") >= 0);
	assert_int_equal(sensors_map_fd(w->sensors, "nothing"), -EINVAL);
}

static void only_what_a_session_does_comes_to_its_ring(void **state)
{
	struct world *w = needs_root(state);
	char error[512] = "";
	struct session one, other;

	open_session(w, &one, "one");
	open_session(w, &other, "other");
	assert_int_not_equal(one.slot.slot, other.slot.slot);
	act(&one);
	assert_int_equal(filled(&one), 0); /* nothing is attached */

	assert_int_equal(sensors_attach(w->sensors, error), 0);
	assert_int_equal(sensors_attach(w->sensors, error), 0);
	act(&one);
	assert_true(filled(&one) > 0);
	assert_int_equal(filled(&other), 0);

	sensors_detach(w->sensors);
	sensors_detach(w->sensors);
	uint64_t before = 0;
	for (int tries = 0; tries < 1000 && before != filled(&one); tries++) {
		before = filled(&one);
		act(&one);
	}
	assert_int_equal(filled(&one), before);

	/* Again before the kernel has let go of all of it. */
	assert_int_equal(sensors_attach(w->sensors, error), 0);
	act(&other);
	assert_true(filled(&other) > 0);
	sensors_detach(w->sensors);
	close_session(w, &one);
	close_session(w, &other);
}

static void a_slot_is_given_out_again_with_an_empty_ring(void **state)
{
	struct world *w = needs_root(state);
	char error[512] = "";
	bool seen[SESSION_SLOTS] = {false}, again = false;

	assert_int_equal(sensors_attach(w->sensors, error), 0);
	/* A ring is made ready again by a thread; until then another slot is given out. */
	for (int i = 0; i < 20 && !again; i++) {
		struct session s;

		open_session(w, &s, "s");
		assert_int_equal(filled(&s), 0);
		act(&s);
		assert_true(filled(&s) > 0);
		again = seen[s.slot.slot];
		seen[s.slot.slot] = true;
		close_session(w, &s);
	}
	assert_true(again);
	sensors_detach(w->sensors);
}

static void more_sessions_than_rings_were_made_ahead(void **state)
{
	struct world *w = needs_root(state);
	struct sensors_session s[9];

	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(watch(w, 1000 + i, &s[i]), 0);
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(s[i].slot, s[j].slot);
	}
	for (uint32_t i = 0; i < 9; i++)
		sensors_close_session(w->sensors, 1000 + i, s[i].slot);
	sensors_close_session(w->sensors, 1000, s[0].slot); /* twice does no harm */
}

static void the_mark_leaves_room_above_and_below(void **state)
{
	struct world *w = needs_root(state);
	struct sensors_session s;

	assert_int_equal(watch(w, 1, &s), 0);
	assert_int_equal(s.ring_bytes, RING_BYTES);
	assert_true(s.high_water >= RING_BYTES / 8);
	assert_true(s.high_water <= RING_BYTES / 4 * 3);
	sensors_close_session(w->sensors, 1, s.slot);
}

/* ---- instruction counts ---- */

static size_t kernel_of(char *text, size_t size)
{
	struct utsname name;
	unsigned int major = 0, minor = 0;

	uname(&name);
	char *rest = NULL;
	major = (unsigned int)strtoul(name.release, &rest, 10);
	minor = (unsigned int)strtoul(rest + 1, NULL, 10);
	return (size_t)snprintf(text, size, "%u.%u ", major, minor);
}

static void write_golden(const char *kernel, const char *golden, const char *counts)
{
	FILE *out = fopen(GOLDEN, "w");

	assert_non_null(out);
	for (const char *line = golden; *line; line += strcspn(line, "\n") + 1)
		if (strncmp(line, kernel, strlen(kernel)) != 0)
			fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
	for (const char *line = counts; *line; line += strcspn(line, "\n") + 1)
		fprintf(out, "%s%.*s\n", kernel, (int)strcspn(line, "\n"), line);
	fclose(out);
}

/* The count of the line that begins with @prefix; 0 without. */
static unsigned long count_of(const char *lines, const char *prefix)
{
	for (const char *line = lines; *line; line += strcspn(line, "\n") + 1)
		if (strncmp(line, prefix, strlen(prefix)) == 0)
			return strtoul(line + strlen(prefix), NULL, 10);
	return 0;
}

static char *read_golden(void)
{
	char *text = calloc(1, 65536);
	FILE *in = fopen(GOLDEN, "r");

	assert_non_null(text);
	if (in) {
		assert_true(fread(text, 1, 65535, in) < 65535);
		fclose(in);
	}
	return text;
}

static void no_program_has_grown(void **state)
{
	struct world *w = needs_root(state);
	char kernel[32], prefix[96], *counts = NULL, *golden = read_golden();
	size_t size = 0, grown = 0;
	FILE *out = open_memstream(&counts, &size);

	kernel_of(kernel, sizeof(kernel));
	sensors_write_instruction_counts(w->sensors, out);
	fclose(out);
	if (getenv("GOLDEN")) {
		write_golden(kernel, golden, counts);
		goto end;
	}
	if (!strstr(golden, kernel)) {
		print_message("skipped: no counts of kernel %sin " GOLDEN "\n", kernel);
		free(counts);
		free(golden);
		skip();
	}
	for (const char *line = counts; *line; line += strcspn(line, "\n") + 1) {
		snprintf(prefix, sizeof(prefix), "%s%.*s ", kernel, (int)strcspn(line, " "), line);
		unsigned long was = count_of(golden, prefix);
		unsigned long is = strtoul(line + strcspn(line, " "), NULL, 10);

		if (is <= was + was / 10)
			continue;
		grown++;
		print_error("%s%lu, was %lu\n", prefix, is, was);
	}
	assert_int_equal(grown, 0);
end:
	free(counts);
	free(golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_loaded_and_named),
		cmocka_unit_test(only_what_a_session_does_comes_to_its_ring),
		cmocka_unit_test(a_slot_is_given_out_again_with_an_empty_ring),
		cmocka_unit_test(more_sessions_than_rings_were_made_ahead),
		cmocka_unit_test(the_mark_leaves_room_above_and_below),
		cmocka_unit_test(no_program_has_grown),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
