/*
 * The account of one session: which numbers came, which did not, and that nothing is missing
 * without a gap record that says so.
 *
 * In the kernel each wire record takes a number, per class and CPU, before room is sought for it;
 * so what was lost leaves a hole. An interrupt between number and room can bring two records of one
 * CPU in the wrong order, so a hole is final only if it is still open at the second drain after it
 * appeared and the kernel has counted a loss for it; one without a counted loss is given
 * ACCOUNT_PATIENCE drains.
 *
 * What is counted, per class, in wire records:
 *
 *   taken       numbers given out in the kernel since the session was opened
 *   chunks      of these, continuations of other records that came
 *   filtered    of these, records that came and that policy leaves out (capture.filtered)
 *   unnumbered  losses that took no number: a state map was full (LOSS_MAP_FULL)
 *   journaled   records that came, less filtered: each is in the journal by itself or as part of an
 *               event that was made of several
 *   lost        numbers that never came, records that could not be read, and unnumbered
 *   produced    taken - chunks - filtered + unnumbered
 *
 * produced = journaled + lost, always. A number that comes after its gap was declared is journaled
 * and taken back from lost: gap records may say too much, never too little.
 */
#pragma once

#include "../../bpf/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNT_PATIENCE 100

struct account;

struct account_gap {
	enum wire_class class;
	uint32_t cpu;
	uint64_t count;
	bool numbered; /* first and last are known */
	uint64_t first, last;
	const char *reason; /* static: ring_full, map_full, fault, busy, malformed, unknown */
	uint64_t boot_ns;   /* of the record behind the hole; 0: not known */
};

struct account_counts {
	uint64_t produced, journaled, lost;
};

struct account_options {
	uint32_t cpus; /* possible CPUs */
	/*
	 * What the kernel has counted: numbers given out (that is the next number), as
	 * [class][cpu], and losses, as [class][reason][cpu]. 0 or -errno.
	 */
	int (*numbers)(void *context, uint64_t *ret_values);
	int (*losses)(void *context, uint64_t *ret_values);
	/* A hole is final. 0, or an error that the caller of the account gets. */
	int (*gap)(void *context, const struct account_gap *gap);
	void *context;
};

/* Counters only grow and slots are used again: what stands in them now is the base. 0 or -errno. */
int account_new(const struct account_options *options, struct account **ret_account);
void account_free(struct account *a);

/* A record that is in the ring already: its number is not below the base. */
void account_expect(struct account *a, const struct wire_head *head);

/* A record came. 0, or -EBADMSG: no such class or CPU. */
int account_record(struct account *a, const struct wire_head *head);

/* A record that came (and was told by account_record) could not be used: it is lost, with a gap. */
int account_spoiled(struct account *a, const struct wire_head *head, const char *reason);

/* A record that came could not be written to the journal after all: it is lost, without a gap. */
void account_unwritten(struct account *a, const struct wire_head *head);

/* A record that came was left out by policy. */
void account_filtered(struct account *a, enum wire_class class, uint64_t count);

/* The end of a drain. */
int account_settle(struct account *a);

/* The session is over and its ring empty: all holes are final, trailing ones too. */
int account_finish(struct account *a);

/* Ask the kernel whether it has counted a loss that no gap has told yet. 1, 0 or -errno. */
int account_has_losses(struct account *a);

/* True while a hole is open, so that drains go on although nothing comes. */
bool account_is_open(const struct account *a);

/* Numbers of @class that were given out in the kernel, over all CPUs and ever, that came or that a
 * gap has told. */
uint64_t account_settled(const struct account *a, enum wire_class class);

struct account_counts account_counts(const struct account *a, enum wire_class class);
