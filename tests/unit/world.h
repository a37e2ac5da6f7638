/*
 * A world for journals in which writes take few bytes, fail where they are told to, and the clock
 * stands.
 */
#pragma once

#include "sample_journal.h"
#include "supervisor/record/journal_format.h"
#include "supervisor/record/segment.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the two above */
#include <cmocka.h>

/* A world in which a write takes few bytes, and fails where it is told to. */
struct world {
	uint64_t room; /* bytes until the disk is full */
	size_t most;   /* of one write; 0: all */
	int sync_error;
	uint64_t writes, syncs;
};

static inline ssize_t world_write(void *context, int fd, const void *data, size_t size)
{
	struct world *w = context;

	w->writes++;
	if (w->most && size > w->most)
		size = w->most;
	if (size > w->room)
		size = w->room;
	if (!size) {
		errno = ENOSPC;
		return -1;
	}
	w->room -= size;
	return write(fd, data, size);
}

static inline int world_sync(void *context, int fd)
{
	struct world *w = context;

	(void)fd;
	w->syncs++;
	errno = w->sync_error;
	return w->sync_error ? -1 : 0;
}

static inline uint64_t world_time(void *context)
{
	(void)context;
	return 5000000000;
}

static inline int world_random(void *context, void *data, size_t size)
{
	(void)context;
	memset(data, 0x5a, size);
	return 0;
}

#define WORLD(w)                                                                                   \
	(&(struct journal_system){.write = world_write,                                            \
				  .sync = world_sync,                                              \
				  .time_ns = world_time,                                           \
				  .boot_ns = world_time,                                           \
				  .random = world_random,                                          \
				  .context = (w)})

static inline void assert_whole(const struct scratch *s, uint64_t count, bool is_complete)
{
	struct reader_damage damage;
	uint64_t read;
	bool complete;

	assert_int_equal(sample_read(s, &read, &damage, &complete), READER_END);
	assert_int_equal(read, count);
	assert_null(damage.why);
	assert_int_equal(complete, is_complete);
}

static inline size_t count_frames(const struct scratch *s, uint32_t number, enum frame_type type)
{
	struct segment *segment;
	struct frame frame;
	size_t count = 0;

	assert_int_equal(segment_open(s->fd, number, &segment), 0);
	while (segment_next_raw(segment, &frame) == SEGMENT_FRAME)
		count += frame.type == type;
	segment_free(segment);
	return count;
}

/* A crash: the file as it is, the journal gone without a word. */
static inline void crash(struct journal *j, struct world *w)
{
	w->room = 0;
	w->sync_error = EIO;
	journal_close(j);
}
