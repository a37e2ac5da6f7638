/*
 * The process tree as one JSON object: a flat list of processes, each with the key of its parent,
 * in the order in which they were first seen. Depth costs nothing, to us and to who reads it.
 */
#include "document.h"
#include "tree.h"
#include "view.h"

#include <errno.h>
#include <stdlib.h>

struct tree_json {
	FILE *out;
	const char *session;
	struct tree *tree;
	uint64_t damages;
};

static void tree_json_free(void *state)
{
	struct tree_json *v = state;

	if (!v)
		return;
	tree_free(v->tree);
	free(v);
}

static int tree_json_begin(const struct view_options *options, void **ret_state)
{
	struct tree_json *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->out = options->out;
	v->session = options->session;
	v->tree = tree_new();
	if (!v->tree) {
		free(v);
		return -ENOMEM;
	}
	*ret_state = v;
	return 0;
}

static int tree_json_event(void *state, const struct event *e, const struct origin *origin,
			   bool wanted)
{
	struct tree_json *v = state;

	(void)origin;
	return tree_add(v->tree, e, wanted);
}

static void tree_json_damage(void *state, const struct reader_damage *damage)
{
	struct tree_json *v = state;

	(void)damage;
	v->damages++;
}

static void write_execs(struct document *d, const struct tree_node *node)
{
	document_open(d, "programs", '[');
	for (const struct tree_exec *exec = node->execs; exec; exec = exec->next) {
		struct bytes item;
		size_t cursor = 0;

		document_open(d, NULL, '{');
		document_open(d, "argv", '[');
		while (bytes_next_item((struct bytes){exec->argv, exec->size}, &cursor, &item))
			document_text(d, NULL, item);
		document_close(d, '[');
		if (exec->left_out)
			document_u64(d, "argv_left_out", exec->left_out);
		document_close(d, '{');
	}
	document_close(d, '[');
}

static void write_node(struct document *d, const struct tree *t, size_t number)
{
	const struct tree_node *node = tree_node(t, number);

	document_open(d, NULL, '{');
	document_text(d, "proc", tree_key(t, number));
	if (node->has_pid)
		document_u64(d, "pid", node->pid);
	if (node->parent != TREE_NONE)
		document_text(d, "parent_proc", tree_key(t, node->parent));
	write_execs(d, node);
	if (node->has_status)
		document_u64(d, node->has_signal ? "signal" : "exit_code", node->status);
	document_bool(d, "start_seen", node->fork_seen);
	document_bool(d, "end_seen", node->exit_seen);
	if (node->fork_seen && node->exit_seen)
		document_u64(d, "wall_ns", node->last_boot_ns - node->first_boot_ns);
	document_u64(d, "file_events", node->files);
	document_u64(d, "connections", node->connections);
	document_u64(d, "names", node->names);
	document_u64(d, "failed_execs", node->failed_execs);
	document_close(d, '{');
}

static int tree_json_end(void *state, enum view_end how)
{
	struct tree_json *v = state;
	struct document d = {0};

	document_open(&d, NULL, '{');
	document_string(&d, "session", v->session);
	document_bool(&d, "ended", how == VIEW_ENDED);
	document_u64(&d, "missing_process_records", tree_missing(v->tree));
	document_u64(&d, "contradictions", tree_contradictions(v->tree));
	document_u64(&d, "damages", v->damages);
	document_open(&d, "processes", '[');
	for (size_t i = 0; i < tree_count(v->tree); i++) {
		if (!tree_node(v->tree, i)->wanted)
			continue;
		write_node(&d, v->tree, i);
		document_flush(&d, v->out);
	}
	document_close(&d, '[');
	document_close(&d, '{');
	return document_finish(&d, v->out);
}

const struct view view_tree_json = {
	.begin = tree_json_begin,
	.event = tree_json_event,
	.damage = tree_json_damage,
	.end = tree_json_end,
	.free = tree_json_free,
};
