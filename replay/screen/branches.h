/*
 * The process tree as lines that can be folded.
 */
#pragma once

#include "../tree.h"

struct branch {
	size_t node;
	unsigned int depth;
	bool has_children;
};

struct branches {
	struct branch *lines; /* owned: what is not folded away */
	size_t count, room;
	uint8_t *folded;	 /* owned, by number of the node */
	size_t node_room, nodes; /* how many the tree had when this was laid out */
	size_t selected, top;	 /* lines */
};

/* Lay out @tree; with @quiet, without processes that did nothing that matters. 0 or -ENOMEM. */
int branches_lay_out(struct branches *b, const struct tree *tree, bool quiet);
void branches_free(struct branches *b);

void branches_fold(struct branches *b, bool folded); /* the selected line */
void branches_fold_all(struct branches *b, bool folded);
/* Select the line of process @key, unfolding what is above it. False: there is none. */
bool branches_select(struct branches *b, const struct tree *tree, struct bytes key);
