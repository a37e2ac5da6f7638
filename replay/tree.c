/*
 * Builds the tree, record by record.
 */
#include "tree.h"

#include "keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tree {
	struct keymap *keys;
	struct tree_node *nodes; /* by the number of the key */
	size_t room;
	uint64_t missing, contradictions;
};

struct tree *tree_new(void)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->keys = keymap_new(SIZE_MAX);
	if (!t->keys) {
		free(t);
		return NULL;
	}
	return t;
}

/* The node of @key, made if it is new. 0 or -ENOMEM. */
static int node_of(struct tree *t, struct bytes key, size_t *ret_number)
{
	size_t count = keymap_count(t->keys), number;
	int r;

	if (count == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		struct tree_node *nodes = realloc(t->nodes, room * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		t->nodes = nodes;
		t->room = room;
	}
	r = keymap_add(t->keys, key, &number);
	if (r < 0)
		return -ENOMEM;

	if (number == count) {
		t->nodes[number] = (struct tree_node){
			.parent = TREE_NONE,
			.first_child = TREE_NONE,
			.last_child = TREE_NONE,
			.next = TREE_NONE,
		};
	}
	*ret_number = number;
	return 0;
}

/* True if @number is @below or stands above it. */
static bool stands_above(const struct tree *t, size_t number, size_t below)
{
	while (below != TREE_NONE && below != number)
		below = t->nodes[below].parent;
	return below == number;
}

/* Put @child below @parent. A record that would bend the tree to a ring is counted instead. */
static void adopt(struct tree *t, size_t child, size_t parent)
{
	struct tree_node *node = &t->nodes[child], *above = &t->nodes[parent];

	if (node->parent != TREE_NONE) {
		t->contradictions += node->parent != parent;
		return;
	}
	if (child == parent || (node->first_child != TREE_NONE && stands_above(t, child, parent))) {
		t->contradictions++;
		return;
	}
	node->parent = parent;
	node->next = TREE_NONE;
	if (above->last_child == TREE_NONE)
		above->first_child = child;
	else
		t->nodes[above->last_child].next = child;
	above->last_child = child;
}

static void mark_wanted(struct tree *t, size_t number)
{
	while (number != TREE_NONE && !t->nodes[number].wanted) {
		t->nodes[number].wanted = true;
		number = t->nodes[number].parent;
	}
}

static int add_fork(struct tree *t, const struct event *e, size_t parent, bool wanted)
{
	struct bytes key = event_bytes(e, FIELD_child_proc);
	const struct event_value *pid = event_get(e, FIELD_child_pid);
	struct tree_node *node;
	size_t child;
	int r;

	if (!key.data)
		return 0;
	r = node_of(t, key, &child);
	if (r < 0)
		return r;

	adopt(t, child, parent);
	node = &t->nodes[child];
	node->fork_seen = true;
	if (pid) {
		node->has_pid = true;
		node->pid = pid->u64;
	}
	if (!node->first_boot_ns || e->boot_ns < node->first_boot_ns)
		node->first_boot_ns = e->boot_ns;
	if (e->boot_ns > node->last_boot_ns)
		node->last_boot_ns = e->boot_ns;
	if (wanted)
		mark_wanted(t, child);
	return 0;
}

/* A packed array's items that fit into TREE_ARGV_MAX, and how many do not. */
static size_t fitting_items(struct bytes argv, size_t *ret_left_out)
{
	size_t cursor = 0, size = 0, left_out = 0;
	struct bytes item;

	while (bytes_next_item(argv, &cursor, &item)) {
		if (!left_out && cursor <= TREE_ARGV_MAX)
			size = cursor;
		else
			left_out++;
	}
	*ret_left_out = left_out;
	return size < argv.size ? size : argv.size;
}

static int add_exec(struct tree *t, const struct event *e, size_t number)
{
	struct bytes argv = event_bytes(e, FIELD_argv);
	struct bytes parent = event_bytes(e, FIELD_parent_proc);
	struct tree_exec *exec;
	struct tree_node *node;
	size_t above, left_out, size = fitting_items(argv, &left_out);

	if (parent.data && t->nodes[number].parent == TREE_NONE) {
		int r = node_of(t, parent, &above);

		if (r < 0)
			return r;
		adopt(t, number, above);
	}
	exec = calloc(1, sizeof(*exec) + size + 1);
	if (!exec)
		return -ENOMEM;
	exec->size = size;
	exec->left_out = left_out;
	if (size)
		memcpy(exec->argv, argv.data, size);
	node = &t->nodes[number];
	if (node->last_exec)
		node->last_exec->next = exec;
	else
		node->execs = exec;
	node->last_exec = exec;
	return 0;
}

static void add_exit(struct tree_node *node, const struct event *e)
{
	const struct event_value *code = event_get(e, FIELD_exit_code);
	const struct event_value *number = event_get(e, FIELD_signal);

	node->exit_seen = true;
	node->has_signal = !code && number;
	node->has_status = code || number;
	node->status = code ? code->u64 : number ? number->u64 : 0;
}

/* What the tree counts of an act, where it was asked for. */
static void count_act(struct tree_node *node, const struct event *e)
{
	if (e->kind == EVENT_process_exec_failed)
		node->failed_execs++;
	switch (kind_table[e->kind].class) {
	case EVENT_CLASS_file:
		node->files++;
		break;
	case EVENT_CLASS_net:
		node->connections += e->kind == EVENT_net_connect || e->kind == EVENT_net_accept;
		break;
	case EVENT_CLASS_dns:
		node->names += e->kind == EVENT_dns_query;
		break;
	default:
		break;
	}
}

static void add_gap(struct tree *t, const struct event *e)
{
	struct bytes class = event_bytes(e, FIELD_class);
	const char *ours = event_class_names[EVENT_CLASS_process];

	if (class.size == strlen(ours) && !memcmp(class.data, ours, class.size))
		t->missing += event_u64(e, FIELD_count, 1);
}

static void see(struct tree_node *node, const struct event *e)
{
	const struct event_value *pid = event_get(e, FIELD_pid);

	node->seen = true;
	if (pid) {
		node->has_pid = true;
		node->pid = pid->u64;
	}
	if (!node->first_boot_ns || e->boot_ns < node->first_boot_ns)
		node->first_boot_ns = e->boot_ns;
	if (e->boot_ns > node->last_boot_ns)
		node->last_boot_ns = e->boot_ns;
}

int tree_add(struct tree *t, const struct event *e, bool wanted)
{
	struct bytes proc = event_bytes(e, FIELD_proc);
	size_t number;
	int r;

	if (e->kind == EVENT_gap)
		add_gap(t, e);
	if (!proc.data || e->kind >= EVENT_KIND_COUNT)
		return 0;
	r = node_of(t, proc, &number);
	if (r < 0)
		return r;

	/* A file that is closed by an exit may be told after it: that is not its life going on. */
	if (!t->nodes[number].exit_seen)
		see(&t->nodes[number], e);
	if (wanted)
		count_act(&t->nodes[number], e);
	if (e->kind == EVENT_process_fork)
		r = add_fork(t, e, number, wanted);
	else if (e->kind == EVENT_process_exec)
		r = add_exec(t, e, number);
	else if (e->kind == EVENT_process_exit)
		add_exit(&t->nodes[number], e);
	if (wanted)
		mark_wanted(t, number);
	return r;
}

size_t tree_link_roots(struct tree *t)
{
	size_t first = TREE_NONE, last = TREE_NONE;

	for (size_t i = 0; i < keymap_count(t->keys); i++) {
		if (t->nodes[i].parent != TREE_NONE)
			continue;
		t->nodes[i].next = TREE_NONE;
		if (last == TREE_NONE)
			first = i;
		else
			t->nodes[last].next = i;
		last = i;
	}
	return first;
}

size_t tree_count(const struct tree *t)
{
	return keymap_count(t->keys);
}

const struct tree_node *tree_node(const struct tree *t, size_t number)
{
	return &t->nodes[number];
}

struct bytes tree_key(const struct tree *t, size_t number)
{
	return keymap_key(t->keys, number);
}

uint64_t tree_missing(const struct tree *t)
{
	return t->missing;
}

uint64_t tree_contradictions(const struct tree *t)
{
	return t->contradictions;
}

static void free_execs(struct tree_exec *exec)
{
	while (exec) {
		struct tree_exec *next = exec->next;

		free(exec);
		exec = next;
	}
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < keymap_count(t->keys); i++)
		free_execs(t->nodes[i].execs);
	free(t->nodes);
	keymap_free(t->keys);
	free(t);
}
