/*
 * The tree and the checkpoints of a journal that is written.
 */
#include "notary.h"
#include "reader.h"
#include "seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYNC_SHARE 10 /* a sync may take one part in so many of the time */

struct notary {
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
	free(n);
}

/* Records up to @seq that have not come are lost. */
static void fill_up(struct merkle *tree, uint64_t seq)
{
	while (merkle_size(tree) + 1 < seq)
		merkle_add_lost(tree);
}

static int rebuild(struct merkle *tree, int dir_fd, uint64_t next_seq)
{
	struct reader *reader;
	enum reader_state state;
	struct event e;
	int r;

	if (next_seq <= 1)
		return 0;
	r = reader_open(dir_fd, &reader);
	if (r)
		return r;
	do {
		state = reader_next(reader, &e);
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
	r = merkle_new(&n->tree);
	if (!r)
		r = rebuild(n->tree, dir_fd, next_seq);
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
