/*
 * Tells from a session's files and public keys whether its record is what was written.
 */
#pragma once

#include "../supervisor/record/note.h"
#include "book.h"

/* In the order in which a worse one hides a better one: see verify_worse. Values are exit statuses.
 */
enum verdict {
	VERIFY_INTACT = 0, /* and complete */
	VERIFY_TAMPERED = 1,
	VERIFY_INCOMPLETE = 2, /* intact; what is missing is declared, or it has not ended yet */
	VERIFY_UNKNOWN = 3,    /* it cannot be told */
};

#define VERIFY_LIVE_NS 90000000000u /* a session that lives has a checkpoint as young as this */
#define VERIFY_WHY 256

struct verify_options {
	const struct trusted_keys *keys;
	const struct book *book;   /* NULL: there is no ledger */
	bool is_own;		   /* the keys are those of this ledger, or should be */
	const char *session;	   /* id that it has to have; NULL: any */
	const struct note *anchor; /* a note that was kept elsewhere; NULL: none */
	uint64_t now_ns;
};

struct verify_result {
	enum verdict verdict;
	char why[VERIFY_WHY]; /* the reason of the verdict; "" for intact */
	uint64_t first_bad; /* number of the first record that is not as it was signed, or where it
			       begins; 0: none */
	uint64_t last_bad;  /* the fault lies at this one at the latest; 0: not known */
	char segment[32];   /* file of the damage; "": none */
	uint64_t offset;
	uint64_t records, signed_records, checkpoints, keys, generations;
	uint64_t gaps, lost;
	uint64_t removed; /* the last of the first records, which retention removed as recorded */
	uint64_t removed_kept_ns; /* how long it was kept at least */
	bool is_ended, is_live;
	char origin[LEDGER_NAME_MAX];
	uint8_t root[HASH_SIZE]; /* of the last checkpoint */
	uint64_t ledger_index;	 /* line that vouches for its first key */
	uint8_t last_note[HASH_SIZE];
	char policy_sha256[65], redact_rules_sha256[65]; /* as session.start has them; "": not */
};

/* Verify the session in @dir_fd. 0 with a result, or -errno. */
int verify_session(int dir_fd, const struct verify_options *options,
		   struct verify_result *ret_result);

/* Take @verdict into the result, unless it has a worse one: tampered is worse than unknown, that
 * than incomplete, that than intact. */
void verify_judge(struct verify_result *result, enum verdict verdict, const char *why, ...)
	__attribute__((format(printf, 3, 4)));
bool verdict_is_worse(enum verdict one, enum verdict other);
extern const char *const verdict_names[];
