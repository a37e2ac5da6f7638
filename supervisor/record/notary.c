/*
 * The tree and the checkpoints of a journal that is written.
 */
#include "notary.h"
#include "front.h"
#include "reader.h"
#include "seal.h"
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNC_SHARE 10 /* a sync may take one part in so many of the time */

struct notary {
	int dir_fd;
	uint8_t *first; /* the payload of the first record, until the first border is noted */
	size_t first_size;
	struct merkle *tree;
	struct checkpoints *checkpoints;
	uint64_t noted_size; /* of the tree under the last checkpoint */
	uint64_t noted_ns;   /* when it was written, monotonic; 0: not known yet */
	uint64_t pause_ns;   /* not before so long after it, if only for the number of records */
};

void notary_free(struct notary *n)
{
	if (!n)
		return;
	merkle_free(n->tree);
	checkpoints_free(n->checkpoints);
	if (n->dir_fd >= 0)
		close(n->dir_fd);
	free(n->first);
	free(n);
}

/* Records up to @seq that have not come are lost. */
static void fill_up(struct merkle *tree, uint64_t seq)
{
	while (merkle_size(tree) + 1 < seq)
		merkle_add_lost(tree);
}

/* What went before the first segment, if any did. */
static int go_behind_front(struct merkle *tree, int dir_fd)
{
	struct merkle_state state;
	struct front front;
	int r = front_read(dir_fd, &front);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = turns_find(dir_fd, front.last, &state);
	return r < 0 ? r : merkle_load(tree, &state) ? 0 : -EBADMSG;
}

static void keep_first(struct notary *n, struct bytes payload)
{
	n->first = malloc(payload.size);
	if (n->first)
		memcpy(n->first, payload.data, payload.size);
	n->first_size = n->first ? payload.size : 0;
}

static int rebuild(struct notary *n, uint64_t next_seq)
{
	struct merkle *tree = n->tree;
	struct reader *reader;
	enum reader_state state;
	struct event e;
	int r;

	if (next_seq <= 1)
		return 0;
	r = go_behind_front(tree, n->dir_fd);
	if (r == 0)
		r = reader_open(n->dir_fd, &reader);
	if (r)
		return r;
	do {
		state = reader_next(reader, &e);
		if (state == READER_RECORD && e.seq == 1)
			keep_first(n, reader_payload(reader));
		if (state == READER_RECORD && e.seq > merkle_size(tree)) {
			fill_up(tree, e.seq);
			merkle_add(tree, reader_payload(reader));
		}
	} while (state == READER_RECORD || (state == READER_STOPPED && reader_skip_damage(reader)));
	reader_free(reader);
	fill_up(tree, next_seq);
	return 0;
}

int notary_new(int dir_fd, const struct checkpoints_key *key, uint64_t next_seq,
	       struct notary **ret_notary)
{
	struct notary *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	r = n->dir_fd < 0 ? -errno : merkle_new(&n->tree);
	if (!r)
		r = rebuild(n, next_seq);
	if (!r)
		r = checkpoints_open(dir_fd, key, &n->checkpoints);
	if (r) {
		notary_free(n);
		return r;
	}
	*ret_notary = n;
	return 0;
}

void notary_add(struct notary *n, struct bytes payload)
{
	if (!merkle_size(n->tree))
		keep_first(n, payload);
	merkle_add(n->tree, payload);
}

bool notary_is_due(struct notary *n, uint64_t now_ns)
{
	uint64_t fresh = merkle_size(n->tree) - n->noted_size, age_ns;

	if (!n->noted_ns)
		n->noted_ns = now_ns ? now_ns : 1;
	age_ns = now_ns > n->noted_ns ? now_ns - n->noted_ns : 0;
	if (age_ns >= (fresh ? NOTARY_NS : NOTARY_IDLE_NS) ||
	    (fresh >= NOTARY_RECORDS && age_ns >= n->pause_ns)) {
		n->noted_ns = now_ns;
		return true;
	}
	return false;
}

int notary_sign(struct notary *n, enum checkpoint_kind kind, const struct chain *chain,
		uint64_t time_ns, uint64_t sync_ns)
{
	struct checkpoint checkpoint = {
		.kind = kind,
		.size = merkle_size(n->tree),
		.time_ns = time_ns,
		.blocks = chain_blocks(chain),
		.last_block = chain_last(chain),
	};
	int r;

	merkle_root(n->tree, checkpoint.root);
	r = checkpoints_add(n->checkpoints, &checkpoint);
	if (r)
		return r;
	/* Without it the segment cannot be removed alone: no reason to stop. */
	if (kind == CHECKPOINT_TURN && checkpoint.size)
		turns_add(n->dir_fd, n->tree, (struct bytes){n->first, n->first_size});
	n->noted_size = checkpoint.size;
	n->pause_ns = sync_ns * SYNC_SHARE;
	return 0;
}

int notary_fd(const struct notary *n)
{
	return checkpoints_fd(n->checkpoints);
}

const uint8_t *notary_last(const struct notary *n)
{
	return checkpoints_last(n->checkpoints);
}
