/*
 * What the ledger and the acts of a host (record/acts.h) say of records that are not there any
 * more: a removal that was written down and signed is no tampering; any other is.
 */
#pragma once

#include "verify.h"

struct removals {
	char *text;	     /* of the file of acts; owned */
	struct bytes *lines; /* of each line of the ledger that is an act: its text; owned */
	size_t count;
	size_t missing;	       /* acts that the ledger knows and whose text is gone or changed */
	size_t unsigned_count; /* texts that no line of the ledger knows */
};

/* Read <state>/acts and hold it against @book. 0 or -errno. */
int removals_read(int state_fd, const struct book *book, struct removals *ret_removals);
void removals_free(struct removals *r);

/*
 * What is to be said of the record @name (HOST/SESSION) that is gone. False: its removal was not
 * recorded.
 */
bool removals_judge(const struct removals *r, const struct book *book, const char *name,
		    struct verify_result *result);
/* What is to be said of the acts themselves. */
void removals_judge_acts(const struct removals *r, struct verify_result *result);

/* The removal that @book knows of session @id, or NULL. */
const struct book_line *removal_of(const struct book *book, const char *id);
/* The line of @book that says of @name (HOST/SESSION) that its first segments were removed, by the
 * act of the hash @act; NULL: none does. */
const struct book_line *trim_of(const struct book *book, const char *name,
				const uint8_t act[HASH_SIZE]);
/* When a line of the ledger was written: "2026-01-02T03:04:05Z". */
void removal_time(const struct ledger_line *line, char ret_text[32]);

/*
 * Of a record @id that is not there, all that its host knows. 0; -ENOENT: nothing of its removal;
 * or -errno.
 */
int removals_find(int state_fd, const struct trusted_keys *keys, const char *id,
		  struct verify_result *ret_result);
