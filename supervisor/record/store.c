/*
 * The sessions of a state directory. Nothing is opened by a path: each step is below a directory
 * that is held, and no step follows a link.
 */
#include "store.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PREFIX_LEAST 4

static int open_directory(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The manifest of the session in directory @id; its id must be the same. */
static int read_session(int sessions_fd, const char *id, struct manifest *ret_manifest)
{
	cleanup(close_fd) int fd = open_directory(sessions_fd, id);
	struct manifest m;
	int r = fd < 0 ? fd : manifest_read(fd, &m);

	if (r)
		return r;
	if (strcmp(m.id, id) != 0) {
		manifest_free(&m);
		return -EBADMSG;
	}
	*ret_manifest = m;
	return 0;
}

void store_list_free(struct manifest *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		manifest_free(&list[i]);
	free(list);
}

static int by_start(const void *one, const void *other)
{
	const struct manifest *a = one, *b = other;

	if (a->started_ns != b->started_ns)
		return a->started_ns < b->started_ns ? -1 : 1;
	return strcmp(a->id, b->id);
}

struct list {
	struct manifest *items;
	size_t count, room, unreadable;
};

static void cleanup_list(struct list *list)
{
	store_list_free(list->items, list->count);
}

static int list_add(struct list *list, const struct manifest *m)
{
	struct manifest *larger;

	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		larger = reallocarray(list->items, list->room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		list->items = larger;
	}
	list->items[list->count++] = *m;
	return 0;
}

static int list_entry(struct list *list, int sessions_fd, const char *name)
{
	struct manifest m;
	int r;

	if (!strcmp(name, ".") || !strcmp(name, "..") ||
	    !strncmp(name, SPARE_PREFIX, strlen(SPARE_PREFIX)))
		return 0;
	r = session_id_is_valid(name) ? read_session(sessions_fd, name, &m) : -EBADMSG;
	if (r == -ENOMEM)
		return r;
	if (r) {
		list->unreadable++;
		return 0;
	}
	r = list_add(list, &m);
	if (r)
		manifest_free(&m);
	return r;
}

static int list_sessions(int sessions_fd, struct list *list)
{
	cleanup(close_fd) int fd = open_directory(sessions_fd, ".");
	cleanup(closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r;

	if (!dir)
		return fd < 0 ? fd : -errno;
	(void)take_fd(fd); /* the stream's */
	while ((errno = 0, entry = readdir(dir))) {
		r = list_entry(list, sessions_fd, entry->d_name);
		if (r)
			return r;
	}
	if (errno)
		return -errno;
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_start);
	return 0;
}

int store_list(int state_fd, struct manifest **ret_list, size_t *ret_count, size_t *ret_unreadable)
{
	cleanup(close_fd) int fd = open_directory(state_fd, "sessions");
	cleanup(list) struct list list = {0};
	int r;

	if (fd < 0 && fd != -ENOENT)
		return fd;
	if (fd >= 0) {
		r = list_sessions(fd, &list);
		if (r)
			return r;
	}
	*ret_list = list.items;
	*ret_count = list.count;
	*ret_unreadable = list.unreadable;
	list = (struct list){0};
	return 0;
}

/* Those of a name: the newest, and how many of them are alive. */
struct named {
	const char *id;
	size_t alive;
};

static struct named find_named(const struct list *list, const char *name)
{
	struct named found = {0};

	for (size_t i = 0; i < list->count; i++) {
		const struct manifest *m = &list->items[i];

		if (!m->name || strcmp(m->name, name) != 0)
			continue;
		found.id = m->id;
		found.alive += m->state == SESSION_RUNNING;
	}
	return found;
}

/* The session that @what means. -ENOENT or -ENOTUNIQ: names are chosen by who starts a session, so
 * none may stand for another one that is meant. */
static int choose(const struct list *list, const char *what, const char **ret_id)
{
	const struct named named = find_named(list, what);
	const char *by_prefix = NULL;
	size_t length = strlen(what), prefixes = 0;

	if (!strcmp(what, "last") && list->count) {
		*ret_id = list->items[list->count - 1].id;
		return 0;
	}
	for (size_t i = 0; length >= PREFIX_LEAST && i < list->count; i++)
		if (!strncmp(list->items[i].id, what, length)) {
			by_prefix = list->items[i].id;
			prefixes++;
		}
	if (prefixes > 1 || named.alive > 1 || (prefixes && named.id && named.id != by_prefix))
		return -ENOTUNIQ;
	if (!prefixes && !named.id)
		return -ENOENT;
	*ret_id = prefixes ? by_prefix : named.id;
	return 0;
}

static int open_session(int sessions_fd, const char *id, struct manifest *ret_manifest,
			int *ret_dir_fd)
{
	cleanup(close_fd) int fd = open_directory(sessions_fd, id);
	int r = fd < 0 ? fd : read_session(sessions_fd, id, ret_manifest);

	if (!r)
		*ret_dir_fd = take_fd(fd);
	return r;
}

int store_find(int state_fd, const char *what, struct manifest *ret_manifest, int *ret_dir_fd)
{
	cleanup(close_fd) int fd = open_directory(state_fd, "sessions");
	cleanup(list) struct list list = {0};
	const char *id = what;
	int r;

	if (fd < 0)
		return fd;
	if (!session_id_is_valid(what)) {
		r = list_sessions(fd, &list);
		if (!r)
			r = choose(&list, what, &id);
		if (r)
			return r;
	}
	r = open_session(fd, id, ret_manifest, ret_dir_fd);
	if (r != -ENOENT || id != what)
		return r;
	/* What looks like an id may still be a name. */
	r = list_sessions(fd, &list);
	if (!r)
		r = choose(&list, what, &id);
	return r ? r : open_session(fd, id, ret_manifest, ret_dir_fd);
}
