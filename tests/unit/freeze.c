/*
 * The freezing thread. A ring of the kernel's own is needed for its wake-ups, so this runs as root;
 * cgroup.freeze is a file.
 */
#include "../../supervisor/capture/freeze.h"

#include "../../bpf/wire.h"
#include "kernel_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	struct kernel_ring kernel;
	struct ring ring;
	struct freezer *freezer;
	struct freeze *freeze;
	int file;
	uint64_t coming;
};

static int set_up(void **state)
{
	static struct world w;
	bool is_realtime;

	w = (struct world){.file = memfd_create("cgroup.freeze", MFD_CLOEXEC)};
	if (kernel_ring_open(&w.kernel) < 0)
		return -1;
	assert_int_equal(ring_map(&w.ring, w.kernel.ring_fd, KERNEL_RING_BYTES), 0);
	assert_int_equal(freezer_start(&w.freezer, &is_realtime), 0);
	const struct freeze_options options = {.ring_fd = w.kernel.ring_fd,
					       .ring = &w.ring,
					       .coming = &w.coming,
					       .high_water = 8192,
					       .freeze_fd = w.file};
	assert_int_equal(freezer_add(w.freezer, &options, &w.freeze), 0);
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	freezer_remove(w->freezer, w->freeze);
	freezer_stop(w->freezer);
	ring_unmap(&w->ring);
	kernel_ring_close(&w->kernel);
	close(w->file);
	return 0;
}

static bool becomes(struct world *w, char wanted)
{
	char got = 0;

	for (int i = 0; i < 2000; i++) {
		if (pread(w->file, &got, 1, 0) == 1 && got == wanted)
			return true;
		usleep(1000);
	}
	return false;
}

static bool stays(struct world *w, char wanted)
{
	char got = wanted;

	usleep(50000);
	return pread(w->file, &got, 1, 0) <= 0 ? wanted == 0 : got == wanted;
}

static void fill(struct world *w, size_t bytes)
{
	char record[1000] = {0};

	for (size_t done = 0; done < bytes; done += sizeof(record) + 8)
		assert_int_equal(kernel_ring_put(&w->kernel, record, sizeof(record), true), 0);
}

static void drain(struct world *w)
{
	struct bytes bytes;
	uint64_t position;

	while (ring_next(&w->ring, ring_produced(&w->ring), &bytes, &position) == RING_RECORD)
		continue;
	ring_release(&w->ring, w->ring.position);
}

static void freezes_at_the_mark_and_thaws_when_told(void **state)
{
	struct world *w = *state;
	uint64_t since = 0;

	fill(w, 6000);
	assert_true(stays(w, 0));
	assert_false(freeze_is_behind(w->freeze, &since));
	fill(w, 4000);
	assert_true(becomes(w, '1'));
	assert_true(freeze_is_behind(w->freeze, &since));
	assert_true(since > 0);

	struct pollfd p = {.fd = freezer_fd(w->freezer), .events = POLLIN};
	assert_int_equal(poll(&p, 1, 1000), 1);
	freezer_seen(w->freezer);
	assert_int_equal(poll(&p, 1, 0), 0);

	drain(w);
	assert_true(stays(w, '1'));
	freezer_release(w->freezer, w->freeze, FREEZE_BEHIND);
	assert_true(becomes(w, '0'));
	assert_false(freeze_is_behind(w->freeze, &since));

	fill(w, 10000);
	assert_true(becomes(w, '1'));
}

static void freezes_for_what_is_on_its_way(void **state)
{
	struct world *w = *state;

	__atomic_store_n(&w->coming, 8000, __ATOMIC_RELEASE);
	assert_int_equal(kernel_ring_put(&w->kernel, "small", 5, true), 0);
	assert_true(stays(w, 0));
	__atomic_store_n(&w->coming, 8192, __ATOMIC_RELEASE);
	assert_int_equal(kernel_ring_put(&w->kernel, "small", 5, true), 0);
	assert_true(becomes(w, '1'));
	assert_true(freeze_load(w->freeze) > 8192);

	/* It did not come: nothing is in the ring, and nothing will be. */
	__atomic_store_n(&w->coming, 0, __ATOMIC_RELEASE);
	drain(w);
	assert_int_equal(freeze_load(w->freeze), 0);
	freezer_release(w->freezer, w->freeze, FREEZE_BEHIND);
	assert_true(becomes(w, '0'));
}

