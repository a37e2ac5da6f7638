/*
 * The index of a state directory: for each stretch of each record, what it can hold (grams.h). It
 * tells a search where it need not look, and never what is there: everything that is found was read
 * in a journal. So nothing of a record stands in it but hashes, and it can be thrown away.
 *
 * It lies in <state>/search.index, a database of SQLite. A session whose journal is not as it was
 * when it was indexed is indexed anew, except that one that only grew goes on. Whatever is wrong
 * with the index makes a search slower, not another one.
 */
#pragma once

#include "grams.h"

#include "../supervisor/record/store.h"

struct search_index;

#define SEARCH_INDEX_NAME "search.index"

/*
 * Open the index of @state, or make it where it can be written. @anew: throw away what is there.
 * 0, or -errno: it can neither be read nor made.
 */
int search_index_open(const char *state, bool anew, struct search_index **ret_index);
void search_index_close(struct search_index *x);

/* Forget sessions that are in no @list any more. */
void search_index_prune(struct search_index *x, const struct manifest *list, size_t count);

/* What is known of a session. */
struct indexed {
	int64_t key;
	uint64_t next_seq; /* what is before it is indexed; 1: nothing */
	bool is_whole;	   /* the journal has nothing behind it */
	uint64_t damages;
	uint64_t origin_time_ns, origin_boot_ns; /* of its first record */
};

/*
 * How far session @id, whose directory is @dir_fd, is indexed. 0, or -errno: the index is broken,
 * and thrown away if that can be done, or somebody else has it for long; @x is of no use then but
 * for closing.
 */
int search_index_find(struct search_index *x, const char *id, int dir_fd,
		      struct indexed *ret_indexed);

/*
 * Call @taker for each stretch of the session before indexed->next_seq, in order, with what it
 * spans; an answer of other than 0 ends it. Returns that, 0, or -EBADMSG: the index is broken.
 */
typedef int search_index_take(void *context, const struct stretch *span);
int search_index_walk(struct search_index *x, const struct indexed *indexed,
		      search_index_take *taker, void *context);

/*
 * Index the session on from indexed->next_seq: stretches, then the end, which makes all of it so at
 * once; or nothing, by search_index_cancel. Where the index cannot be written they do nothing.
 */
void search_index_begin(struct search_index *x, const char *id, struct indexed *indexed);
void search_index_add(struct search_index *x, const struct indexed *indexed,
		      const struct stretch *span);
void search_index_commit(struct search_index *x, const struct indexed *indexed);
void search_index_cancel(struct search_index *x);
