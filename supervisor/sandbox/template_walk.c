/*
 * Walks a tree of files in order. See template_walk.h.
 */
#include "template_walk.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct walk {
	template_visit visit;
	void *context;
	struct template_fault *fault;
	char path[PATH_MAX]; /* of the directory at hand, with what is in it behind */
};

struct names {
	char **items;
	size_t count, room;
};

static void cleanup_names(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->items[i]);
	free(n->items);
}

static int add_name(struct names *n, const char *name)
{
	if (n->count == n->room) {
		size_t room = n->room ? 2 * n->room : 64;
		char **items = realloc(n->items, room * sizeof(*items));
		if (!items)
			return -ENOMEM;
		n->items = items;
		n->room = room;
	}
	n->items[n->count] = strdup(name);
	return n->items[n->count] ? (n->count++, 0) : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(int fd, struct names *ret_names)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy < 0)
		return -errno;
	cleanup(closedir) DIR *dir = fdopendir(copy);
	if (!dir) {
		close(copy);
		return -ENOMEM;
	}

	for (;;) {
		errno = 0;
		struct dirent *e = readdir(dir);
		if (!e)
			break;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		int r = add_name(ret_names, e->d_name);
		if (r < 0)
			return r;
	}
	if (errno)
		return -errno;
	if (ret_names->count)
		qsort(ret_names->items, ret_names->count, sizeof(*ret_names->items), compare);
	return 0;
}

static int blame(struct walk *w, int r)
{
	if (r < 0 && !w->fault->path[0])
		snprintf(w->fault->path, sizeof(w->fault->path), "%s", *w->path ? w->path : ".");
	return r;
}

static int walk_directory(struct walk *w, int fd, size_t length, unsigned depth);

static int walk_entry(struct walk *w, int dir_fd, const char *name, unsigned depth)
{
	struct template_entry e = {.path = w->path, .name = name, .dir_fd = dir_fd};

	if (fstatat(dir_fd, name, &e.st, AT_SYMLINK_NOFOLLOW) < 0)
		return blame(w, -errno);
	int r = w->visit(w->context, &e);
	if (r < 0 || !S_ISDIR(e.st.st_mode))
		return blame(w, r);

	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? blame(w, -errno) : walk_directory(w, fd, strlen(w->path), depth + 1);
}

/* @length: of the directory's own path in w->path, 0 for the root. */
static int walk_directory(struct walk *w, int fd, size_t length, unsigned depth)
{
	cleanup(names) struct names names = {0};
	int r = depth > TEMPLATE_DEPTH_MAX ? -ELOOP : read_names(fd, &names);

	if (r < 0)
		return blame(w, r);
	for (size_t i = 0; i < names.count; i++) {
		size_t room = sizeof(w->path) - length;
		int n = snprintf(w->path + length, room, "%s%s", length ? "/" : "", names.items[i]);

		r = (size_t)n < room ? walk_entry(w, fd, names.items[i], depth)
				     : blame(w, -ENAMETOOLONG);
		w->path[length] = 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int template_walk(int root_fd, template_visit visit, void *context,
		  struct template_fault *ret_fault)
{
	struct walk w = {.visit = visit, .context = context, .fault = ret_fault};
	struct template_entry root = {.path = ".", .name = ".", .dir_fd = root_fd};

	ret_fault->path[0] = 0;
	if (fstat(root_fd, &root.st) < 0)
		return blame(&w, -errno);
	if (!S_ISDIR(root.st.st_mode))
		return blame(&w, -ENOTDIR);
	int r = visit(context, &root);
	return r < 0 ? blame(&w, r) : walk_directory(&w, root_fd, 0, 0);
}
