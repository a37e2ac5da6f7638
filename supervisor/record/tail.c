/*
 * Scans the last segment of a journal for the place to go on.
 */
#include "tail.h"
#include "cleanup.h"
#include "codec.h"
#include "seal.h"
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void cleanup_segment(struct segment **s)
{
	segment_free(*s);
}

static int remove_segment(int dir_fd, uint32_t number)
{
	char name[SEGMENT_NAME_SIZE];

	segment_name(number, "", name);
	return unlinkat(dir_fd, name, 0) ? -errno : 0;
}

/* Open the last segment that was begun. -ENOENT: there is none. */
static int open_last(int dir_fd, struct segment **ret_segment)
{
	uint32_t number;
	int r;

	for (;;) {
		r = segment_before(dir_fd, INT64_MAX, &number);
		if (!r)
			r = segment_open(dir_fd, number, ret_segment);
		if (r != -ENODATA)
			return r;
		r = remove_segment(dir_fd, number);
		if (r)
			return r;
	}
}

static int take_record(struct tail *t, const struct frame *frame)
{
	struct event e;
	const char *why;
	int r = codec_decode(frame->payload, &e, &why);

	if (r)
		return r;
	if (e.seq >= t->next_seq)
		t->next_seq = e.seq + 1;
	return 0;
}

static int take_frame(struct tail *t, const struct frame *frame, uint64_t end, bool *is_finished)
{
	struct finish finish;
	struct seal seal;

	if (frame->type == FRAME_RECORD)
		return take_record(t, frame);
	if (frame->type == FRAME_SEAL) {
		if (!seal_get(frame->payload, &seal))
			return -EBADMSG;
		t->blocks = seal.block + 1;
		t->block_offset = end;
		seal_hash(frame->payload.data, t->last);
		return 0;
	}
	if (!finish_get(frame->payload, &finish))
		return -EBADMSG;
	if (finish.next_seq > t->next_seq)
		t->next_seq = finish.next_seq;
	*is_finished = true;
	return 0;
}

/* Read @s to its end; through damage, so that no number is given twice. */
static int scan(struct segment *s, struct tail *t)
{
	bool is_finished = false, is_damaged = false;
	enum segment_state state;
	struct frame frame;
	int r;

	for (;;) {
		state = segment_next(s, &frame);
		if (state == SEGMENT_FRAME) {
			r = take_frame(t, &frame, segment_offset(s), &is_finished);
			if (r)
				return r;
			continue;
		}
		if (state != SEGMENT_DAMAGED || segment_is_blank(s))
			break;
		is_damaged = true;
		if (!segment_resync(s))
			break;
	}

	t->offset = segment_offset(s);
	if (is_damaged)
		t->gap = "damaged";
	else if (state != SEGMENT_END && !is_finished)
		t->gap = "torn";
	t->is_new = is_finished || is_damaged;
	return 0;
}

static int add_up_bytes(int dir_fd, struct tail *t)
{
	char name[SEGMENT_NAME_SIZE];
	struct stat st;
	uint32_t number;

	for (int64_t at = -1; !segment_after(dir_fd, at, &number); at = number) {
		if (number == t->number)
			continue;
		segment_name(number, "", name);
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
			return -errno;
		t->bytes += (uint64_t)st.st_size;
	}
	return 0;
}

int tail_find(int dir_fd, const char *session, struct tail *ret_tail)
{
	struct tail t = {.next_seq = 1, .is_new = true};
	cleanup(segment) struct segment *s = NULL;
	const struct segment_head *head;
	int r = open_last(dir_fd, &s);

	if (r && r != -ENOENT)
		return r;
	if (r) {
		*ret_tail = t;
		return 0;
	}
	head = segment_head(s);
	if (strcmp(head->session, session) != 0)
		return -EBADMSG;
	t.number = head->number;
	t.salt = head->salt;
	t.next_seq = head->first_seq;
	t.blocks = head->blocks;
	t.block_offset = segment_offset(s);
	memcpy(t.last, head->previous, HASH_SIZE);
	r = scan(s, &t);
	if (r)
		return r;
	if (t.is_new)
		t.number++;
	r = add_up_bytes(dir_fd, &t);
	if (!r)
		*ret_tail = t;
	return r;
}

int tail_replay(int dir_fd, const struct tail *tail, struct chain *chain)
{
	cleanup(segment) struct segment *s = NULL;
	struct frame frame;
	struct event e;
	const char *why;
	int r = segment_open(dir_fd, tail->number, &s);

	if (r)
		return r;
	segment_go(s, tail->block_offset);
	while (segment_offset(s) < tail->offset) {
		if (segment_next(s, &frame) != SEGMENT_FRAME)
			return -EBADMSG;
		r = codec_decode(frame.payload, &e, &why);
		if (r)
			return r;
		chain_add(chain, frame.whole, e.seq, e.time_ns);
	}
	return 0;
}
