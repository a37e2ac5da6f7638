/*
 * Reads note after note.
 */
#include "signings.h"

#include "../supervisor/record/checkpoints.h"
#include "file_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MOST (1u << 30)

static void read_note(struct signings *s)
{
	struct bytes rest = {s->text + s->at, s->size - s->at};
	int length = rest.size ? note_read(rest, &s->note) : -ENODATA;

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
	struct signings s = {0};
	int r = file_read(dir_fd, CHECKPOINTS_FILE, TEXT_MOST, &s.text, &s.size);

	if (r && r != -ENOENT)
		return r;
	s.is_given = true;
	*ret_signings = s;
	return 0;
}

void signings_close(struct signings *s)
{
	free(s->text);
	*s = (struct signings){0};
}

bool signings_next(struct signings *s, uint64_t seq, uint64_t boot_ns, struct event *ret_event)
{
	if (s->is_given)
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
