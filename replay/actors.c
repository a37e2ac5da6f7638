/*
 * Learns names of processes from forks and execs.
 */
#include "actors.h"

#include "keymap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct actors {
	struct keymap *keys;
	struct actor *list; /* by number */
	size_t room;
};

struct actors *actors_new(void)
{
	struct actors *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->keys = keymap_new(ACTORS_MAX);
	if (!a->keys) {
		free(a);
		return NULL;
	}
	return a;
}

void actors_free(struct actors *a)
{
	if (!a)
		return;
	keymap_free(a->keys);
	free(a->list);
	free(a);
}

/* The actor of @key, made if it is new; SIZE_MAX where there are too many. 0 or -ENOMEM. */
static int actor_of(struct actors *a, struct bytes key, size_t *ret_number)
{
	size_t count = keymap_count(a->keys), number;
	int r;

	if (count == a->room) {
		size_t room = a->room ? a->room * 2 : 64;
		struct actor *list = realloc(a->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		a->list = list;
		a->room = room;
	}
	r = keymap_add(a->keys, key, &number);
	if (r == -ENOSPC)
		number = SIZE_MAX;
	else if (r < 0)
		return r;
	else if (number == count)
		a->list[number] = (struct actor){.parent = SIZE_MAX};
	*ret_number = number;
	return 0;
}

static void set_pid(struct actor *actor, const struct event *e, enum event_field field)
{
	const struct event_value *pid = event_get(e, field);

	if (!pid)
		return;
	actor->has_pid = true;
	actor->pid = pid->u64;
}

static void set_program(struct actor *actor, const struct event *e)
{
	size_t cursor = 0;
	struct bytes name = {0};
	const char *slash;

	if (!bytes_next_item(event_bytes(e, FIELD_argv), &cursor, &name) || !name.size)
		name = event_bytes(e, FIELD_exe_path);
	if (!name.data)
		return;
	slash = memrchr(name.data, '/', name.size);
	if (slash && slash + 1 < (const char *)name.data + name.size) {
		name.size -= (size_t)(slash + 1 - (const char *)name.data);
		name.data = slash + 1;
	}
	if (name.size > ACTOR_PROGRAM_MAX)
		name.size = ACTOR_PROGRAM_MAX;
	memcpy(actor->program, name.data, name.size);
	actor->program_size = (uint8_t)name.size;
}

static int add_fork(struct actors *a, const struct event *e, size_t parent)
{
	struct bytes key = event_bytes(e, FIELD_child_proc);
	struct actor *child;
	size_t number;
	int r;

	if (!key.data)
		return 0;
	r = actor_of(a, key, &number);
	if (r < 0 || number == SIZE_MAX || number == parent)
		return r;

	child = &a->list[number];
	set_pid(child, e, FIELD_child_pid);
	if (child->parent == SIZE_MAX)
		child->parent = parent;
	if (!child->program_size && parent != SIZE_MAX) {
		child->program_size = a->list[parent].program_size;
		memcpy(child->program, a->list[parent].program, ACTOR_PROGRAM_MAX);
	}
	return 0;
}

int actors_add(struct actors *a, const struct event *e)
{
	struct bytes key = event_bytes(e, FIELD_proc);
	size_t number;
	int r;

	if (!key.data)
		return 0;
	r = actor_of(a, key, &number);
	if (r < 0)
		return r;
	if (number != SIZE_MAX) {
		set_pid(&a->list[number], e, FIELD_pid);
		if (e->kind == EVENT_process_exec)
			set_program(&a->list[number], e);
	}
	return e->kind == EVENT_process_fork ? add_fork(a, e, number) : 0;
}

int actors_find(const struct actors *a, struct bytes key, size_t *ret_number)
{
	return keymap_find(a->keys, key, ret_number);
}

size_t actors_count(const struct actors *a)
{
	return keymap_count(a->keys);
}

const struct actor *actors_get(const struct actors *a, size_t number)
{
	return &a->list[number];
}

struct bytes actors_key(const struct actors *a, size_t number)
{
	return keymap_key(a->keys, number);
}

void actor_set_add(struct actor_set *set, const struct actors *a, const struct event *e)
{
	struct bytes key = event_bytes(e, FIELD_proc);
	size_t number;

	if (!key.data)
		return;
	if (actors_find(a, key, &number) < 0) {
		set->more = true;
		return;
	}
	for (size_t i = 0; i < set->count; i++) {
		if (set->numbers[i] == number)
			return;
	}
	if (set->count < ACTORS_NAMED_MAX)
		set->numbers[set->count++] = (uint32_t)number;
	else
		set->more = true;
}

void actor_write(const struct actors *a, size_t number, const struct pen *pen)
{
	const struct actor *actor = &a->list[number];

	if (actor->has_pid)
		fprintf(pen->out, "%" PRIu64, actor->pid);
	else
		printable_word(pen->out, &pen->printable, keymap_key(a->keys, number));
	if (!actor->program_size)
		return;
	fputc(' ', pen->out);
	printable_word(pen->out, &pen->printable,
		       (struct bytes){actor->program, actor->program_size});
}

void actor_set_write(const struct actor_set *set, const struct actors *a, const struct pen *pen)
{
	for (size_t i = 0; i < set->count; i++) {
		fputs(i ? ", " : "", pen->out);
		actor_write(a, set->numbers[i], pen);
	}
	if (set->more)
		fputs(set->count ? " and others" : "others", pen->out);
}

void actor_set_write_json(const struct actor_set *set, const struct actors *a, struct document *d)
{
	document_open(d, "by", '[');
	for (size_t i = 0; i < set->count; i++) {
		const struct actor *actor = &a->list[set->numbers[i]];

		document_open(d, NULL, '{');
		document_text(d, "proc", keymap_key(a->keys, set->numbers[i]));
		if (actor->has_pid)
			document_u64(d, "pid", actor->pid);
		if (actor->program_size)
			document_text(d, "program",
				      (struct bytes){actor->program, actor->program_size});
		document_close(d, '{');
	}
	document_close(d, '[');
	if (set->more)
		document_bool(d, "by_others", true);
}
