/*
 * Copies a tree of files. See template_copy.h.
 *
 * Each entry is made below the held descriptor of its new directory: the tree that is read decides
 * on names and nothing else.
 */
#include "template_copy.h"

#include "../record/cleanup.h"
#include "template_links.h"
#include "template_xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

struct copy {
	int to_fd;
	int dir_fd; /* of the directory that the last entry was made in */
	char *dir;  /* its path below to_fd */
	struct template_links links;
	uint64_t left_out;
};

static void cleanup_copy(struct copy *c)
{
	cleanup_close_fd(&c->dir_fd);
	free(c->dir);
	template_links_free(&c->links);
}

/* Open the directory that holds @path in the copy. Only names that we made lie on the way. */
static int open_parent(struct copy *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (c->dir && strlen(c->dir) == length && strncmp(c->dir, path, length) == 0)
		return 0;
	char *dir = strndup(path, length);
	if (!dir)
		return -ENOMEM;
	free(c->dir);
	c->dir = dir;
	cleanup_close_fd(&c->dir_fd);
	c->dir_fd = openat(c->to_fd, length ? dir : ".",
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return c->dir_fd < 0 ? -errno : 0;
}

static int copy_bytes(int from, int to)
{
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while ((n = copy_file_range(from, NULL, to, NULL, SSIZE_MAX & ~0xfff, 0)) > 0)
		;
	if (n == 0)
		return 0;

	/* Between file systems of some kinds the kernel does not copy. */
	cleanup(free) char *buffer = malloc(1 << 18);
	if (!buffer)
		return -ENOMEM;
	while ((n = read(from, buffer, 1 << 18)) > 0)
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, buffer + done, (size_t)(n - done));
			if (w < 0)
				return -errno;
		}
	return n < 0 ? -errno : 0;
}

static int copy_file(struct copy *c, const struct template_entry *e)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	cleanup(close_fd) int from = openat(e->dir_fd, e->name, O_RDONLY | flags);
	cleanup(close_fd) int to =
		from < 0 ? -1
			 : openat(c->dir_fd, e->name, O_WRONLY | O_CREAT | O_EXCL | flags, 0600);
	if (to < 0)
		return -errno;
	return copy_bytes(from, to);
}

static int copy_link(struct copy *c, const struct template_entry *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(e->dir_fd, e->name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = 0;
	return symlinkat(target, c->dir_fd, e->name) < 0 ? -errno : 0;
}

/* One more name of a file that is there already. *ret_done: it was. */
static int copy_name(struct copy *c, const struct template_entry *e, bool *ret_done)
{
	const char *first = NULL;
	int r = template_links_first(&c->links, e->st.st_ino, e->path, &first);

	*ret_done = first != NULL;
	if (r == 0 && first && linkat(c->to_fd, first, c->dir_fd, e->name, 0) < 0)
		r = -errno;
	return r;
}

static int make(struct copy *c, const struct template_entry *e)
{
	switch (e->st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(c, e);
	case S_IFDIR:
		return mkdirat(c->dir_fd, e->name, 0700) < 0 ? -errno : 0;
	case S_IFLNK:
		return copy_link(c, e);
	default:
		return mkfifoat(c->dir_fd, e->name, 0600) < 0 ? -errno : 0;
	}
}

struct place {
	int dir_fd;
	const char *name;
};

static int set_xattr(void *context, const char *name, const void *value, size_t size)
{
	const struct place *p = context;

	return template_xattr_set(p->dir_fd, p->name, name, value, size);
}

/* The owner first: a change of it takes set-id bits and capabilities away. */
static int set_attributes(int dir_fd, const struct template_entry *e)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, e->st.st_mtim};
	struct place place = {dir_fd, e->name};

	if (fchownat(dir_fd, e->name, e->st.st_uid, e->st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISLNK(e->st.st_mode) && fchmodat(dir_fd, e->name, e->st.st_mode & 07777, 0) < 0)
		return -errno;
	int r = template_xattrs(e, set_xattr, &place);
	if (r == 0 && utimensat(dir_fd, e->name, times, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	return r;
}

static int visit(void *context, const struct template_entry *e)
{
	struct copy *c = context;
	mode_t mode = e->st.st_mode;
	bool done = false;

	if (S_ISCHR(mode) || S_ISBLK(mode) || S_ISSOCK(mode)) {
		c->left_out++;
		return 0;
	}
	if (strcmp(e->path, ".") == 0)
		return set_attributes(c->to_fd, e);
	int r = open_parent(c, e->path);
	if (r == 0 && S_ISREG(mode) && e->st.st_nlink > 1)
		r = copy_name(c, e, &done);
	if (r < 0 || done)
		return r;
	r = make(c, e);
	return r < 0 ? r : set_attributes(c->dir_fd, e);
}

int template_copy(int from_fd, int to_fd, uint64_t *ret_left_out, struct template_fault *ret_fault)
{
	cleanup(copy) struct copy c = {.to_fd = to_fd, .dir_fd = -1};

	ret_fault->what = NULL;
	int r = template_walk(from_fd, visit, &c, ret_fault);
	if (r == 0 && syncfs(to_fd) < 0)
		r = -errno;
	if (r == 0)
		*ret_left_out = c.left_out;
	return r;
}

int template_clear(int dir_fd)
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy < 0)
		return -errno;
	cleanup(closedir) DIR *dir = fdopendir(copy);
	if (!dir) {
		close(copy);
		return -ENOMEM;
	}

	for (struct dirent *e; (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    unlinkat(dir_fd, e->d_name, 0) == 0)
			continue;
		if (errno != EISDIR)
			return -errno;
		cleanup(close_fd) int fd =
			openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int r = fd < 0 ? -errno : template_clear(fd);
		if (r == 0 && unlinkat(dir_fd, e->d_name, AT_REMOVEDIR) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}
