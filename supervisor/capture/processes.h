/*
 * The processes of a session: who made whom. A process is its host pid and its start time, so a pid
 * that is used again is another process.
 *
 * The table is of one size. When it is full the process that ended longest ago makes room; what
 * descends from it keeps its parent's key, and its line of ancestors ends there. Nothing that is
 * still known is ever attributed anew.
 */
#pragma once

#include "capture.h"

struct process_key {
	uint32_t pid;	   /* on the host; 0: unknown */
	uint64_t start_ns; /* CLOCK_BOOTTIME */
};

/* @child was made by @parent. */
void processes_add(struct processes *p, struct process_key child, struct process_key parent);

/* It has ended; it stays known for its children's sake as long as there is room. */
void processes_end(struct processes *p, struct process_key key);

/* Who made @key; pid 0 if that is not known. */
struct process_key processes_parent(const struct processes *p, struct process_key key);

/* Its ancestors, nearest first, at most @room of them. Returns how many are known. */
size_t processes_ancestors(const struct processes *p, struct process_key key,
			   struct process_key *ret_ancestors, size_t room);
