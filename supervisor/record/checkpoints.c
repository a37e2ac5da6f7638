/*
 * Writes the checkpoints of one session.
 */
#include "checkpoints.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_SIZE (4 * NOTE_MAX)

struct checkpoints {
	int fd;
	off_t size;
	char origin[LEDGER_NAME_MAX];
	char opened[LEDGER_LINE_MAX]; /* "" once it is told */
	uint8_t seed[SIGN_SEED_SIZE];
	bool has_last;
	uint8_t last[HASH_SIZE];
};

void checkpoints_free(struct checkpoints *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	explicit_bzero(c->seed, sizeof(c->seed));
	free(c);
}

/* Where the first note begins of which @tail holds all. */
static size_t first_begin(const char *tail, size_t size, bool is_whole_file)
{
	const char *end;

	if (is_whole_file)
		return 0;
	/* An empty line stands within a note and behind it; behind it no signature follows. */
	for (size_t at = 0; (end = memmem(tail + at, size - at, "\n\n", 2)); at++) {
		at = (size_t)(end - tail) + 1;
		if (at + 1 < size && tail[at + 1] != '\xe2')
			return at + 1;
	}
	return size;
}

/* The end of a file of notes, and the last whole one in it. */
struct found {
	char tail[TAIL_SIZE];
	size_t at, length; /* of the note in the tail; length 0: there is none */
	off_t size;	   /* of the file */
	off_t torn_at;	   /* where a note begins that is not whole; -1: all are */
};

/* 0, also where a note is bent and nothing behind it is looked at, or -errno. */
static int find_note(int fd, struct found *f, struct note *ret_note)
{
	struct stat st;
	off_t start;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	start = st.st_size > TAIL_SIZE ? st.st_size - TAIL_SIZE : 0;
	n = pread(fd, f->tail, TAIL_SIZE, start);
	if (n < 0)
		return -errno;
	f->size = st.st_size;
	f->length = 0;
	f->torn_at = -1;
	for (size_t at = first_begin(f->tail, (size_t)n, !start); at < (size_t)n;) {
		struct note note;
		int length = note_read((struct bytes){f->tail + at, (size_t)n - at}, &note);

		if (length == -ENODATA)
			f->torn_at = start + (off_t)at;
		if (length < 0)
			break;
		*ret_note = note;
		f->at = at;
		f->length = (size_t)length;
		at += (size_t)length;
	}
	return 0;
}

/* Find the last whole note; what stands behind it is torn, or bent: then it is left as evidence,
 * and nothing is said to precede. */
static int find_last(struct checkpoints *c)
{
	cleanup(free) struct found *f = calloc(1, sizeof(*f));
	struct note note;
	int r = f ? find_note(c->fd, f, &note) : -ENOMEM;

	if (r)
		return r;
	c->size = f->torn_at < 0 ? f->size : f->torn_at;
	c->has_last = c->size > 0;
	if (f->length)
		hash_bytes((struct bytes){f->tail + f->at, f->length}, c->last);
	return f->torn_at < 0 || !ftruncate(c->fd, c->size) ? 0 : -errno;
}

int checkpoints_newest(int dir_fd, struct note *ret_note, char ret_text[NOTE_MAX])
{
	cleanup(close_fd) int fd =
		openat(dir_fd, CHECKPOINTS_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	cleanup(free) struct found *f = calloc(1, sizeof(*f));
	int r;

	if (fd < 0)
		return -errno;
	r = f ? find_note(fd, f, ret_note) : -ENOMEM;
	if (r)
		return r;
	if (!f->length || f->length > NOTE_MAX)
		return -ENODATA;
	memcpy(ret_text, f->tail + f->at, f->length);
	return (int)f->length;
}

int checkpoints_open(int dir_fd, const struct checkpoints_key *key,
		     struct checkpoints **ret_checkpoints)
{
	struct checkpoints *c;
	int r;

	if (strlen(key->origin) >= sizeof(c->origin) || strlen(key->opened) >= sizeof(c->opened))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	memcpy(c->origin, key->origin, strlen(key->origin));
	memcpy(c->opened, key->opened, strlen(key->opened));
	memcpy(c->seed, key->seed, sizeof(c->seed));
	c->fd = openat(dir_fd, CHECKPOINTS_FILE,
		       O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
	r = c->fd < 0 ? -errno : find_last(c);
	if (r) {
		checkpoints_free(c);
		return r;
	}
	*ret_checkpoints = c;
	return 0;
}

/* All of it, or the file is as long as it was. */
static int append(struct checkpoints *c, const char *text, size_t length)
{
	ssize_t n = write(c->fd, text, length);
	int r;

	if (n == (ssize_t)length) {
		c->size += n;
		return 0;
	}
	r = n < 0 ? -errno : -ENOSPC;
	if (n > 0 && ftruncate(c->fd, c->size))
		r = -errno;
	return r;
}

int checkpoints_add(struct checkpoints *c, const struct checkpoint *checkpoint)
{
	struct note note = {
		.size = checkpoint->size,
		.time_ns = checkpoint->time_ns,
		.blocks = checkpoint->blocks,
		.has_previous = c->has_last,
		.has_next = checkpoint->kind == CHECKPOINT_TURN,
		.is_end = checkpoint->kind == CHECKPOINT_END,
	};
	uint8_t next[SIGN_SEED_SIZE];
	char text[NOTE_MAX];
	int length, r = 0;

	memcpy(note.origin, c->origin, sizeof(note.origin));
	memcpy(note.opened, c->opened, sizeof(note.opened));
	memcpy(note.root, checkpoint->root, HASH_SIZE);
	memcpy(note.last_block, checkpoint->last_block, HASH_SIZE);
	memcpy(note.previous, c->last, HASH_SIZE);
	if (note.has_next) {
		r = sign_seed(next);
		if (!r)
			r = sign_public(next, note.next);
	}
	length = r ? r : note_write(&note, c->seed, text);
	r = length < 0 ? length : append(c, text, (size_t)length);
	if (!r) {
		if (note.has_next)
			memcpy(c->seed, next, sizeof(next));
		hash_bytes((struct bytes){text, (size_t)length}, c->last);
		c->has_last = true;
		c->opened[0] = 0;
	}
	explicit_bzero(next, sizeof(next));
	return r;
}

int checkpoints_fd(const struct checkpoints *c)
{
	return c->fd;
}

const uint8_t *checkpoints_last(const struct checkpoints *c)
{
	return c->last;
}
