/*
 * The process tree of a session: who forked whom, what each ran, how it ended, what it touched.
 *
 * Nodes are processes by their key, never by pid: a pid that is used again is another node. The
 * tree is that of forks: a process whose parent ended stays below it. What a gap hid is not
 * invented: a node whose fork is not in the record has been seen otherwise, and says so.
 */
#pragma once

#include "../supervisor/record/event.h"

#define TREE_NONE SIZE_MAX
#define TREE_ARGV_MAX 2048 /* bytes of each argv that are kept */

/* A program that a process ran. */
struct tree_exec {
	struct tree_exec *next;
	size_t size, left_out; /* bytes kept, items not kept */
	char argv[];	       /* packed items */
};

struct tree_node {
	size_t parent, first_child, last_child, next; /* numbers of nodes, or TREE_NONE */
	uint64_t pid;
	bool has_pid;
	bool seen;	 /* something in the record is its own act */
	bool fork_seen;	 /* its start is in the record */
	bool exit_seen;	 /* and its end */
	bool wanted;	 /* it, or one below it, did something that was asked for */
	bool has_signal; /* status is a signal's number, not an exit code */
	bool has_status;
	uint64_t status;
	uint64_t first_boot_ns, last_boot_ns;
	uint64_t files, connections, names, failed_execs;
	struct tree_exec *execs, *last_exec;
};

struct tree;

struct tree *tree_new(void); /* NULL: out of memory */
void tree_free(struct tree *t);

/* Take in @e. 0 or -ENOMEM. */
int tree_add(struct tree *t, const struct event *e, bool wanted);

size_t tree_count(const struct tree *t);
const struct tree_node *tree_node(const struct tree *t, size_t number);
struct bytes tree_key(const struct tree *t, size_t number);
/* String the nodes without a parent together by .next, in the order in which they were first seen,
 * and return the first. To be called when the tree is complete. */
size_t tree_link_roots(struct tree *t);

/* How many process records the gaps say are missing, and how many records contradict the tree. */
uint64_t tree_missing(const struct tree *t);
uint64_t tree_contradictions(const struct tree *t);
