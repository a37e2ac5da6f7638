/*
 * A walk over the tree without recursion: a session nests as deep as it likes.
 */
#include "branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void branches_free(struct branches *b)
{
	free(b->lines);
	free(b->folded);
	*b = (struct branches){0};
}

static int grow_nodes(struct branches *b, size_t count)
{
	uint8_t *larger;

	if (count <= b->node_room)
		return 0;
	larger = realloc(b->folded, count * 2);
	if (!larger)
		return -ENOMEM;
	memset(larger + b->node_room, 0, count * 2 - b->node_room);
	b->folded = larger;
	b->node_room = count * 2;
	return 0;
}

static int add_line(struct branches *b, size_t node, unsigned int depth, bool has_children)
{
	if (b->count == b->room) {
		size_t room = b->room ? b->room * 2 : 256;
		struct branch *larger = reallocarray(b->lines, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		b->lines = larger;
		b->room = room;
	}
	b->lines[b->count++] = (struct branch){node, depth, has_children};
	return 0;
}

/* A leaf that ran nothing, touched nothing and ended well. */
static bool is_noise(const struct tree_node *node)
{
	return node->first_child == TREE_NONE && !node->execs && !node->files &&
	       !node->connections && !node->names && !node->failed_execs &&
	       !(node->has_status && node->status);
}

static int walk(struct branches *b, const struct tree *tree, size_t root, bool quiet)
{
	size_t node = root;
	unsigned int depth = 0;
	int r = 0;

	for (;;) {
		const struct tree_node *n = tree_node(tree, node);
		bool has_children = n->first_child != TREE_NONE;

		if (!quiet || !is_noise(n))
			r = add_line(b, node, depth, has_children);
		if (r < 0)
			return r;
		if (has_children && !b->folded[node]) {
			node = n->first_child;
			depth++;
			continue;
		}
		while (node != root && tree_node(tree, node)->next == TREE_NONE) {
			node = tree_node(tree, node)->parent;
			depth--;
		}
		if (node == root)
			return 0;
		node = tree_node(tree, node)->next;
	}
}

int branches_lay_out(struct branches *b, const struct tree *tree, bool quiet)
{
	size_t nodes = tree_count(tree), kept = b->count ? b->lines[b->selected].node : 0;
	int r = grow_nodes(b, nodes);

	b->count = 0;
	for (size_t i = 0; r == 0 && i < nodes; i++)
		if (tree_node(tree, i)->parent == TREE_NONE)
			r = walk(b, tree, i, quiet);
	b->nodes = nodes;
	if (b->selected >= b->count)
		b->selected = b->count ? b->count - 1 : 0;
	for (size_t i = 0; i < b->count; i++)
		if (b->lines[i].node == kept)
			b->selected = i;
	return r;
}

void branches_fold(struct branches *b, bool folded)
{
	if (b->count)
		b->folded[b->lines[b->selected].node] = folded;
}

void branches_fold_all(struct branches *b, bool folded)
{
	memset(b->folded, folded, b->node_room);
}

bool branches_select(struct branches *b, const struct tree *tree, struct bytes key)
{
	for (size_t i = 0; key.data && i < tree_count(tree) && i < b->node_room; i++) {
		struct bytes own = tree_key(tree, i);

		if (own.size != key.size || memcmp(own.data, key.data, key.size) != 0)
			continue;
		for (size_t up = tree_node(tree, i)->parent; up != TREE_NONE;
		     up = tree_node(tree, up)->parent)
			b->folded[up] = 0;
		if (branches_lay_out(b, tree, false) < 0)
			return false;
		for (size_t line = 0; line < b->count; line++)
			if (b->lines[line].node == i)
				b->selected = line;
		return true;
	}
	return false;
}
