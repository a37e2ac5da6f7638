/*
 * Follows files through their names.
 */
#include "changes.h"

#include "keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FOLLOW_STEPS_MAX (UINT64_C(1) << 27) /* names looked at for renamed directories, in all */

const char *const outcome_names[OUTCOME_COUNT] = {
	[OUTCOME_NONE] = "unchanged",	  [OUTCOME_CREATED] = "created",
	[OUTCOME_MODIFIED] = "modified",  [OUTCOME_REPLACED] = "replaced",
	[OUTCOME_RENAMED] = "renamed",	  [OUTCOME_DELETED] = "deleted",
	[OUTCOME_TEMPORARY] = "temporary"};

enum before { BEFORE_UNSEEN, BEFORE_YES, BEFORE_NO, BEFORE_UNKNOWN };

struct name {
	enum before before;
	uint32_t now;	/* file that has it, or NONE */
	uint32_t first; /* file that had it when the session began, or NONE */
	uint32_t last;	/* file that had it last */
	uint32_t final; /* number of its final state, or NONE */
};

struct file {
	uint32_t name; /* NONE where it is gone */
	uint32_t first_name, last_name;
	bool made; /* in this session */
	struct change change;
};

struct changes {
	struct keymap *keys;
	struct name *names;
	struct file *files;
	struct final_state *finals;
	size_t final_room, final_count;
	size_t name_room, file_room, file_count;
	uint64_t steps;
	struct changes_left_out left_out;
};

struct changes *changes_new(void)
{
	struct changes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->keys = keymap_new(CHANGES_NAMES_MAX);
	if (!c->keys) {
		free(c);
		return NULL;
	}
	return c;
}

void changes_free(struct changes *c)
{
	if (!c)
		return;
	keymap_free(c->keys);
	free(c->names);
	free(c->files);
	free(c->finals);
	free(c);
}

struct changes_left_out changes_left_out(const struct changes *c)
{
	return c->left_out;
}

static int more_room(void *array, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*(void **)array, wanted * size);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*room = wanted;
	return 0;
}

/* The number of @path as a name; NONE where there is no room for more. 0 or -ENOMEM. */
static int name_of(struct changes *c, struct bytes path, uint32_t *ret_name)
{
	size_t count = keymap_count(c->keys), number;
	int r = more_room(&c->names, &c->name_room, count, sizeof(*c->names));

	if (r < 0)
		return r;
	r = keymap_add(c->keys, path, &number);
	if (r == -ENOSPC) {
		c->left_out.no_room++;
		*ret_name = NONE;
		return 0;
	}
	if (r < 0)
		return r;
	if (number == count)
		c->names[number] = (struct name){BEFORE_UNSEEN, NONE, NONE, NONE, NONE};
	*ret_name = (uint32_t)number;
	return 0;
}

/* Put a file of its own under @name. 0, -ENOMEM or -ENOSPC. */
static int file_new(struct changes *c, uint32_t name, bool made, uint32_t *ret_file)
{
	int r = more_room(&c->files, &c->file_room, c->file_count, sizeof(*c->files));

	if (r < 0)
		return r;
	if (c->file_count >= CHANGES_NAMES_MAX) {
		c->left_out.no_room++;
		return -ENOSPC;
	}
	*ret_file = (uint32_t)c->file_count++;
	c->files[*ret_file] =
		(struct file){.name = name, .first_name = name, .last_name = name, .made = made};
	c->names[name].now = c->names[name].last = *ret_file;
	return 0;
}

/* The file at @name for an act that needs one to be there. 0, -ENOMEM or -ENOSPC. */
static int file_at(struct changes *c, uint32_t name, uint32_t *ret_file)
{
	struct name *n = &c->names[name];
	int r;

	if (n->now != NONE) {
		*ret_file = n->now;
		return 0;
	}
	r = file_new(c, name, n->before != BEFORE_UNSEEN, ret_file);
	if (r < 0)
		return r;
	if (n->before == BEFORE_UNSEEN) {
		n->before = BEFORE_YES;
		n->first = *ret_file;
	}
	return 0;
}

