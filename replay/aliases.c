/*
 * Collects the moves of a session, then follows them both ways until no name is new.
 */
#include "aliases.h"

#include "keymap.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <string.h>

#define PATH_BYTES_MAX 4096

struct aliases {
	struct keymap *names;
	bool is_cut;
};

struct moves {
	struct keymap *paths;
	struct {
		uint32_t from, to; /* numbers of paths */
	} * list;
	size_t count, room;
	bool is_cut;
};

void aliases_free(struct aliases *a)
{
	if (!a)
		return;
	keymap_free(a->names);
	free(a);
}

static struct bytes path_of(const struct event *e, enum event_field known,
			    enum event_field requested)
{
	struct bytes path = event_bytes(e, known);

	return path.data ? path : event_bytes(e, requested);
}

static int add_move(struct moves *m, const struct event *e)
{
	struct bytes from = path_of(e, FIELD_path, FIELD_requested);
	struct bytes to = path_of(e, FIELD_new_path, FIELD_new_requested);
	size_t first = 0, second = 0;
	int r;

	if (!from.data || !to.data || from.size > PATH_BYTES_MAX || to.size > PATH_BYTES_MAX)
		return 0;
	if (m->count >= ALIASES_MOVES_MAX) {
		m->is_cut = true;
		return 0;
	}
	if (m->count == m->room) {
		size_t room = m->room ? m->room * 2 : 64;
		void *grown = realloc(m->list, room * sizeof(*m->list));

		if (!grown)
			return -ENOMEM;
		m->list = grown;
		m->room = room;
	}
	r = keymap_add(m->paths, from, &first);
	if (r == 0)
		r = keymap_add(m->paths, to, &second);
	if (r < 0)
		return r;
	m->list[m->count].from = (uint32_t)first;
	m->list[m->count++].to = (uint32_t)second;
	return 0;
}

static int read_moves(struct moves *m, struct reader *reader)
{
	struct event e;
	int r = 0;

	while (r == 0) {
		switch (reader_next(reader, &e)) {
		case READER_RECORD:
			if (e.kind == EVENT_file_rename || e.kind == EVENT_file_link)
				r = add_move(m, &e);
			break;
		case READER_END:
			return 0;
		case READER_STOPPED:
			if (!reader_skip_damage(reader))
				return 0;
			break;
		}
	}
	return r;
}

/* If @name is @from or below it, it was also called @to, with the same rest. */
static int follow_move(struct aliases *a, struct bytes name, struct bytes from, struct bytes to)
{
	char path[2 * PATH_BYTES_MAX];
	size_t rest, number;
	int r;

	if (name.size < from.size || memcmp(name.data, from.data, from.size) != 0)
		return 0;
	rest = name.size - from.size;
	if (rest && ((const char *)name.data)[from.size] != '/')
		return 0;
	if (rest > PATH_BYTES_MAX)
		return 0;
	memcpy(path, to.data, to.size);
	memcpy(path + to.size, (const char *)name.data + from.size, rest);
	r = keymap_add(a->names, (struct bytes){path, to.size + rest}, &number);
	a->is_cut |= r == -ENOSPC;
	return r == -ENOSPC ? 0 : r;
}

static int follow_moves(struct aliases *a, const struct moves *m)
{
	for (size_t n = 0; n < keymap_count(a->names); n++) {
		char copy[2 * PATH_BYTES_MAX]; /* keys move when one is added */
		struct bytes key = keymap_key(a->names, n);
		struct bytes name = {copy, key.size < sizeof(copy) ? key.size : sizeof(copy)};

		memcpy(copy, key.data, name.size);
		for (size_t i = 0; i < m->count; i++) {
			struct bytes from = keymap_key(m->paths, m->list[i].from);
			struct bytes to = keymap_key(m->paths, m->list[i].to);
			int r = follow_move(a, name, from, to);

			if (r == 0)
				r = follow_move(a, name, to, from);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int aliases_find(struct reader *reader, const char *path, struct aliases **ret_aliases)
{
	cleanup(aliases) struct aliases *a = calloc(1, sizeof(*a));
	struct moves m = {.paths = keymap_new(2 * ALIASES_MOVES_MAX)};
	size_t number;
	int r = -ENOMEM;

	if (a)
		a->names = keymap_new(ALIASES_MAX);
	if (a && a->names && m.paths)
		r = keymap_add(a->names, bytes_of(path), &number);
	if (r == 0)
		r = read_moves(&m, reader);
	if (r == 0)
		r = follow_moves(a, &m);
	if (r == 0) {
		a->is_cut |= m.is_cut;
		*ret_aliases = take(a);
	}
	keymap_free(m.paths);
	free(m.list);
	return r;
}

bool aliases_have(const struct aliases *a, struct bytes path)
{
	size_t number;

	return path.data && keymap_find(a->names, path, &number) == 0;
}

size_t aliases_count(const struct aliases *a)
{
	return keymap_count(a->names);
}

struct bytes aliases_name(const struct aliases *a, size_t number)
{
	return keymap_key(a->names, number);
}

bool aliases_are_cut(const struct aliases *a)
{
	return a->is_cut;
}
