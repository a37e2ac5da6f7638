/*
 * What signs a journal while it is written: the tree of its records, and when a checkpoint is due.
 */
#pragma once

#include "checkpoints.h"
#include "merkle.h"

struct chain;
struct notary;

#define NOTARY_RECORDS 1000u	    /* a checkpoint is due after so many */
#define NOTARY_NS 1000000000u	    /* and after so long, if there is anything new */
#define NOTARY_IDLE_NS 60000000000u /* and after so long in any case */

/*
 * Open the checkpoints in @dir_fd, and make the tree of the records that are in the journal there
 * up to number @next_seq: a record that is lost is the leaf of a lost one. 0 or -errno.
 */
int notary_new(int dir_fd, const struct checkpoints_key *key, uint64_t next_seq,
	       struct notary **ret_notary);
void notary_free(struct notary *n);

void notary_add(struct notary *n, struct bytes payload);

/* True if a checkpoint is due at @now_ns (monotonic). */
bool notary_is_due(struct notary *n, uint64_t now_ns);

/* Sign what is in the tree. The journal, whose chain is @chain, has it on disk; to get it there
 * took
 * @sync_ns. 0 or -errno. */
int notary_sign(struct notary *n, enum checkpoint_kind kind, const struct chain *chain,
		uint64_t time_ns, uint64_t sync_ns);

int notary_fd(const struct notary *n);
const uint8_t *notary_last(const struct notary *n);
