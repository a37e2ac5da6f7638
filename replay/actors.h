/*
 * The processes of a session by number: what each is called, and who acted on a thing. Bounded.
 */
#pragma once

#include "document.h"
#include "line.h"

#define ACTORS_MAX (1 << 20)
#define ACTOR_PROGRAM_MAX 48 /* bytes of a program's name that are kept */
#define ACTORS_NAMED_MAX 4   /* of one thing that are told by name */

struct actors;

struct actor {
	uint64_t pid;
	bool has_pid;
	size_t parent; /* number, SIZE_MAX: unknown */
	uint8_t program_size;
	char program[ACTOR_PROGRAM_MAX]; /* base name of argv[0]; of a fork, its parent's */
};

/* Who acted on one thing: the first few, in the order in which they came. */
struct actor_set {
	uint32_t numbers[ACTORS_NAMED_MAX];
	uint8_t count;
	bool more;
};

struct actors *actors_new(void); /* NULL: out of memory */
void actors_free(struct actors *a);

/* Learn from @e: to be called for every event, in order. 0 or -ENOMEM. */
int actors_add(struct actors *a, const struct event *e);

/* The number of the process with this key. 0 or -ENOENT (not seen, or there were too many). */
int actors_find(const struct actors *a, struct bytes key, size_t *ret_number);
size_t actors_count(const struct actors *a);
const struct actor *actors_get(const struct actors *a, size_t number);
struct bytes actors_key(const struct actors *a, size_t number);

/* Note that the process of @e acted. */
void actor_set_add(struct actor_set *set, const struct actors *a, const struct event *e);

/* "2 sh, 3 cc and others"; nothing for none. */
void actor_set_write(const struct actor_set *set, const struct actors *a, const struct pen *pen);
void actor_write(const struct actors *a, size_t number, const struct pen *pen);
/* "by": [{proc, pid, program}, ...], "by_others": true */
void actor_set_write_json(const struct actor_set *set, const struct actors *a, struct document *d);