/* Who drains is quicker than the thread, which finds an empty ring and sleeps on. */
static void freezes_for_what_was_announced_by_a_record_that_is_gone(void **state)
{
	struct world *w = *state;

	__atomic_store_n(&w->coming, 8191, __ATOMIC_RELEASE);
	freezer_look(w->freezer, w->freeze);
	assert_true(stays(w, 0));

	__atomic_store_n(&w->coming, 8192, __ATOMIC_RELEASE);
	assert_int_equal(kernel_ring_put(&w->kernel, "small", 5, false), 0);
	freezer_look(w->freezer, w->freeze);
	drain(w);
	assert_true(becomes(w, '1'));
}

static bool falls_behind(struct world *w)
{
	uint64_t since;

	for (int i = 0; i < 2000 && !freeze_is_behind(w->freeze, &since); i++)
		usleep(1000);
	return freeze_is_behind(w->freeze, &since);
}

static void freezes_again_when_it_was_thawed_too_early(void **state)
{
	struct world *w = *state;

	fill(w, 10000);
	assert_true(becomes(w, '1'));
	freezer_release(w->freezer, w->freeze, FREEZE_BEHIND);
	assert_true(falls_behind(w));
	assert_true(becomes(w, '1'));
}

static void stays_frozen_until_no_reason_is_left(void **state)
{
	struct world *w = *state;

	freezer_hold(w->freezer, w->freeze, FREEZE_DISK);
	assert_true(becomes(w, '1'));
	fill(w, 10000);
	assert_true(falls_behind(w));
	drain(w);
	freezer_release(w->freezer, w->freeze, FREEZE_BEHIND);
	assert_true(stays(w, '1'));
	freezer_release(w->freezer, w->freeze, FREEZE_DISK);
	assert_true(becomes(w, '0'));
	freezer_release(w->freezer, w->freeze, FREEZE_DISK);
	assert_true(stays(w, '0'));
}

static void tells_that_it_cannot_freeze(void **state)
{
	struct world *w = *state;
	struct freeze *broken;
	int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct freeze_options options = {
		.ring_fd = -1, .ring = &w->ring, .high_water = 0, .freeze_fd = read_only};

	assert_int_equal(freezer_add(w->freezer, &options, &broken), 0);
	freezer_hold(w->freezer, broken, FREEZE_DISK);
	for (int i = 0; i < 1000 && freeze_error(broken) == 0; i++)
		usleep(1000);
	assert_int_equal(freeze_error(broken), EBADF);
	freezer_remove(w->freezer, broken);
	close(read_only);
}

static void has_a_place_for_every_session(void **state)
{
	struct world *w = *state;
	static struct freeze *places[SESSION_SLOTS];
	const struct freeze_options options = {
		.ring_fd = -1, .ring = &w->ring, .high_water = 0, .freeze_fd = w->file};
	struct freeze *none;

	for (size_t i = 0; i < SESSION_SLOTS - 1; i++)
		assert_int_equal(freezer_add(w->freezer, &options, &places[i]), 0);
	assert_int_equal(freezer_add(w->freezer, &options, &none), -ENOSPC);
	for (size_t i = 0; i < SESSION_SLOTS - 1; i++)
		freezer_remove(w->freezer, places[i]);
	assert_int_equal(freezer_add(w->freezer, &options, &none), 0);
	freezer_remove(w->freezer, none);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(freezes_at_the_mark_and_thaws_when_told),
		TEST(freezes_for_what_is_on_its_way),
		TEST(freezes_for_what_was_announced_by_a_record_that_is_gone),
		TEST(freezes_again_when_it_was_thawed_too_early),
		TEST(stays_frozen_until_no_reason_is_left),
		TEST(tells_that_it_cannot_freeze),
		TEST(has_a_place_for_every_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
