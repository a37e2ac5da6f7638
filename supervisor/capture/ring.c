/*
 * The reader of a ring. What the kernel writes is read with acquire, what we give back is written
 * with release; nothing else keeps the two sides apart.
 */
#include "ring.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_ALIGN(size) (((size) + 7) & ~7ULL)

int ring_map(struct ring *r, int fd, uint64_t size_bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (size_bytes < page || size_bytes > 1ULL << 30 || (size_bytes & (size_bytes - 1)) != 0)
		return -EINVAL;

	void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	size_t rest = page + 2 * size_bytes;
	void *producer = mmap(NULL, rest, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (producer == MAP_FAILED) {
		int r_errno = -errno;
		munmap(consumer, page);
		return r_errno;
	}

	*r = (struct ring){
		.consumer = consumer,
		.producer = producer,
		.data = (uint8_t *)producer + page,
		.size_bytes = size_bytes,
		.mappings = {consumer, producer},
		.mapping_bytes = {page, rest},
	};
	ring_rewind(r);
	return 0;
}

void ring_unmap(struct ring *r)
{
	for (size_t i = 0; i < 2; i++)
		if (r->mappings[i])
			munmap(r->mappings[i], r->mapping_bytes[i]);
	*r = (struct ring){0};
}

/* The two pages of positions are enough: to map the data takes most of a millisecond. */
int ring_skip_all(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	uint64_t *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	const uint64_t *producer = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	int r = producer == MAP_FAILED ? -errno : 0;
	if (r == 0) {
		__atomic_store_n(consumer, __atomic_load_n(producer, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		munmap((void *)producer, page);
	}
	munmap(consumer, page);
	return r;
}

uint64_t ring_produced(const struct ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

uint64_t ring_fill(const struct ring *r)
{
	uint64_t consumed = __atomic_load_n(r->consumer, __ATOMIC_RELAXED);

	return ring_produced(r) - consumed;
}

enum ring_state ring_next(struct ring *r, uint64_t limit, struct bytes *ret_record,
			  uint64_t *ret_position)
{
	while (r->position < limit) {
		uint64_t at = r->position;
		const uint8_t *entry = r->data + (at & (r->size_bytes - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)entry, __ATOMIC_ACQUIRE);

		if (head & BPF_RINGBUF_BUSY_BIT)
			return RING_BUSY;
		uint32_t size = head & ~BPF_RINGBUF_DISCARD_BIT;
		uint64_t step = RECORD_ALIGN((uint64_t)size + BPF_RINGBUF_HDR_SZ);
		if (step > limit - at || limit - at > r->size_bytes)
			return RING_BAD;

		r->position = at + step;
		if (head & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_record = (struct bytes){entry + BPF_RINGBUF_HDR_SZ, size};
		*ret_position = at;
		return RING_RECORD;
	}
	return RING_END;
}

void ring_release(struct ring *r, uint64_t position)
{
	assert(position <= r->position);
	__atomic_store_n(r->consumer, position, __ATOMIC_RELEASE);
}

void ring_rewind(struct ring *r)
{
	r->position = __atomic_load_n(r->consumer, __ATOMIC_RELAXED);
}
