/*
 * A file is read in pieces; for secrets each piece is looked at together with the end of the one
 * before. See content.h.
 */
#include "content.h"

#include "../record/cleanup.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PIECE (256 * 1024)
#define OVERLAP (64 * 1024) /* of two pieces: a secret may be spread out by blanks and breaks */

struct content {
	struct content_budget budget;
	struct spans spans;
	uint8_t room[OVERLAP + PIECE];
};

int content_new(const struct content_budget *budget, struct content **ret_content)
{
	struct content *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->budget = *budget;
	c->spans = (struct spans){0};
	*ret_content = c;
	return 0;
}

void content_free(struct content *c)
{
	if (!c)
		return;
	spans_free(&c->spans);
	explicit_bzero(c->room, sizeof(c->room));
	free(c);
}

bool content_is_out_of_time(struct content *c)
{
	return clock_ns(CLOCK_MONOTONIC) >= c->budget.deadline_ns;
}

uint64_t content_bytes(const struct content *c)
{
	return c->budget.bytes;
}

/* What is known without opening it. */
static enum final_unhashed refuse(struct content *c, const struct stat *status)
{
	const struct content_budget *b = &c->budget;

	if (b->is_off)
		return FINAL_OFF;
	if (status->st_size < 0 || (uint64_t)status->st_size > b->bytes_max)
		return FINAL_TOO_LARGE;
	if ((uint64_t)status->st_size > b->bytes_max - b->bytes)
		return FINAL_BYTES;
	return content_is_out_of_time(c) ? FINAL_TIME : FINAL_HASHED;
}

/* O_NONBLOCK: should it be a fifo or a device by now, nothing waits for it, and nothing is read. */
static int open_same(int dir_fd, const char *name, const struct stat *status, int *ret_fd)
{
	struct stat now;
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &now) < 0)
		return -errno;
	if (!S_ISREG(now.st_mode) || now.st_dev != status->st_dev || now.st_ino != status->st_ino)
		return -ESTALE;
	*ret_fd = take_fd(fd);
	return 0;
}

/* -errno, or bytes: less than a piece only at the end. */
static ssize_t read_piece(int fd, uint8_t *room)
{
	size_t size = 0;

	while (size < PIECE) {
		ssize_t n = read(fd, room + size, PIECE - size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
	}
	return (ssize_t)size;
}

static int look_for_secrets(struct content *c, size_t size, bool *ret_found)
{
	if (!c->budget.secrets)
		return 0;
	int r = secrets_find(c->budget.secrets, (struct bytes){c->room, size}, &c->spans);

	*ret_found = *ret_found || c->spans.count > 0;
	return r;
}

/* @size bytes lie before the piece that comes next. */
static size_t keep_end(struct content *c, size_t size)
{
	size_t kept = size > OVERLAP ? OVERLAP : size;

	if (!c->budget.secrets)
		return 0;
	memmove(c->room, c->room + size - kept, kept);
	return kept;
}

static enum final_unhashed hash(struct content *c, int fd, uint64_t size_bytes,
				uint8_t ret_sha256[HASH_SIZE])
{
	struct hash h;
	uint64_t done = 0;
	size_t kept = 0;
	bool has_secret = false;
	ssize_t n;

	hash_begin(&h);
	do {
		n = read_piece(fd, c->room + kept);
		if (n < 0 || look_for_secrets(c, kept + (size_t)n, &has_secret) < 0)
			return FINAL_UNREADABLE;
		hash_add(&h, c->room + kept, (size_t)n);
		c->budget.bytes += (uint64_t)n;
		done += (uint64_t)n;
		kept = keep_end(c, kept + (size_t)n);
		if (has_secret)
			return FINAL_SECRET;
		if (done > size_bytes)
			return FINAL_UNREADABLE;
		if (content_is_out_of_time(c))
			return FINAL_TIME;
	} while (n == PIECE);
	if (done != size_bytes)
		return FINAL_UNREADABLE;
	hash_end(&h, ret_sha256);
	return FINAL_HASHED;
}

void content_hash(struct content *c, int dir_fd, const char *name, const struct stat *status,
		  struct final_file *file)
{
	cleanup(close_fd) int fd = -1;

	file->unhashed = refuse(c, status);
	if (file->unhashed == FINAL_HASHED)
		file->unhashed = open_same(dir_fd, name, status, &fd) < 0
					 ? FINAL_UNREADABLE
					 : hash(c, fd, (uint64_t)status->st_size, file->sha256);
}
