/*
 * What a session came to: counts over its whole record, and who it spoke with. Bounded.
 */
#pragma once

#include "../supervisor/record/attack.h"
#include "../supervisor/record/event.h"
#include "../supervisor/record/reader.h"
#include "counts.h"
#include "given.h"
#include "kept.h"
#include "keymap.h"
#include "line.h"

#define TALLY_PEERS_MAX 4096 /* distinct names, and as many addresses, that are told apart */
#define TALLY_SHOWN_MAX 12   /* of them in a summary */

/* Distinct texts and how often each came. */
struct peers {
	struct keymap *map;
	uint64_t times[TALLY_PEERS_MAX];
	uint64_t others; /* how often one came that found no room */
};

struct tally {
	uint64_t records;
	uint64_t kinds[EVENT_KIND_COUNT];
	uint64_t unknown_kinds;
	uint64_t classes[EVENT_CLASS_COUNT];	/* records of each class */
	uint64_t gap_counts[EVENT_CLASS_COUNT]; /* what the gap records of each class miss */
	uint64_t gap_others;			/* and those that name no class */
	uint64_t redacted;			/* records that something was cut from */
	uint64_t cut;				/* records with a value that was too long */
	uint64_t damages;
	uint64_t failed_connects, failed_exits, unproven_paths;
	uint64_t bytes_written, bytes_sent, bytes_received;
	struct peers names;			  /* that were asked for, connected to or greeted */
	struct peers addresses;			  /* that connections and datagrams went to */
	uint64_t attacks[ATTACK_RULES_MAX];	  /* events that have the tag of a rule */
	uint64_t attack_firsts[ATTACK_RULES_MAX]; /* seq of the first of them */
	struct kept start, end;			  /* session.start and session.end */
	struct given_list given;
	uint64_t first_boot_ns, last_boot_ns, last_time_ns;
};

int tally_new(struct tally **ret_tally);
void tally_free(struct tally *t);

/* 0 or -ENOMEM. */
int tally_add(struct tally *t, const struct event *e);
void tally_add_damage(struct tally *t);

/* The commands say more than the session's own: there were several, or it had none. */
bool tally_has_commands(const struct tally *t);

/* The few lines below a timeline. @how: what stands there if the session has not ended; may be
 * NULL. */
void tally_write_summary(const struct tally *t, const struct pen *pen, const char *how);

/* The rows of it, for whoever writes more around them. */
void tally_write_processes(const struct tally *t, const struct pen *pen);
void tally_write_files(const struct tally *t, const struct pen *pen);
void tally_write_connections(const struct tally *t, const struct pen *pen);
typedef void peers_write_key(FILE *out, const struct printable *p, struct bytes key);
void tally_write_peers(const struct peers *p, const struct pen *pen, size_t limit,
		       peers_write_key *write_key);
void tally_write_lost(const struct tally *t, const struct pen *pen);

/* Numbers of @p's keys, most frequent first. *ret_order is malloc'ed, as many as its keymap has. 0
 * or -ENOMEM. */
int peers_order(const struct peers *p, size_t **ret_order);
