/*
 * Entries in one block, found by chains of indexes; those that have ended stand in a queue, oldest
 * first. Memory that was never used costs nothing: the block comes zeroed from the kernel.
 */
#include "processes.h"
#include "mapping.h"

#include <errno.h>
#include <stdlib.h>

#define ENTRIES 16384
#define BUCKETS 16384 /* power of two */

struct process {
	struct process_key key, parent;
	uint32_t next;	/* in the chain; index + 1, 0: none */
	uint32_t newer; /* in the queue of those that have ended, or in the list of free ones */
	bool ended;
};

struct processes {
	uint32_t buckets[BUCKETS]; /* index + 1 */
	uint32_t used;		   /* entries up to here were in use at some time */
	uint32_t free;		   /* of these, a list of those that are not now */
	uint32_t oldest, newest;   /* of the queue */
	struct process entries[ENTRIES];
};

int processes_new(struct processes **ret)
{
	struct processes *p = mapping_new(sizeof(*p));
	if (!p)
		return -ENOMEM;
	*ret = p;
	return 0;
}

void processes_free(struct processes *p)
{
	mapping_free(p, sizeof(*p));
}

static uint32_t *bucket_of(struct processes *p, struct process_key key)
{
	uint64_t hash = (key.start_ns ^ key.pid) * 0x9e3779b97f4a7c15ULL;

	return &p->buckets[hash >> 32 & (BUCKETS - 1)];
}

static bool same_key(struct process_key a, struct process_key b)
{
	return a.pid == b.pid && a.start_ns == b.start_ns;
}

static struct process *find(const struct processes *p, struct process_key key)
{
	struct processes *all = (struct processes *)p;
	uint32_t i = *bucket_of(all, key);

	while (i != 0 && !same_key(all->entries[i - 1].key, key))
		i = all->entries[i - 1].next;
	return i ? &all->entries[i - 1] : NULL;
}

/* Take the process that ended longest ago out of queue and chain. */
static void forget_oldest(struct processes *p)
{
	uint32_t i = p->oldest;
	struct process *old = &p->entries[i - 1];
	uint32_t *link = bucket_of(p, old->key);

	p->oldest = old->newer;
	if (p->oldest == 0)
		p->newest = 0;
	while (*link != i)
		link = &p->entries[*link - 1].next;
	*link = old->next;
	old->newer = p->free;
	p->free = i;
}

static uint32_t take_entry(struct processes *p)
{
	uint32_t i;

	if (p->free == 0 && p->used < ENTRIES)
		return ++p->used;
	if (p->free == 0 && p->oldest != 0)
		forget_oldest(p);
	i = p->free;
	if (i != 0)
		p->free = p->entries[i - 1].newer;
	return i;
}

void processes_add(struct processes *p, struct process_key child, struct process_key parent)
{
	struct process *known = find(p, child);

	if (known) {
		if (known->parent.pid == 0)
			known->parent = parent;
		return;
	}

	uint32_t i = take_entry(p);
	if (i == 0)
		return; /* so many live: its parent is then unknown, and said to be */
	uint32_t *bucket = bucket_of(p, child);
	p->entries[i - 1] = (struct process){.key = child, .parent = parent, .next = *bucket};
	*bucket = i;
}

void processes_end(struct processes *p, struct process_key key)
{
	struct process *ended = find(p, key);

	if (!ended || ended->ended)
		return;
	ended->ended = true;
	ended->newer = 0;
	uint32_t i = (uint32_t)(ended - p->entries) + 1;
	if (p->newest != 0)
		p->entries[p->newest - 1].newer = i;
	else
		p->oldest = i;
	p->newest = i;
}

struct process_key processes_parent(const struct processes *p, struct process_key key)
{
	const struct process *process = find(p, key);

	return process ? process->parent : (struct process_key){0};
}

size_t processes_ancestors(const struct processes *p, struct process_key key,
			   struct process_key *ret_ancestors, size_t room)
{
	size_t count = 0;

	for (key = processes_parent(p, key); key.pid != 0 && count < room;
	     key = processes_parent(p, key))
		ret_ancestors[count++] = key;
	return count;
}
