/*
 * Each name is a node that knows the directory it is in; a table finds it by that and by its bytes.
 * To move a directory is to give one node another place. See explained.h.
 */
#include "explained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 262144
#define BUCKETS_FIRST 256 /* a power of two */
#define SWEEP_FIRST 4096
#define PATH_ROOM 65536
/* Two threads' acts on one name may be recorded in the other order than they were done. */
#define ORDER_NS 1000000000ULL

enum flag {
	TOUCHED = 1, /* a record says that it was made, written to, changed or removed */
	MADE = 2,    /* a record says that it is there */
	BORN = 4,    /* it was not there before the session */
	WHOLE = 8,   /* it came with all that is in it, of which nothing is known */
	SEEN = 16,   /* the tree shows it */
};

struct explained_name {
	struct explained_name *next; /* in its bucket */
	struct explained_name *directory;
	char *name;			 /* owned */
	uint64_t hash, made_ns, gone_ns; /* when records last said so; 0: never */
	uint32_t children, size;
	uint8_t flags;
};

struct explained {
	struct explained_name **buckets;
	size_t bucket_count, count;
	struct explained_name *root;
	struct explained_name *loose; /* the directory of those whose directory is not certain */
	size_t sweep_at;
	uint64_t unproven; /* acts whose names may be others */
	bool is_short;
};

/* ---- the table ---- */

