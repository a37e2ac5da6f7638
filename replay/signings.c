/*
 * Reads note after note.
 */
#include "signings.h"

#include "../supervisor/record/checkpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the file has behind what was read of it. False: nothing. */
static bool read_more(struct signings *s)
{
	ssize_t n;

	memmove(s->text, s->text + s->at, s->size - s->at);
	s->size -= s->at;
	s->at = 0;
	n = s->fd < 0 ? 0 : pread(s->fd, s->text + s->size, sizeof(s->text) - s->size, s->read);
	if (n <= 0)
		return false;
	s->size += (size_t)n;
	s->read += n;
	return true;
}

static void read_note(struct signings *s)
{
	int length;

	do
		length = note_read((struct bytes){s->text + s->at, s->size - s->at}, &s->note);
	while (length == -ENODATA && read_more(s));
	s->has_note = length > 0;
	if (!s->has_note)
		return;
	s->length = (size_t)length;
	s->at += s->length;
	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(s->root + 2 * i, 3, "%02x", s->note.root[i]);
}

int signings_open(int dir_fd, struct signings *ret_signings)
{
	int fd = openat(dir_fd, CHECKPOINTS_FILE,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno != ENOENT)
		return -errno;
	*ret_signings = SIGNINGS_NONE;
	ret_signings->fd = fd;
	return 0;
}

void signings_close(struct signings *s)
{
	if (s->fd >= 0)
		close(s->fd);
	*s = SIGNINGS_NONE;
}

bool signings_next(struct signings *s, uint64_t seq, uint64_t boot_ns, struct event *ret_event)
{
	if (s->is_given || !s->has_note)
		read_note(s);
	s->is_given = s->has_note && s->note.size <= seq;
	if (!s->is_given)
		return false;
	event_init(ret_event, EVENT_checkpoint, s->note.time_ns, boot_ns);
	event_put_u64(ret_event, FIELD_tree_size, s->note.size);
	event_put_text(ret_event, FIELD_root_hash, s->root);
	event_put_bytes(ret_event, FIELD_note, s->text + s->at - s->length, s->length);
	return true;
}
