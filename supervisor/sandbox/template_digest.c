/*
 * Digest and stamp of a tree of files. See template_digest.h.
 */
#include "template_digest.h"

#include "../record/cleanup.h"
#include "../record/hash.h"
#include "launch.h"
#include "template_links.h"
#include "template_xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#define READ_ROOM (256 * 1024)
#define NS 1000000000ll

struct digest {
	struct hash whole, stamp;
	char *buffer; /* of READ_ROOM; NULL: the stamp alone */
	struct template_links links;
	struct template_sum sum;
	struct template_fault *fault;
};

static void cleanup_digest(struct digest *d)
{
	free(d->buffer);
	template_links_free(&d->links);
}

static void put_number(struct hash *to, uint64_t value, size_t size)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	hash_add(to, bytes, size);
}

static void put_text(struct hash *to, const char *text)
{
	hash_add(to, text, strlen(text) + 1);
}

static void put_stamp(struct digest *d, const struct template_entry *e)
{
	const struct stat *st = &e->st;
	int64_t changed_ns = st->st_ctim.tv_sec * NS + st->st_ctim.tv_nsec;

	put_text(&d->stamp, e->path);
	put_number(&d->stamp, st->st_ino, 8);
	put_number(&d->stamp, st->st_mode, 4);
	put_number(&d->stamp, st->st_uid, 4);
	put_number(&d->stamp, st->st_gid, 4);
	put_number(&d->stamp, (uint64_t)st->st_size, 8);
	put_number(&d->stamp, (uint64_t)changed_ns, 8);
	if (changed_ns > d->sum.changed_ns)
		d->sum.changed_ns = changed_ns;
	d->sum.entries++;
}

static int put_content(struct digest *d, const struct template_entry *e)
{
	uint8_t sum[HASH_SIZE];
	struct hash content;
	uint64_t size = 0;
	ssize_t n;
	cleanup(close_fd) int fd = openat(
		e->dir_fd, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	hash_begin(&content);
	while ((n = read(fd, d->buffer, READ_ROOM)) > 0) {
		hash_add(&content, d->buffer, (size_t)n);
		size += (uint64_t)n;
	}
	if (n < 0)
		return -errno;
	hash_end(&content, sum);
	put_number(&d->whole, size, 8);
	hash_add(&d->whole, sum, sizeof(sum));
	d->sum.bytes += size;
	return 0;
}

static int put_target(struct digest *d, const struct template_entry *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(e->dir_fd, e->name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = 0;
	put_text(&d->whole, target);
	return 0;
}

static int put_xattr(void *context, const char *name, const void *value, size_t size)
{
	struct digest *d = context;

	put_text(&d->whole, name);
	put_number(&d->whole, size, 4);
	hash_add(&d->whole, value, size);
	return 0;
}

static char type_of(mode_t mode)
{
	return S_ISREG(mode)	? 'f'
	       : S_ISDIR(mode)	? 'd'
	       : S_ISLNK(mode)	? 'l'
	       : S_ISFIFO(mode) ? 'p'
	       : S_ISCHR(mode)	? 'c'
	       : S_ISBLK(mode)	? 'b'
				: 's';
}

static int put_whole(struct digest *d, const struct template_entry *e)
{
	const struct stat *st = &e->st;
	const char *first = NULL;
	int r = S_ISREG(st->st_mode) && st->st_nlink > 1
			? template_links_first(&d->links, st->st_ino, e->path, &first)
			: 0;

	if (r < 0)
		return r;
	hash_add(&d->whole, (char[]){first ? 'h' : type_of(st->st_mode)}, 1);
	put_number(&d->whole, st->st_mode & 07777, 2);
	put_number(&d->whole, st->st_uid, 4);
	put_number(&d->whole, st->st_gid, 4);
	put_text(&d->whole, e->path);
	if (first) {
		put_text(&d->whole, first);
		return 0;
	}

	if (S_ISREG(st->st_mode))
		r = put_content(d, e);
	else if (S_ISLNK(st->st_mode))
		r = put_target(d, e);
	else if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		put_number(&d->whole, st->st_rdev, 8);
	if (r == 0)
		r = template_xattrs(e, put_xattr, d);
	hash_add(&d->whole, "", 1);
	return r;
}

static int visit(void *context, const struct template_entry *e)
{
	struct digest *d = context;

	if (e->st.st_uid >= SESSION_IDS || e->st.st_gid >= SESSION_IDS) {
		d->fault->what = "its owner is none of the 65536 ids that a session has";
		return -EOVERFLOW;
	}
	put_stamp(d, e);
	return d->buffer ? put_whole(d, e) : 0;
}

static void hex_of(struct hash *from, char ret_hex[TEMPLATE_HEX])
{
	uint8_t sum[HASH_SIZE];

	hash_end(from, sum);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", sum[i]);
}

static int sum_tree(int root_fd, bool whole, struct template_sum *ret_sum,
		    struct template_fault *ret_fault)
{
	cleanup(digest) struct digest d = {.fault = ret_fault};

	ret_fault->what = NULL;
	ret_fault->path[0] = 0;
	hash_begin(&d.stamp);
	hash_begin(&d.whole);
	d.buffer = whole ? malloc(READ_ROOM) : NULL;
	if (whole && !d.buffer)
		return -ENOMEM;
	int r = template_walk(root_fd, visit, &d, ret_fault);
	if (r < 0)
		return r;

	hex_of(&d.stamp, d.sum.stamp);
	if (whole)
		hex_of(&d.whole, d.sum.digest);
	*ret_sum = d.sum;
	return 0;
}

int template_digest(int root_fd, struct template_sum *ret_sum, struct template_fault *ret_fault)
{
	return sum_tree(root_fd, true, ret_sum, ret_fault);
}

int template_stamp(int root_fd, struct template_sum *ret_sum, struct template_fault *ret_fault)
{
	return sum_tree(root_fd, false, ret_sum, ret_fault);
}
