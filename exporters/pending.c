/*
 * Asks a journal whether it has a number, instead of reading it.
 */
#include "pending.h"

#include "../supervisor/record/reader.h"

static bool journal_reaches(struct reader *r, uint64_t seq)
{
	struct event e;

	return reader_seek(r, seq) == 0 && reader_next(r, &e) == READER_RECORD && e.seq >= seq;
}

/* By doubling and halving. */
uint64_t pending_count(int dir_fd, uint64_t next)
{
	struct reader *r;
	uint64_t low = 0, high = 1;

	if (reader_open(dir_fd, &r) < 0)
		return 0;
	while (journal_reaches(r, next - 1 + high)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (journal_reaches(r, next - 1 + middle))
			low = middle;
		else
			high = middle;
	}
	reader_free(r);
	return low;
}