static uint64_t hash_of(const struct explained_name *directory, struct bytes name)
{
	uint64_t hash = 0xcbf29ce484222325 ^ (uintptr_t)directory;
	const uint8_t *bytes = name.data;

	for (size_t i = 0; i < name.size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash ^ hash >> 29;
}

static struct explained_name **bucket_of(const struct explained *x, uint64_t hash)
{
	return &x->buckets[hash & (x->bucket_count - 1)];
}

static void put_into_table(struct explained *x, struct explained_name *n)
{
	struct explained_name **bucket = bucket_of(x, n->hash);

	n->next = *bucket;
	*bucket = n;
}

static void take_out_of_table(struct explained *x, struct explained_name *n)
{
	struct explained_name **at = bucket_of(x, n->hash);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
}

static void grow(struct explained *x)
{
	size_t count = x->bucket_count;
	struct explained_name **old = x->buckets, **more = calloc(2 * count, sizeof(*more));

	if (!more)
		return; /* the lists grow longer */
	x->buckets = more;
	x->bucket_count = 2 * count;
	for (size_t i = 0; i < count; i++)
		for (struct explained_name *n = old[i], *next; n; n = next) {
			next = n->next;
			put_into_table(x, n);
		}
	free(old);
}

/* Of a name that came and went with the session nothing has to be known. */
static bool is_over(const struct explained_name *n)
{
	return n->flags & BORN && !(n->flags & MADE) && n->children == 0;
}

static void free_name(struct explained_name *n)
{
	free(n->name);
	free(n);
}

static void sweep(struct explained *x)
{
	for (size_t i = 0; i < x->bucket_count; i++)
		for (struct explained_name **at = &x->buckets[i]; *at;) {
			struct explained_name *n = *at;

			if (!is_over(n)) {
				at = &n->next;
				continue;
			}
			*at = n->next;
			n->directory->children--;
			x->count--;
			free_name(n);
		}
	x->sweep_at = 2 * x->count > SWEEP_FIRST ? 2 * x->count : SWEEP_FIRST;
}

static struct explained_name *add(struct explained *x, struct explained_name *directory,
				  struct bytes name)
{
	struct explained_name *n = x->count < NAMES_MAX ? calloc(1, sizeof(*n)) : NULL;

	if (n)
		n->name = malloc(name.size + 1);
	if (!n || !n->name) {
		free(n);
		x->is_short = true;
		return NULL;
	}
	memcpy(n->name, name.data, name.size);
	n->size = (uint32_t)name.size;
	n->directory = directory;
	n->hash = hash_of(directory, name);
	if (x->count++ >= x->bucket_count)
		grow(x);
	put_into_table(x, n);
	if (directory)
		directory->children++;
	return n;
}

/* ---- life ---- */

int explained_new(struct explained **ret_explained)
{
	struct explained *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->bucket_count = BUCKETS_FIRST;
	x->sweep_at = SWEEP_FIRST;
	x->buckets = calloc(x->bucket_count, sizeof(*x->buckets));
	if (x->buckets) {
		x->root = add(x, NULL, (struct bytes){"", 0});
		x->loose = x->root ? add(x, NULL, (struct bytes){"*", 1}) : NULL;
	}
	if (!x->loose) {
		explained_free(x);
		return -ENOMEM;
	}
	*ret_explained = x;
	return 0;
}

void explained_free(struct explained *x)
{
	if (!x)
		return;
	for (size_t i = 0; x->buckets && i < x->bucket_count; i++)
		for (struct explained_name *n = x->buckets[i], *next; n; n = next) {
			next = n->next;
			free_name(n);
		}
	free(x->buckets);
	free(x);
}

bool explained_is_whole(const struct explained *x)
{
	return !x->is_short;
}

/* ---- paths ---- */

struct explained_name *explained_root(struct explained *x)
{
	return x->root;
}

struct explained_name *explained_find(struct explained *x, struct explained_name *directory,
				      struct bytes name)
{
	if (!directory)
		return NULL;
	uint64_t hash = hash_of(directory, name);

	for (struct explained_name *n = *bucket_of(x, hash); n; n = n->next)
		if (n->directory == directory && n->size == name.size &&
		    !memcmp(n->name, name.data, name.size))
			return n;
	return NULL;
}

/* The next name of @path from *at on; false at its end. */
static bool next_part(struct bytes path, size_t *at, struct bytes *ret_part)
{
	const char *text = path.data;

	while (*at < path.size && text[*at] == '/')
		(*at)++;
	size_t start = *at;
	while (*at < path.size && text[*at] != '/')
		(*at)++;
	*ret_part = (struct bytes){text + start, *at - start};
	return *at > start;
}

static struct bytes last_part(struct bytes path)
{
	struct bytes part, last = {"", 0};
	size_t at = 0;

	while (next_part(path, &at, &part))
		last = part;
	return last;
}

struct explained_name *explained_path(struct explained *x, struct bytes path)
{
	struct explained_name *n = x->root;
	struct bytes part;
	size_t at = 0;

	while (n && next_part(path, &at, &part))
		n = explained_find(x, n, part);
	return n;
}

static struct explained_name *find_or_add(struct explained *x, struct explained_name *directory,
					  struct bytes name)
{
	struct explained_name *n = explained_find(x, directory, name);

	return n ? n : add(x, directory, name);
}

static struct explained_name *make(struct explained *x, struct bytes path)
{
	struct explained_name *n = x->root;
	struct bytes part;
	size_t at = 0;

	while (n && next_part(path, &at, &part))
		n = find_or_add(x, n, part);
	return n;
}

bool explained_is_new(const struct explained_name *known)
{
	return known && known->flags & BORN;
}

/* ---- what records say ---- */

/* A path of a record: where it comes from the kernel, from a root to an end. */
struct told {
	struct bytes path;
	bool is_certain;
};

static struct told told_of(const struct event *e, enum event_field path, enum event_field source)
{
	const struct event_value *value = event_get(e, path);
	struct bytes from = event_bytes(e, source);

	if (!value || event_u64(e, FIELD_deleted, 0) || event_u64(e, FIELD_path_detached, 0))
		return (struct told){0};
	return (struct told){
		.path = value->bytes,
		.is_certain = !value->is_cut && from.size == strlen("kernel") &&
			      !memcmp(from.data, "kernel", from.size),
	};
}

/* The tree has nothing of /workspace: of its names what calls were given is good enough. */
static bool is_elsewhere(struct bytes path)
{
	static const char workspace[] = "/workspace/";

	return path.size >= sizeof(workspace) - 1 &&
	       !memcmp(path.data, workspace, sizeof(workspace) - 1);
}

/* What the call was given may lead elsewhere: all of that name are then explained. */
static struct explained_name *touch(struct explained *x, const struct told *t)
{
	if (!t->path.size)
		return NULL;
	if (!t->is_certain && !is_elsewhere(t->path)) {
		find_or_add(x, x->loose, last_part(t->path));
		x->unproven++;
	}
	struct explained_name *n = make(x, t->path);
	if (n)
		n->flags |= TOUCHED;
	return t->is_certain || is_elsewhere(t->path) ? n : NULL;
}

static void set_made(struct explained_name *n, uint64_t boot_ns, bool is_new)
{
	if (!n)
		return;
	n->flags |= TOUCHED | MADE | (is_new ? BORN : 0);
	n->made_ns = boot_ns;
}

static void take_made(struct explained *x, const struct event *e, enum event_field path,
		      enum event_field source)
{
	struct told t = told_of(e, path, source);
	bool is_new = t.path.size && !explained_path(x, t.path);

	set_made(touch(x, &t), e->boot_ns, is_new);
}

static void take_gone(struct explained *x, const struct event *e)
{
	struct told t = told_of(e, FIELD_path, FIELD_path_source);
	struct explained_name *n = touch(x, &t);

	if (!n || n == x->root)
		return;
	n->flags &= (uint8_t)~MADE;
	n->gone_ns = e->boot_ns;
}

static bool is_below(const struct explained_name *n, const struct explained_name *directory)
{
	while (n && n != directory)
		n = n->directory;
	return n != NULL;
}

/* What is at each place moves with all that is below it; what was known of the place stays. */
static void trade_places(struct explained *x, struct explained_name *a, struct explained_name *b)
{
	const struct explained_name was = *a;

	take_out_of_table(x, a);
	take_out_of_table(x, b);
	a->directory = b->directory;
	a->name = b->name;
	a->size = b->size;
	a->hash = b->hash;
	a->gone_ns = b->gone_ns;
	a->flags = (uint8_t)((was.flags & ~BORN) | (b->flags & BORN));
	b->directory = was.directory;
	b->name = was.name;
	b->size = was.size;
	b->hash = was.hash;
	b->gone_ns = was.gone_ns;
	b->flags = (uint8_t)((b->flags & ~BORN) | (was.flags & BORN));
	put_into_table(x, a);
	put_into_table(x, b);
}

static void take_rename(struct explained *x, const struct event *e)
{
	struct told from = told_of(e, FIELD_path, FIELD_path_source);
	struct told to = told_of(e, FIELD_new_path, FIELD_new_path_source);
	bool is_known = from.path.size && explained_path(x, from.path);
	bool is_exchange = event_u64(e, FIELD_exchange, 0);
	struct explained_name *old = touch(x, &from), *new = touch(x, &to);

	if (!old || !new || old == new || is_below(new, old) || is_below(old, new))
		return;
	if (!is_known)
		old->flags |= WHOLE;
	if (is_exchange && !(new->flags &MADE))
		new->flags |= WHOLE;
	trade_places(x, old, new);
	set_made(old, e->boot_ns, false);
	if (is_exchange) {
		set_made(new, e->boot_ns, false);
		return;
	}
	/* What stood there is gone; its node is that of the place that was left. */
	new->flags &= BORN;
	new->flags |= TOUCHED;
	new->gone_ns = e->boot_ns;
}

static bool is_word(const struct event *e, enum event_field field, const char *word)
{
	struct bytes text = event_bytes(e, field);

	return text.size == strlen(word) && !memcmp(text.data, word, text.size);
}

static void take_touched(struct explained *x, const struct event *e)
{
	struct told t = told_of(e, FIELD_path, FIELD_path_source);

	touch(x, &t);
}

void explained_take(struct explained *x, const struct event *e)
{
	if (x->count >= x->sweep_at)
		sweep(x);
	switch (e->kind) {
	case EVENT_file_create:
	case EVENT_file_mkdir:
	case EVENT_file_symlink:
		take_made(x, e, FIELD_path, FIELD_path_source);
		return;
	case EVENT_file_link:
		take_touched(x, e);
		take_made(x, e, FIELD_new_path, FIELD_new_path_source);
		return;
	case EVENT_file_delete:
	case EVENT_file_rmdir:
		take_gone(x, e);
		return;
	case EVENT_file_rename:
		take_rename(x, e);
		return;
	case EVENT_file_open:
	case EVENT_file_modify:
	case EVENT_file_truncate:
	case EVENT_file_attr:
	case EVENT_file_mmap:
		take_touched(x, e);
		return;
	case EVENT_net_unix:
		if (is_word(e, FIELD_act, "bind"))
			take_made(x, e, FIELD_unix_path, FIELD_path_source);
		return;
	default:
		return;
	}
}

/* ---- what the tree shows ---- */

static bool is_loose(struct explained *x, struct bytes name)
{
	return explained_find(x, x->loose, name) != NULL;
}

bool explained_excuse(struct explained *x)
{
	if (x->unproven == 0)
		return false;
	x->unproven--;
	return true;
}

/* Both were recorded at nearly the same time: which was first is not certain. */
static bool is_unordered(const struct explained_name *n)
{
	uint64_t apart =
		n->made_ns > n->gone_ns ? n->made_ns - n->gone_ns : n->gone_ns - n->made_ns;

	return n->made_ns && n->gone_ns && apart < ORDER_NS;
}

static bool is_as_told(const struct explained_name *n, enum explained_shown shown)
{
	if (shown == EXPLAINED_DELETED)
		return n->gone_ns != 0;
	bool is_gone = n->gone_ns && !(n->flags & MADE);

	return n->flags & TOUCHED && (!is_gone || is_unordered(n));
}

bool explained_see(struct explained *x, struct explained_name *directory,
		   struct explained_name *known, struct bytes name, enum explained_shown shown)
{
	if (known && shown != EXPLAINED_DELETED)
		known->flags |= SEEN;
	if (shown == EXPLAINED_PRESENT || (known && is_as_told(known, shown)))
		return true;
	for (struct explained_name *n = directory; n; n = n->directory)
		if (n->flags & WHOLE)
			return true;
	return is_loose(x, name);
}

/* The path of @n in the end of @room; {NULL, 0} if it is not below the root. */
static struct bytes path_of(const struct explained *x, const struct explained_name *n,
			    char room[PATH_ROOM])
{
	size_t at = PATH_ROOM;

	for (; n && n != x->root; n = n->directory) {
		if (n == x->loose || n->size + 1u > at)
			return (struct bytes){NULL, 0};
		at -= n->size;
		memcpy(room + at, n->name, n->size);
		room[--at] = '/';
	}
	return n ? (struct bytes){room + at, PATH_ROOM - at} : (struct bytes){NULL, 0};
}

/* The directory at the root that @n is below. */
static const struct explained_name *top_of(const struct explained *x,
					   const struct explained_name *n)
{
	while (n && n->directory != x->root)
		n = n->directory;
	return n;
}

static bool is_named(const struct explained_name *n, const char *name)
{
	return n->size == strlen(name) && !memcmp(n->name, name, n->size);
}

typedef bool name_test(const struct explained *x, const struct explained_name *n, const char *top);

static void tell_all(struct explained *x, name_test *is_meant, const char *top,
		     explained_tell *tell, void *context)
{
	char *room = malloc(PATH_ROOM);

	for (size_t i = 0; room && i < x->bucket_count; i++)
		for (struct explained_name *n = x->buckets[i]; n; n = n->next) {
			struct bytes path = {NULL, 0};

			if (n != x->root && is_meant(x, n, top))
				path = path_of(x, n, room);
			if (path.data)
				tell(context, path);
		}
	free(room);
}

/* Of what is mounted over the root the tree shows nothing. */
static bool is_mounted_over(const struct explained *x, const struct explained_name *n)
{
	static const char *const tops[] = {"proc", "sys", "workspace"};
	const struct explained_name *top = top_of(x, n);

	if (!top)
		return true;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		if (is_named(top, tops[i]))
			return true;
	while (n->directory != top && n != top)
		n = n->directory;
	return (is_named(top, "dev") && !is_named(n, "shm")) ||
	       (is_named(top, "run") && is_named(n, "secrets"));
}

static bool is_missing(const struct explained *x, const struct explained_name *n, const char *top)
{
	(void)top;
	return n->flags & MADE && !(n->flags & SEEN) && !is_unordered(n) && !is_mounted_over(x, n);
}

void explained_missing(struct explained *x, explained_tell *tell, void *context)
{
	tell_all(x, is_missing, NULL, tell, context);
}

static bool is_touched_below(const struct explained *x, const struct explained_name *n,
			     const char *name)
{
	const struct explained_name *top = top_of(x, n);

	return n->flags & TOUCHED && top && top != n && is_named(top, name);
}

void explained_below(struct explained *x, const char *top, explained_tell *tell, void *context)
{
	tell_all(x, is_touched_below, top, tell, context);
}