static bool is_text(struct bytes bytes, const char *text)
{
	return bytes.data && bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

static bool has_flag(const struct event *e, const char *flag)
{
	size_t cursor = 0;
	struct bytes item;

	while (bytes_next_item(event_bytes(e, FIELD_flags), &cursor, &item)) {
		if (is_text(item, flag))
			return true;
	}
	return false;
}

static enum file_type type_of(const struct event *e)
{
	struct bytes type = event_bytes(e, FIELD_file_type);

	if (e->kind == EVENT_file_mkdir || e->kind == EVENT_file_rmdir)
		return FILE_DIRECTORY;
	if (e->kind == EVENT_file_symlink)
		return FILE_SYMLINK;
	if (is_text(type, "directory"))
		return FILE_DIRECTORY;
	if (is_text(type, "symlink"))
		return FILE_SYMLINK;
	return is_text(type, "regular") ? FILE_REGULAR : FILE_UNKNOWN;
}

static void note_sizes(struct change *change, bool made, const struct event *e)
{
	const struct event_value *size = event_get(e, FIELD_size);
	const struct event_value *old = event_get(e, FIELD_old_size);

	if (e->kind == EVENT_file_mmap)
		return; /* its size is that of the mapping */
	if (e->kind == EVENT_file_open && !has_flag(e, "O_TRUNC"))
		old = size;
	if (old && !change->written && !made && !change->has_old_size) {
		change->has_old_size = true;
		change->old_size = old->u64;
	}
	if (!size)
		return;
	change->has_size = true;
	change->size = size->u64;
}

/* What an act says of the file that it was done to. */
static void note_act(struct changes *c, const struct actors *a, uint32_t number,
		     const struct event *e)
{
	struct file *file = &c->files[number];
	struct change *change = &file->change;
	enum file_type type = type_of(e);

	note_sizes(change, file->made, e);
	if (type != FILE_UNKNOWN)
		change->type = type;
	change->written |= e->kind == EVENT_file_modify || e->kind == EVENT_file_truncate ||
			   e->kind == EVENT_file_mmap;
	change->attributes |= e->kind == EVENT_file_attr;
	change->still_open |= event_u64(e, FIELD_still_open, 0) != 0;
	change->bytes_written += event_u64(e, FIELD_bytes_written, 0);
	change->unproven |= is_text(event_bytes(e, FIELD_path_source), "args") ||
			    is_text(event_bytes(e, FIELD_new_path_source), "args");
	if (!change->first_seq)
		change->first_seq = e->seq;
	change->last_seq = e->seq;
	if (e->kind != EVENT_file_open)
		actor_set_add(&change->by, a, e);
}

static struct bytes path_of(const struct event *e, enum event_field known,
			    enum event_field requested)
{
	struct bytes path = event_bytes(e, known);

	return path.data ? path : event_bytes(e, requested);
}

/* ---- acts ---- */

static int make(struct changes *c, const struct actors *a, uint32_t name, const struct event *e)
{
	struct name *n = &c->names[name];
	uint32_t file = n->now;
	int r = 0;

	if (n->before == BEFORE_UNSEEN)
		n->before = BEFORE_NO;
	if (file == NONE)
		r = file_new(c, name, true, &file);
	if (r < 0)
		return r;
	note_act(c, a, file, e);
	return 0;
}

static int change_at(struct changes *c, const struct actors *a, uint32_t name,
		     const struct event *e)
{
	uint32_t file;
	int r;

	/* What is told of a file without a name is told of the one that had it last. */
	if (event_u64(e, FIELD_deleted, 0) && c->names[name].now == NONE) {
		if (c->names[name].last != NONE)
			note_act(c, a, c->names[name].last, e);
		return 0;
	}
	r = file_at(c, name, &file);
	if (r < 0)
		return r;
	note_act(c, a, file, e);
	return 0;
}

static int drop(struct changes *c, const struct actors *a, uint32_t name, const struct event *e)
{
	uint32_t file;
	int r = file_at(c, name, &file);

	if (r < 0)
		return r;
	note_act(c, a, file, e);
	c->files[file].name = NONE;
	c->names[name].now = NONE;
	return 0;
}

/* Let @file have @name, and whatever had it lose it. */
static void settle(struct changes *c, uint32_t file, uint32_t name)
{
	struct name *n = &c->names[name];

	if (n->now != NONE && n->now != file)
		c->files[n->now].name = NONE;
	n->now = n->last = file;
	c->files[file].name = c->files[file].last_name = name;
}

/* What is below a directory goes with it. */
static int move_below(struct changes *c, struct bytes from, struct bytes to)
{
	size_t count = keymap_count(c->keys);
	char path[8192];

	if (c->steps + count > FOLLOW_STEPS_MAX || to.size >= sizeof(path) / 2) {
		c->left_out.not_followed++;
		return 0;
	}
	c->steps += count;
	memcpy(path, to.data, to.size);
	for (size_t i = 0; i < count; i++) {
		struct bytes key = keymap_key(c->keys, i);
		uint32_t file = c->names[i].now, name;
		size_t rest = key.size - from.size;
		int r;

		if (file == NONE || key.size <= from.size || rest > sizeof(path) / 2 ||
		    ((const char *)key.data)[from.size] != '/' ||
		    memcmp(key.data, from.data, from.size) != 0)
			continue;
		memcpy(path + to.size, (const char *)key.data + from.size, rest);
		r = name_of(c, (struct bytes){path, to.size + rest}, &name);
		if (r < 0)
			return r;
		c->names[i].now = NONE;
		if (name == NONE) {
			c->files[file].name = NONE;
			continue;
		}
		/* A directory takes a name only where nothing, or an empty one, is. */
		if (c->names[name].before == BEFORE_UNSEEN)
			c->names[name].before = BEFORE_NO;
		settle(c, file, name);
	}
	return 0;
}

static int swap_names(struct changes *c, const struct actors *a, uint32_t from, uint32_t to,
		      const struct event *e)
{
	uint32_t first, second;
	int r = file_at(c, from, &first);

	if (r == 0)
		r = file_at(c, to, &second);
	if (r < 0)
		return r;
	note_act(c, a, first, e);
	note_act(c, a, second, e);
	settle(c, second, from);
	c->names[to].now = NONE;
	settle(c, first, to);
	if (c->files[first].change.type == FILE_DIRECTORY ||
	    c->files[second].change.type == FILE_DIRECTORY)
		c->left_out.not_followed++;
	return 0;
}

static int move(struct changes *c, const struct actors *a, uint32_t from, uint32_t to,
		const struct event *e)
{
	uint32_t file;
	int r;

	if (from == to)
		return 0;
	if (event_u64(e, FIELD_exchange, 0))
		return swap_names(c, a, from, to, e);
	r = file_at(c, from, &file);
	if (r < 0)
		return r;

	note_act(c, a, file, e);
	if (c->names[to].before == BEFORE_UNSEEN)
		c->names[to].before = BEFORE_UNKNOWN;
	c->names[from].now = NONE;
	settle(c, file, to);
	if (c->files[file].change.type != FILE_UNKNOWN &&
	    c->files[file].change.type != FILE_DIRECTORY)
		return 0;
	return move_below(c, path_of(e, FIELD_path, FIELD_requested),
			  path_of(e, FIELD_new_path, FIELD_new_requested));
}

static int take_act(struct changes *c, const struct actors *a, const struct event *e, uint32_t name,
		    uint32_t new_name)
{
	switch (e->kind) {
	case EVENT_file_create:
	case EVENT_file_mkdir:
	case EVENT_file_symlink:
		return make(c, a, name, e);
	case EVENT_file_link:
		return new_name == NONE ? 0 : make(c, a, new_name, e);
	case EVENT_file_delete:
	case EVENT_file_rmdir:
		return drop(c, a, name, e);
	case EVENT_file_rename:
		return new_name == NONE ? drop(c, a, name, e) : move(c, a, name, new_name, e);
	default:
		return change_at(c, a, name, e);
	}
}

/* True for acts that can change something, on things that can be changed. */
static bool concerns_us(const struct event *e)
{
	struct bytes type = event_bytes(e, FIELD_file_type);

	if (e->kind == EVENT_file_read || e->kind >= EVENT_KIND_COUNT ||
	    kind_table[e->kind].class != EVENT_CLASS_file)
		return false;
	if (e->kind != EVENT_file_open && e->kind != EVENT_file_modify)
		return true;
	return !type.data || type_of(e) != FILE_UNKNOWN;
}

/* Nobody's act made it what it is, as far as the record knows. */
static int take_unexplained(struct changes *c, const struct event *e, uint32_t name)
{
	struct name *n = &c->names[name];
	bool is_made = !event_get(e, FIELD_type_before);
	uint32_t file;
	int r = 0;

	if (n->before == BEFORE_UNSEEN)
		n->before = is_made ? BEFORE_NO : BEFORE_YES;
	if (n->now == NONE) {
		r = file_new(c, name, is_made, &file);
		if (r < 0)
			return r == -ENOSPC ? 0 : r;
		if (n->first == NONE && !is_made)
			n->first = file;
	}
	struct change *change = &c->files[n->now].change;
	change->type = type_of(e);
	change->written = true;
	change->last_seq = e->seq;
	if (!change->first_seq)
		change->first_seq = e->seq;
	if (event_get(e, FIELD_file_type))
		return 0;
	c->files[n->now].name = NONE;
	n->now = NONE;
	return 0;
}

/* The final tree has the last word on what there is. */
static int take_final(struct changes *c, const struct event *e)
{
	struct final_state state;
	uint32_t name = NONE;
	int r = 0;

	if (!final_state_read(e, &state) || !event_get(e, FIELD_path))
		return 0;
	r = name_of(c, event_bytes(e, FIELD_path), &name);
	if (r == 0)
		r = more_room(&c->finals, &c->final_room, c->final_count, sizeof(*c->finals));
	if (r < 0 || name == NONE)
		return r;
	c->names[name].final = (uint32_t)c->final_count;
	c->finals[c->final_count++] = state;
	if (state.is_unexplained)
		return take_unexplained(c, e, name);
	return 0;
}

int changes_add(struct changes *c, const struct actors *a, const struct event *e)
{
	struct bytes path = path_of(e, FIELD_path, FIELD_requested);
	struct bytes new_path = path_of(e, FIELD_new_path, FIELD_new_requested);
	uint32_t name, new_name = NONE;
	int r;

	if (e->kind == EVENT_file_final)
		return take_final(c, e);
	if (!concerns_us(e))
		return 0;
	if (!path.data) {
		c->left_out.nameless++;
		return 0;
	}
	r = name_of(c, path, &name);
	if (r == 0 && new_path.data)
		r = name_of(c, new_path, &new_name);
	if (r < 0 || name == NONE)
		return r;
	r = take_act(c, a, e, name, new_name);
	return r == -ENOSPC ? 0 : r;
}

/* ---- the outcome ---- */

/* What is different at name @i. */
static enum outcome outcome_of(const struct changes *c, size_t i, const struct file **ret_file)
{
	const struct name *n = &c->names[i];
	const struct file *first = n->first == NONE ? NULL : &c->files[n->first];
	const struct file *file = n->now == NONE ? NULL : &c->files[n->now];

	*ret_file = file;
	if (!file) {
		*ret_file = first ? first : n->last == NONE ? NULL : &c->files[n->last];
		if (first)
			return first->name == NONE ? OUTCOME_DELETED : OUTCOME_NONE;
		if (!*ret_file || (*ret_file)->name != NONE || (*ret_file)->last_name != i)
			return OUTCOME_NONE; /* it lives on, or went, under another name */
		return (*ret_file)->made ? OUTCOME_TEMPORARY : OUTCOME_NONE;
	}
	if (!file->made && file->first_name != i)
		return OUTCOME_RENAMED;
	if (!file->made)
		return file->change.written || file->change.attributes ? OUTCOME_MODIFIED
								       : OUTCOME_NONE;
	return n->before == BEFORE_YES ? OUTCOME_REPLACED : OUTCOME_CREATED;
}

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	size_t size = x->path.size < y->path.size ? x->path.size : y->path.size;
	int order = memcmp(x->path.data, y->path.data, size);

	return order ? order : (x->path.size > y->path.size) - (x->path.size < y->path.size);
}

