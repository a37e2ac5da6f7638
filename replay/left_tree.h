/*
 * What a session left in its workspace, as it is now: the one part of its tree that outlives it.
 * That is no part of the record; what was changed after the session says so.
 */
#pragma once

#include "../supervisor/record/hash.h"

#include <stdbool.h>

#define LEFT_FILE_MAX (UINT64_C(1) << 30) /* a larger file is not hashed */
#define LEFT_ALL_MAX (UINT64_C(16) << 30) /* nor is any more, once so much was */

struct left_tree;

enum left {
	LEFT_NOT_ASKED, /* it is no file of the workspace, or nobody asked */
	LEFT_HASHED,
	LEFT_GONE,	 /* there is nothing of that name any more */
	LEFT_OTHER,	 /* what is there is no regular file */
	LEFT_LARGE,	 /* not hashed: too large, or too much was hashed already */
	LEFT_UNREADABLE, /* an error */
};

struct left_file {
	enum left left;
	uint64_t size;		 /* of a regular file */
	bool is_changed_since;	 /* after the session, and it may have been then */
	uint8_t hash[HASH_SIZE]; /* SHA-256; with LEFT_HASHED */
};

/*
 * The workspace is at @directory. 0 or -errno. Nothing in it leads out of it: no symbolic link is
 * followed, whatever stands in the path of a file.
 */
int left_tree_open(const char *directory, struct left_tree **ret_tree);
void left_tree_close(struct left_tree *t);

/* Where the workspace was on the host, from a session.start; malloc'ed. NULL: there was none, or no
 * memory. */
char *left_tree_place(const struct event *start);

/* Look at @path, as the session saw it; @end_ns is the wall clock of the session's end. NULL as @t:
 * not asked. */
struct left_file left_tree_look(struct left_tree *t, struct bytes path, uint64_t end_ns);
