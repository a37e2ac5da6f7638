/*
 * From a handle to its place in the tree. A directory is opened by its handle as a mere place
 * (O_PATH): nothing of it is read, no driver hears of it. Its name is what the kernel says of that
 * descriptor; the way up is "..".
 */
#include "resolver.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SESSIONS_MAX 1024
#define PLACE (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The handle as the kernel takes it. */
union kernel_handle {
	struct file_handle head;
	uint8_t room[sizeof(struct file_handle) + NAMES_HANDLE_MAX];
};

struct root {
	uint64_t session; /* 0: free */
	int fd;
	struct file_id handle;
};

struct resolver {
	struct root roots[SESSIONS_MAX];
};

/* A reply under way. */
struct answer {
	struct names_reply *head;
	uint8_t *end, *limit;
};

int resolver_new(struct resolver **ret_resolver)
{
	struct resolver *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*ret_resolver = r;
	return 0;
}

static struct root *root_of(struct resolver *r, uint64_t session)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (r->roots[i].session == session)
			return &r->roots[i];
	return NULL;
}

static int handle_of(int fd, struct file_id *ret_handle)
{
	union kernel_handle kernel = {.head.handle_bytes = NAMES_HANDLE_MAX};
	int mount;

	if (name_to_handle_at(fd, "", &kernel.head, &mount, AT_EMPTY_PATH) < 0)
		return -errno;
	ret_handle->type = kernel.head.handle_type;
	ret_handle->size = kernel.head.handle_bytes;
	memcpy(ret_handle->bytes, kernel.head.f_handle, kernel.head.handle_bytes);
	return 0;
}

static bool is_same(const struct file_id *a, const struct file_id *b)
{
	return a->type == b->type && a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* ---- sessions ---- */

static void forget(struct root *root)
{
	close(root->fd);
	*root = (struct root){.fd = -1};
}

/* The mount may have come as a mere place, which takes no handles: open its root anew. */
static int add(struct resolver *r, uint64_t session, int fd, struct root **ret_root)
{
	struct root *root = root_of(r, session);

	if (session == 0 || fd < 0)
		return -EINVAL;
	if (root)
		forget(root);
	else
		root = root_of(r, 0);
	if (!root)
		return -ENOSPC;

	cleanup(close_fd) int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own < 0)
		return -errno;
	int e = handle_of(own, &root->handle);
	if (e < 0)
		return e;
	root->session = session;
	root->fd = take_fd(own);
	*ret_root = root;
	return 0;
}

/* ---- the way up ---- */

static int add_step(struct answer *a, const struct file_id *handle, const char *name)
{
	size_t length = strlen(name);
	struct names_step step = {handle->type, handle->size, length};

	if (a->head->steps == NAMES_STEPS_MAX ||
	    sizeof(step) + handle->size + length > (size_t)(a->limit - a->end))
		return -ENAMETOOLONG;
	memcpy(a->end, &step, sizeof(step));
	a->end += sizeof(step);
	memcpy(a->end, handle->bytes, handle->size);
	a->end += handle->size;
	memcpy(a->end, name, length);
	a->end += length;
	a->head->steps++;
	return 0;
}

/* The last name of the path that the kernel gives for @fd; its address in @path, or NULL. */
static const char *name_of(int fd, char path[PATH_MAX])
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, PATH_MAX - 1);
	if (length < 0 || length == PATH_MAX - 1)
		return NULL;
	path[length] = '\0';

	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : NULL;
}

/* A directory without a name has no place: the kernel would show its last one, with a remark. */
static bool is_deleted(int fd)
{
	struct stat status;

	return fstat(fd, &status) < 0 || status.st_nlink == 0;
}

/* Step by step from @fd, which is taken over, up to the root. */
static int walk_up(const struct root *root, int fd, struct answer *a)
{
	cleanup(close_fd) int place = fd;
	struct file_id handle = {0};
	char path[PATH_MAX];

	for (;;) {
		int e = handle_of(place, &handle);
		if (e < 0)
			return e;
		if (is_same(&handle, &root->handle))
			return add_step(a, &handle, "");
		if (is_deleted(place))
			return -ESTALE;

		const char *name = name_of(place, path);
		e = name ? add_step(a, &handle, name) : -ENAMETOOLONG;
		if (e < 0)
			return e;

		int above = openat(place, "..", PLACE);
		if (above < 0)
			return -errno;
		close(place);
		place = above;
	}
}

static int resolve(struct resolver *r, const struct names_request *request, struct answer *a)
{
	struct root *root = request->session ? root_of(r, request->session) : NULL;
	union kernel_handle kernel = {.head.handle_bytes = request->handle.size};

	if (!root)
		return -ENOENT;
	if (request->handle.size > NAMES_HANDLE_MAX)
		return -EINVAL;
	kernel.head.handle_type = request->handle.type;
	memcpy(kernel.head.f_handle, request->handle.bytes, request->handle.size);

	int fd = open_by_handle_at(root->fd, &kernel.head, PLACE);
	return fd < 0 ? -errno : walk_up(root, fd, a);
}

/* ---- requests ---- */

static int act(struct resolver *r, const struct names_request *request, int fd, struct answer *a)
{
	struct root *root = NULL;

	switch (request->kind) {
	case NAMES_ADD: {
		int e = add(r, request->session, fd, &root);
		return e < 0 || !root ? e : add_step(a, &root->handle, "");
	}
	case NAMES_RESOLVE:
		return resolve(r, request, a);
	case NAMES_REMOVE:
		root = request->session ? root_of(r, request->session) : NULL;
		if (root)
			forget(root);
		return root ? 0 : -ENOENT;
	}
	return -EBADMSG;
}

size_t resolver_answer(struct resolver *r, const struct names_request *request, int fd, void *reply)
{
	cleanup(close_fd) int rider = fd;
	struct answer a = {
		.head = reply,
		.end = (uint8_t *)reply + sizeof(*a.head),
		.limit = (uint8_t *)reply + NAMES_REPLY_MAX,
	};

	*a.head = (struct names_reply){.id = request->id};
	a.head->error = act(r, request, rider, &a);
	if (a.head->error < 0) {
		a.head->steps = 0;
		a.end = (uint8_t *)reply + sizeof(*a.head);
	}
	return a.end - (uint8_t *)reply;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (r->roots[i].session)
			forget(&r->roots[i]);
	free(r);
}
