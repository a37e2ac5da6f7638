/*
 * What the records of a session say of the names in its tree: which were made, removed, moved and
 * written to. At the end the tree is held against it: what is in the tree and no record explains,
 * and what a record says and the tree does not show.
 *
 * Names are kept as a tree of their own, because who moves a directory moves all that is in it.
 */
#pragma once

#include "../record/event.h"

struct explained;
struct explained_name;

int explained_new(struct explained **ret_explained);
void explained_free(struct explained *x);

/* Take what the record @e says. */
void explained_take(struct explained *x, const struct event *e);

/* False where there were more names than are kept, or no memory for them: nothing can be said. */
bool explained_is_whole(const struct explained *x);

/* The root; and the name @name in @directory, NULL if no record speaks of it. @directory may be
 * NULL. */
struct explained_name *explained_root(struct explained *x);
struct explained_name *explained_find(struct explained *x, struct explained_name *directory,
				      struct bytes name);

/*
 * A name that only a call's argument told may have been another one by the time that the kernel
 * read it: each such act explains one name of any. True if one is left for this one, which takes
 * it.
 */
bool explained_excuse(struct explained *x);

/* What the tree shows. */
enum explained_shown { EXPLAINED_PRESENT, EXPLAINED_CHANGED, EXPLAINED_DELETED };

/*
 * The tree shows @name in @directory (either may be unknown to the records: NULL). Returns true if
 * a record explains it.
 */
bool explained_see(struct explained *x, struct explained_name *directory,
		   struct explained_name *known, struct bytes name, enum explained_shown shown);

/* Call @tell for each name that a record says is there and that the tree did not show. @path
 * begins with '/'. */
typedef void explained_tell(void *context, struct bytes path);
void explained_missing(struct explained *x, explained_tell *tell, void *context);

/* Call @tell for each name below the directory @top (of the root) that a record says was made,
 * written, changed or removed. */
void explained_below(struct explained *x, const char *top, explained_tell *tell, void *context);

/* What records say of @path, NULL if nothing; and whether it was not there before the session. */
struct explained_name *explained_path(struct explained *x, struct bytes path);
bool explained_is_new(const struct explained_name *known);
