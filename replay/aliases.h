/*
 * All names that one file had, as the renames and links of a session tell them.
 *
 * It errs on the side of more: a name that two files had one after the other joins them.
 */
#pragma once

#include "../supervisor/record/event.h"
#include "../supervisor/record/reader.h"

#define ALIASES_MAX 256		/* names of one file */
#define ALIASES_MOVES_MAX 65536 /* renames and links that are looked at */

struct aliases;

/* Read all of @reader, and find what else @path was called. 0 or -ENOMEM. */
int aliases_find(struct reader *reader, const char *path, struct aliases **ret_aliases);
void aliases_free(struct aliases *a);

bool aliases_have(const struct aliases *a, struct bytes path);
size_t aliases_count(const struct aliases *a);
struct bytes aliases_name(const struct aliases *a, size_t number); /* 0: the one asked for */
/* True if there were more names, or more moves, than are looked at. */
bool aliases_are_cut(const struct aliases *a);

static inline void cleanup_aliases(struct aliases **a)
{
	aliases_free(*a);
}
