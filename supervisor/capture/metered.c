/* Calls of journal_kernel, between two looks at the clock. */
#include "metered.h"

#include "clock.h"

static ssize_t metered_write(void *context, int fd, const void *data, size_t size)
{
	struct metrics_recorder *m = context;
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	ssize_t n = journal_kernel.write(journal_kernel.context, fd, data, size);

	metric_observe(m->write_time, METRIC_SECONDS, clock_ns(CLOCK_MONOTONIC) - begun_ns);
	if (n > 0)
		metric_add(m->written, (uint64_t)n);
	return n;
}

static int metered_sync(void *context, int fd)
{
	struct metrics_recorder *m = context;
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int r = journal_kernel.sync(journal_kernel.context, fd);

	metric_observe(m->sync_time, METRIC_SECONDS, clock_ns(CLOCK_MONOTONIC) - begun_ns);
	return r;
}

static void metered_did(void *context, enum journal_deed deed)
{
	struct metrics_recorder *m = context;

	metric_add(deed == JOURNAL_SEALED ? m->blocks : m->checkpoints, 1);
}

struct journal_system metered_system(struct metrics_recorder *cells)
{
	struct journal_system system = journal_kernel;

	system.context = cells;
	system.write = metered_write;
	system.sync = metered_sync;
	system.did = metered_did;
	return system;
}
