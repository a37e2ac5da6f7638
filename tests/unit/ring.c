/* The ring reader, on memory laid out as the kernel lays it out. */
#include "../../supervisor/capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_BYTES 4096

/* The kernel's side: a file whose data pages are mapped twice. */
struct fake {
	int fd;
	uint64_t *consumer, *producer;
	uint8_t *data;
	struct ring ring;
};

static int set_up(void **state)
{
	static struct fake fake;
	size_t page = sysconf(_SC_PAGESIZE);

	fake.fd = memfd_create("ring", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fake.fd, (off_t)(2 * page + 2 * RING_BYTES)), 0);
	uint8_t *all = mmap(NULL, 2 * page + 2 * RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fake.fd, 0);
	assert_ptr_not_equal(all, MAP_FAILED);
	fake.consumer = (uint64_t *)all;
	fake.producer = (uint64_t *)(all + page);
	fake.data = all + 2 * page;
	assert_int_equal(ring_map(&fake.ring, fake.fd, RING_BYTES), 0);
	*state = &fake;
	return 0;
}

static int tear_down(void **state)
{
	struct fake *fake = *state;

	ring_unmap(&fake->ring);
	munmap(fake->consumer, 2 * (size_t)sysconf(_SC_PAGESIZE) + 2 * RING_BYTES);
	close(fake->fd);
	return 0;
}

/* Both mappings of the data show the same bytes; here they are two places, so both are written. */
static void put_bytes(struct fake *f, uint64_t position, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t at = (position + i) % RING_BYTES;

		f->data[at] = f->data[at + RING_BYTES] = ((const uint8_t *)from)[i];
	}
}

static void put(struct fake *f, uint32_t flags, const void *from, uint32_t size)
{
	uint32_t head[2] = {size | flags, 0};

	put_bytes(f, *f->producer, head, sizeof(head));
	put_bytes(f, *f->producer + 8, from, size);
	*f->producer += (8 + (uint64_t)size + 7) & ~7ULL;
}

static void expect(struct fake *f, const char *text)
{
	struct bytes record;
	uint64_t position;

	assert_int_equal(ring_next(&f->ring, ring_produced(&f->ring), &record, &position),
			 RING_RECORD);
	assert_int_equal(record.size, strlen(text));
	assert_memory_equal(record.data, text, record.size);
	assert_int_equal((uintptr_t)record.data % 8, 0);
}

static void expect_state(struct fake *f, uint64_t limit, enum ring_state state)
{
	struct bytes record;
	uint64_t position;

	assert_int_equal(ring_next(&f->ring, limit, &record, &position), state);
}

static void reads_in_order_and_passes_over_discarded(void **state)
{
	struct fake *f = *state;

	expect_state(f, ring_produced(&f->ring), RING_END);
	put(f, 0, "one", 3);
	put(f, BPF_RINGBUF_DISCARD_BIT, "nothing", 7);
	put(f, 0, "three", 5);
	expect(f, "one");
	expect(f, "three");
	expect_state(f, ring_produced(&f->ring), RING_END);
}

static void stops_at_what_is_being_written(void **state)
{
	struct fake *f = *state;

	put(f, 0, "one", 3);
	uint64_t busy = *f->producer;
	put(f, BPF_RINGBUF_BUSY_BIT, "two", 3);
	put(f, 0, "three", 5);
	expect(f, "one");
	expect_state(f, ring_produced(&f->ring), RING_BUSY);
	expect_state(f, ring_produced(&f->ring), RING_BUSY);
	put_bytes(f, busy, &(uint32_t){3}, 4);
	expect(f, "two");
	expect(f, "three");
}

static void stops_at_its_limit(void **state)
{
	struct fake *f = *state;

	put(f, 0, "one", 3);
	uint64_t limit = ring_produced(&f->ring);
	put(f, 0, "two", 3);
	expect(f, "one");
	expect_state(f, limit, RING_END);
	expect(f, "two");
}

static void gives_room_back_only_when_told(void **state)
{
	struct fake *f = *state;
	struct bytes record;
	uint64_t first, second;

	put(f, 0, "one", 3);
	put(f, 0, "two", 3);
	ring_next(&f->ring, ring_produced(&f->ring), &record, &first);
	ring_next(&f->ring, ring_produced(&f->ring), &record, &second);
	assert_int_equal(*f->consumer, 0);
	assert_int_equal(ring_fill(&f->ring), 32);

	ring_release(&f->ring, second);
	assert_int_equal(*f->consumer, second);
	assert_int_equal(ring_fill(&f->ring), 16);

	ring_rewind(&f->ring);
	expect(f, "two");
	ring_release(&f->ring, f->ring.position);
	assert_int_equal(ring_fill(&f->ring), 0);
}

static void goes_round(void **state)
{
	struct fake *f = *state;
	char text[64];

	for (int i = 0; i < 1000; i++) {
		int length = snprintf(text, sizeof(text), "record %d %.*s", i, i % 40,
				      "........................................");

		put(f, 0, text, length);
		expect(f, text);
		ring_release(&f->ring, f->ring.position);
	}
	assert_true(*f->producer > 8 * RING_BYTES);
}

static void maps_on_where_another_reader_stopped(void **state)
{
	struct fake *f = *state;
	struct ring second;

	put(f, 0, "one", 3);
	put(f, 0, "two", 3);
	expect(f, "one");
	ring_release(&f->ring, f->ring.position);
	assert_int_equal(ring_map(&second, f->fd, RING_BYTES), 0);
	ring_unmap(&f->ring);
	f->ring = second;
	expect(f, "two");
}

static void refuses_what_is_no_ring(void **state)
{
	struct fake *f = *state;
	struct ring ring;

	put(f, 0, "longer than it says", 19);
	put_bytes(f, 0, &(uint32_t){5000}, 4);
	expect_state(f, ring_produced(&f->ring), RING_BAD);
	*f->producer = 3 * RING_BYTES;
	expect_state(f, ring_produced(&f->ring), RING_BAD);

	assert_int_equal(ring_map(&ring, f->fd, RING_BYTES + 1), -EINVAL);
	assert_int_equal(ring_map(&ring, f->fd, 0), -EINVAL);
	assert_int_equal(ring_map(&ring, -1, RING_BYTES), -EBADF);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(reads_in_order_and_passes_over_discarded),
		TEST(stops_at_what_is_being_written),
		TEST(stops_at_its_limit),
		TEST(gives_room_back_only_when_told),
		TEST(goes_round),
		TEST(maps_on_where_another_reader_stopped),
		TEST(refuses_what_is_no_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
