/*
 * Draws the process tree: a line a process, with what it ran, how it ended, how long it lived and
 * what it touched.
 */
#include "tally.h"
#include "tree.h"
#include "units.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DRAWN_DEPTH_MAX 40 /* deeper ones stand there with their depth as a number */

struct tree_view {
	struct pen pen;
	struct tree *tree;
	struct tally *tally;
	bool more[DRAWN_DEPTH_MAX]; /* on this level others follow */
	bool running;		    /* what has not ended may yet do so */
};

static void tree_view_free(void *state)
{
	struct tree_view *v = state;

	if (!v)
		return;
	tree_free(v->tree);
	tally_free(v->tally);
	free(v);
}

static int tree_view_begin(const struct view_options *options, void **ret_state)
{
	struct tree_view *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	v->pen = pen_for(options->out, options->color);
	v->tree = tree_new();
	r = v->tree ? tally_new(&v->tally) : -ENOMEM;
	if (r < 0) {
		tree_view_free(v);
		return r;
	}
	*ret_state = v;
	return 0;
}

static int tree_view_event(void *state, const struct event *e, const struct origin *origin,
			   bool wanted)
{
	struct tree_view *v = state;
	int r = tree_add(v->tree, e, wanted);

	(void)origin;
	return r < 0 ? r : tally_add(v->tally, e);
}

static void tree_view_damage(void *state, const struct reader_damage *damage)
{
	struct tree_view *v = state;

	(void)damage;
	tally_add_damage(v->tally);
}

/* ---- drawing ---- */

struct strokes {
	const char *tee, *corner, *bar, *blank;
};

static const struct strokes *strokes_for(const struct pen *pen)
{
	static const struct strokes ascii = {"|- ", "`- ", "|  ", "   "};
	static const struct strokes lines = {"├─ ", "└─ ", "│  ", "   "};

	return pen->printable.ascii ? &ascii : &lines;
}

/* What stands before a node of @depth; @below: before a further line of it. */
static void write_strokes(const struct tree_view *v, size_t depth, bool last, bool below)
{
	const struct strokes *s = strokes_for(&v->pen);
	size_t drawn = depth < DRAWN_DEPTH_MAX ? depth : DRAWN_DEPTH_MAX;

	pen_style(&v->pen, STYLE_DIM);
	for (size_t i = 1; i < drawn; i++)
		fputs(v->more[i] ? s->bar : s->blank, v->pen.out);
	if (depth && below)
		fputs(last ? s->blank : s->bar, v->pen.out);
	else if (depth)
		fputs(last ? s->corner : s->tee, v->pen.out);
	if (depth >= DRAWN_DEPTH_MAX && !below)
		fprintf(v->pen.out, "(%zu levels deep) ", depth);
	pen_style(&v->pen, STYLE_PLAIN);
}

static void write_argv(const struct tree_view *v, const struct tree_exec *exec)
{
	line_write_words(&v->pen, (struct bytes){exec->argv, exec->size});
	if (exec->left_out)
		fprintf(v->pen.out, " [+%zu more]", exec->left_out);
}

/* The first process of a session is vitrine's own: it was there before the record. */
static bool is_init(const struct tree_node *node)
{
	return node->parent == TREE_NONE && node->has_pid && node->pid == 1 && !node->execs;
}

/* What a process that ran no program of its own is: a copy of the nearest one above that did. */
static void write_copy(const struct tree_view *v, const struct tree_node *node)
{
	size_t number = node->parent;
	const struct tree_node *above = NULL;

	while (number != TREE_NONE) {
		above = tree_node(v->tree, number);
		if (above->execs)
			break;
		number = above->parent;
	}
	if (!node->seen && !node->fork_seen) {
		fputs("(seen only as a parent)", v->pen.out);
		return;
	}
	if (is_init(node)) {
		fputs("(init of the session)", v->pen.out);
		return;
	}
	pen_style(&v->pen, STYLE_DIM);
	fputs("(fork", v->pen.out);
	if (number != TREE_NONE) {
		fputs(" of ", v->pen.out);
		write_argv(v, above->execs);
	}
	fputc(')', v->pen.out);
	pen_style(&v->pen, STYLE_PLAIN);
}

static void write_status(const struct tree_view *v, const struct tree_node *node)
{
	const char *name = node->status < 128 ? sigabbrev_np((int)node->status) : NULL;

	if (!node->exit_seen && node->seen && !is_init(node))
		fputs(v->running ? "  (runs)" : "  (its end is not in the record)", v->pen.out);
	if (!node->has_status)
		return;
	if (node->status)
		pen_style(&v->pen, STYLE_POLICY);
	if (!node->has_signal)
		fprintf(v->pen.out, "  exit %" PRIu64, node->status);
	else
		fprintf(v->pen.out, "  signal %" PRIu64 "%s%s", node->status, name ? " " : "",
			name ? name : "");
	pen_style(&v->pen, STYLE_PLAIN);
}

