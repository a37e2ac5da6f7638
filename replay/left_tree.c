/*
 * A workspace may have been left as a trap for whoever looks at it: a fifo, a link, a file that
 * grows while it is read. So nothing is waited for, and what was stat'ed is what is read.
 */
#include "left_tree.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define WORKSPACE "/workspace/"
#define CHUNK (256 * 1024)
#define SECOND_NS 1000000000

struct left_tree {
	int fd;
	uint64_t left; /* bytes that may still be hashed */
	uint8_t chunk[CHUNK];
};

int left_tree_open(const char *directory, struct left_tree **ret_tree)
{
	cleanup(close_fd) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct left_tree *t = malloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->fd = take_fd(fd);
	t->left = LEFT_ALL_MAX;
	*ret_tree = t;
	return 0;
}

/* A path with a NUL in it is none. */
char *left_tree_place(const struct event *start)
{
	struct bytes path = event_bytes(start, FIELD_workspace);

	return path.size && !memchr(path.data, 0, path.size) ? strndup(path.data, path.size) : NULL;
}

void left_tree_close(struct left_tree *t)
{
	if (!t)
		return;
	close(t->fd);
	free(t);
}

/* No way leads out, by links, "..", a slash in front or mounts of /proc. */
static int open_beneath(const struct left_tree *t, const char *name, uint64_t flags)
{
	const struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, t->fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static enum left left_for(int error)
{
	switch (-error) {
	case ENOENT:
	case ENOTDIR:
		return LEFT_GONE;
	case ELOOP:
	case EXDEV:
		return LEFT_OTHER;
	default:
		return LEFT_UNREADABLE;
	}
}

/* What is there, without opening it first: a device or a fifo may act on that. */
static int open_regular(const struct left_tree *t, const char *name, int *ret_fd,
			enum left *ret_why)
{
	cleanup(close_fd) int place = open_beneath(t, name, O_PATH);
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0)
		return *ret_why = left_for(place < 0 ? place : -errno), -1;
	if (!S_ISREG(st.st_mode))
		return *ret_why = LEFT_OTHER, -1;
	*ret_fd = open_beneath(t, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (*ret_fd < 0)
		return *ret_why = left_for(*ret_fd), -1;
	return 0;
}

/* Its first @size bytes; false if there are no more so many. */
static bool hash_file(struct left_tree *t, int fd, uint64_t size, uint8_t ret_hash[HASH_SIZE])
{
	struct hash h;

	hash_begin(&h);
	while (size) {
		ssize_t n = read(fd, t->chunk, size < CHUNK ? size : CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		hash_add(&h, t->chunk, (size_t)n);
		size -= (uint64_t)n;
	}
	hash_end(&h, ret_hash);
	return true;
}

static enum left look(struct left_tree *t, const char *name, uint64_t end_ns,
		      struct left_file *file)
{
	cleanup(close_fd) int fd = -1;
	struct stat st;

	enum left why;

	if (open_regular(t, name, &fd, &why) < 0)
		return why;
	if (fstat(fd, &st) < 0)
		return LEFT_UNREADABLE;
	if (!S_ISREG(st.st_mode))
		return LEFT_OTHER;
	file->size = (uint64_t)st.st_size;
	file->is_changed_since =
		(uint64_t)st.st_ctim.tv_sec * SECOND_NS + (uint64_t)st.st_ctim.tv_nsec > end_ns;
	if (file->size > LEFT_FILE_MAX || file->size > t->left)
		return LEFT_LARGE;
	t->left -= file->size;
	return hash_file(t, fd, file->size, file->hash) ? LEFT_HASHED : LEFT_UNREADABLE;
}

struct left_file left_tree_look(struct left_tree *t, struct bytes path, uint64_t end_ns)
{
	struct left_file file = {.left = LEFT_NOT_ASKED};
	size_t prefix = strlen(WORKSPACE);
	char name[PATH_MAX];

	if (!t || path.size <= prefix || path.size - prefix >= sizeof(name) ||
	    memcmp(path.data, WORKSPACE, prefix) != 0 || memchr(path.data, 0, path.size))
		return file;
	memcpy(name, (const char *)path.data + prefix, path.size - prefix);
	name[path.size - prefix] = 0;
	file.left = look(t, name, end_ns, &file);
	return file;
}