/* Of what the session found the final tree tells, where acts leave it open. */
static void correct(struct change *change, const struct final_state *final)
{
	bool was_there = strcmp(final->change, "created") != 0;

	change->doubtful = false;
	change->existed = was_there;
	if (!was_there &&
	    (change->outcome == OUTCOME_MODIFIED || change->outcome == OUTCOME_REPLACED))
		change->outcome = OUTCOME_CREATED;
	if (was_there && change->outcome == OUTCOME_CREATED)
		change->outcome = OUTCOME_REPLACED;
}

static void put_final(struct change *change, const struct final_state *final)
{
	change->final = final;
	if (final->is_judged && final->change)
		correct(change, final);
	if (final->now.has_size) {
		change->has_size = true;
		change->size = final->now.size;
	}
	if (final->before.has_size) {
		change->has_old_size = true;
		change->old_size = final->before.size;
	}
}

int changes_list(const struct changes *c, struct change **ret_list, size_t *ret_count)
{
	size_t names = keymap_count(c->keys), count = 0;
	struct change *list = malloc((names + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < names; i++) {
		const struct file *file = NULL;
		enum outcome outcome = outcome_of(c, i, &file);

		if (outcome == OUTCOME_NONE || !file)
			continue;
		list[count] = file->change;
		list[count].outcome = outcome;
		list[count].path = keymap_key(c->keys, i);
		list[count].existed = c->names[i].before == BEFORE_YES;
		list[count].doubtful =
			c->names[i].before == BEFORE_UNKNOWN && outcome != OUTCOME_TEMPORARY;
		if (outcome == OUTCOME_RENAMED)
			list[count].from = keymap_key(c->keys, file->first_name);
		if (c->names[i].final != NONE)
			put_final(&list[count], &c->finals[c->names[i].final]);
		count++;
	}
	qsort(list, count, sizeof(*list), by_path);
	*ret_list = list;
	*ret_count = count;
	return 0;
}