static void write_numbers(const struct tree_view *v, const struct tree_node *node)
{
	FILE *out = v->pen.out;

	if (node->fork_seen && node->exit_seen) {
		fputs("  ", out);
		write_duration(out, node->last_boot_ns - node->first_boot_ns);
	}
	if (node->files)
		fprintf(out, "  file events %" PRIu64, node->files);
	if (node->connections)
		fprintf(out, "  connections %" PRIu64, node->connections);
	if (node->names)
		fprintf(out, "  names %" PRIu64, node->names);
	if (node->failed_execs)
		fprintf(out, "  failed to run %" PRIu64, node->failed_execs);
	if (node->seen && !node->fork_seen && !is_init(node))
		fputs("  (its start is not in the record)", out);
}

static void write_node(const struct tree_view *v, size_t number, size_t depth, bool last)
{
	const struct tree_node *node = tree_node(v->tree, number);
	FILE *out = v->pen.out;

	write_strokes(v, depth, last, false);
	pen_style(&v->pen, STYLE_PROCESS);
	if (node->has_pid)
		fprintf(out, "%" PRIu64 " ", node->pid);
	else
		printable_word(out, &v->pen.printable, tree_key(v->tree, number));
	pen_style(&v->pen, STYLE_PLAIN);
	fputs(node->has_pid ? "" : " ", out);
	if (node->execs)
		write_argv(v, node->execs);
	else
		write_copy(v, node);
	write_status(v, node);
	write_numbers(v, node);
	fputc('\n', out);
	for (const struct tree_exec *exec = node->execs ? node->execs->next : NULL; exec;
	     exec = exec->next) {
		write_strokes(v, depth, last, true);
		fputs("then ran ", out);
		write_argv(v, exec);
		fputc('\n', out);
	}
}

/* The next node from @number on that is drawn, or TREE_NONE. */
static size_t next_wanted(const struct tree *t, size_t number)
{
	while (number != TREE_NONE && !tree_node(t, number)->wanted)
		number = tree_node(t, number)->next;
	return number;
}

/* A node that was only ever named as the parent of one other says nothing: begin with that one. */
static size_t skip_bare_root(const struct tree *t, size_t number)
{
	const struct tree_node *node = tree_node(t, number);
	size_t child = next_wanted(t, node->first_child);
	bool bare = !node->seen && !node->fork_seen && node->parent == TREE_NONE;

	if (!bare || child == TREE_NONE || tree_node(t, child)->next != TREE_NONE)
		return number;
	return child;
}

/* All below and including @root, without recursion: a session may nest as deep as it likes. */
static void draw(struct tree_view *v, size_t root)
{
	const struct tree *t = v->tree;
	size_t number = root, depth = 0;

	for (;;) {
		size_t next =
			number == root ? TREE_NONE : next_wanted(t, tree_node(t, number)->next);

		if (depth < DRAWN_DEPTH_MAX)
			v->more[depth] = next != TREE_NONE;
		write_node(v, number, depth, next == TREE_NONE);
		next = next_wanted(t, tree_node(t, number)->first_child);
		if (next != TREE_NONE) {
			number = next;
			depth++;
			continue;
		}
		while (number != root && next_wanted(t, tree_node(t, number)->next) == TREE_NONE) {
			number = tree_node(t, number)->parent;
			depth--;
		}
		if (number == root)
			return;
		number = next_wanted(t, tree_node(t, number)->next);
	}
}

static void write_warnings(const struct tree_view *v)
{
	const struct pen *pen = &v->pen;

	pen_style(pen, STYLE_LOUD);
	if (tree_missing(v->tree))
		fprintf(pen->out,
			"!! the tree is not whole: %" PRIu64 " process records are missing\n",
			tree_missing(v->tree));
	if (tree_contradictions(v->tree))
		fprintf(pen->out, "!! %" PRIu64 " records contradict the tree\n",
			tree_contradictions(v->tree));
	pen_style(pen, STYLE_PLAIN);
}

static int tree_view_end(void *state, enum view_end how)
{
	struct tree_view *v = state;

	v->running = how == VIEW_RUNNING;
	for (size_t root = next_wanted(v->tree, tree_link_roots(v->tree)); root != TREE_NONE;
	     root = next_wanted(v->tree, tree_node(v->tree, root)->next))
		draw(v, skip_bare_root(v->tree, root));
	write_warnings(v);
	tally_write_summary(v->tally, &v->pen, view_end_text(how));
	return 0;
}

const struct view view_tree = {
	.begin = tree_view_begin,
	.event = tree_view_event,
	.damage = tree_view_damage,
	.end = tree_view_end,
	.free = tree_view_free,
};
