/*
 * Records out of a journal's segments, each checked on its own and against those before it: numbers
 * follow one another, blocks hold what their seals say, and every block names the one before.
 *
 * What cannot be checked because of damage before it is still given: each record has its own
 * checksum. The content hashes of blocks are left to the verifier.
 */
#include "reader.h"
#include "cleanup.h"
#include "codec.h"
#include "crc32c.h"
#include "front.h"
#include "seal.h"
#include "segment.h"
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was read of a block whose seal has not come yet. */
struct open_block {
	bool is_known; /* it was read whole from its first record on */
	uint64_t count, bytes;
	uint32_t crc;
};

/* How to go on after damage. */
enum way_on {
	WAY_NEXT_FRAME, /* the place is behind it already */
	WAY_RESYNC,	/* look for the next whole frame */
	WAY_SEGMENT,	/* with the segment after r->number */
};

struct reader {
	int dir_fd;
	struct segment *segment; /* NULL before the first and after one that cannot be read */
	int64_t number;		 /* of that segment; -1 before the first */
	bool is_finished;	 /* its finish frame was read */
	bool is_closed;		 /* and says that the journal was closed */
	char session[SEGMENT_SESSION_SIZE + 1];

	bool seq_known;
	uint64_t next_seq; /* the number that has to come, if that is known */
	uint64_t wanted;   /* records below are passed over */
	struct open_block block;
	bool checks_content;
	struct hash content; /* of the open block, if that was asked for */
	uint64_t blocks;     /* closed ones */
	struct bytes payload;
	bool previous_known;
	uint8_t previous[HASH_SIZE]; /* hash of the block before, if that is known */

	bool is_stopped, has_damage;
	enum way_on way_on;
	struct reader_damage damage;
	struct front front; /* .segments 0: nothing was removed, or it was not looked yet */
	uint64_t removed;   /* the last record given is the gap up to this number; 0: it is not */
	uint64_t last_time_ns, last_boot_ns;
	uint8_t *first; /* the payload of the first record, where its segment was removed; owned */
	bool has_kept; /* a record that was whole, but out of order: it is given after the damage */
	struct frame kept;
};

int reader_open(int dir_fd, struct reader **ret_reader)
{
	struct reader *r = calloc(1, sizeof(*r));
	uint32_t first;
	int error;

	if (!r)
		return -ENOMEM;
	r->number = -1;
	r->seq_known = r->previous_known = true;
	r->next_seq = 1;
	r->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	error = r->dir_fd < 0 ? -errno : segment_after(r->dir_fd, -1, &first);
	if (error) {
		reader_free(r);
		return error;
	}
	*ret_reader = r;
	return 0;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	segment_free(r->segment);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	free(r->first);
	free(r);
}

static void note_damage(struct reader *r, int64_t number, uint64_t offset, const char *why)
{
	segment_name((uint32_t)number, "", r->damage.segment);
	r->damage.offset = offset;
	r->damage.after_seq = r->next_seq - 1;
	r->damage.why = why;
	r->damage.is_missing = false;
	r->has_damage = true;
}

static enum reader_state stop(struct reader *r, enum way_on way_on, uint64_t offset,
			      const char *why)
{
	note_damage(r, r->number, offset, why);
	r->is_stopped = true;
	r->way_on = way_on;
	return READER_STOPPED;
}

/* Take up @s as the segment to read. NULL, or why it does not fit what came before. */
static const char *take_up(struct reader *r, struct segment *s)
{
	const struct segment_head *head = segment_head(s);
	const char *why = NULL;

	if (r->session[0] && strcmp(r->session, head->session) != 0)
		why = "the segment belongs to another session";
	else if (r->seq_known && head->first_seq != r->next_seq)
		why = "the segment does not go on where the one before ended";
	else if (r->previous_known && memcmp(head->previous, r->previous, HASH_SIZE) != 0)
		why = "the segment does not name the block before it";

	segment_free(r->segment);
	r->segment = s;
	r->number = head->number;
	r->is_finished = r->is_closed = false;
	if (!r->session[0])
		memcpy(r->session, head->session, sizeof(r->session));
	return why;
}

static void open_block(struct reader *r, bool is_known)
{
	r->block = (struct open_block){.is_known = is_known};
	hash_begin(&r->content);
}

/* Where the segment begins, its head says what has to come. */
static void begin_segment(struct reader *r)
{
	const struct segment_head *head = segment_head(r->segment);

	r->seq_known = r->previous_known = true;
	r->next_seq = head->first_seq;
	memcpy(r->previous, head->previous, HASH_SIZE);
	r->blocks = head->blocks;
	open_block(r, true);
}

static enum reader_state open_segment(struct reader *r, uint32_t number)
{
	struct segment *s;
	uint32_t later;
	const char *why;
	int error = segment_open(r->dir_fd, number, &s);

	if (!error) {
		why = take_up(r, s);
		if (why)
			note_damage(r, number, 0, why);
		begin_segment(r);
		if (!why)
			return READER_RECORD;
		r->is_stopped = true;
		r->way_on = WAY_NEXT_FRAME;
		return READER_STOPPED;
	}
	if (error == -ENODATA && segment_after(r->dir_fd, number, &later)) {
		note_damage(r, number, 0, "the segment has no whole head yet");
		return READER_END;
	}
	r->number = number;
	return stop(r, WAY_SEGMENT, 0,
		    error == -EBADMSG || error == -ENODATA ? "the segment has no whole head"
							   : "the segment cannot be opened");
}

/* The first record, as it was kept when its segment went. False: it was not. */
static bool take_first(struct reader *r, struct event *ret_event)
{
	const char *why;
	size_t size;

	if (r->first || turns_first(r->dir_fd, &r->first, &size) < 0)
		return false;
	r->payload = (struct bytes){r->first, size};
	if (codec_decode(r->payload, ret_event, &why) || ret_event->seq != 1)
		return false;
	r->last_time_ns = ret_event->time_ns;
	r->last_boot_ns = ret_event->boot_ns;
	return true;
}

/* In place of the records up to the front, whose segments are gone, or going. */
static void tell_removed(struct reader *r, struct event *ret_event)
{
	uint64_t first = r->next_seq;

	event_init(ret_event, EVENT_gap, r->last_time_ns ? r->last_time_ns : r->front.time_ns,
		   r->last_boot_ns);
	ret_event->seq = r->front.last; /* so that numbers grow, and whoever seeks one finds it */
	event_put_text(ret_event, FIELD_class, "journal");
	event_put_u64(ret_event, FIELD_count, r->front.last + 1 - first);
	event_put_u64(ret_event, FIELD_first, first);
	event_put_u64(ret_event, FIELD_last, r->front.last);
	event_put_text(ret_event, FIELD_reason, "removed by retention");
	r->removed = r->front.last;
	r->payload = (struct bytes){"", 0};
	r->next_seq = r->front.last + 1;
	r->seq_known = true;
	r->previous_known = false;
	r->number = (int64_t)r->front.segments - 1;
	r->is_finished = r->is_closed = false;
	segment_free(take(r->segment));
}

static enum reader_state at_front(struct reader *r, struct event *ret_event, bool *ret_is_record)
{
	*ret_is_record = true;
	if (!r->session[0])
		snprintf(r->session, sizeof(r->session), "%s", r->front.session);
	if (r->next_seq == 1 && take_first(r, ret_event))
		r->next_seq = 2;
	else
		tell_removed(r, ret_event);
	return READER_RECORD;
}

/* Go on in the segment after r->number. READER_RECORD if there is one, or a record. */
static enum reader_state next_segment(struct reader *r, struct event *ret_event,
				      bool *ret_is_record)
{
	uint32_t number;
	int error = segment_after(r->dir_fd, r->number, &number);

	if (error == -ENOENT)
		return READER_END;
	if (error)
		return stop(r, WAY_NEXT_FRAME, 0, "the journal's directory cannot be read");
	/* Where it begins, and where a reader that was slow finds nothing any more. */
	if ((r->number < 0 || number != r->number + 1) && front_read(r->dir_fd, &r->front) == 0 &&
	    r->front.segments > r->number + 1)
		return at_front(r, ret_event, ret_is_record);
	if (number == r->number + 1)
		return open_segment(r, number);

	r->number = (int64_t)number - 1;
	stop(r, WAY_SEGMENT, 0, "the segment is missing, or more before it are");
	r->damage.is_missing = true;
	return READER_STOPPED;
}

static enum reader_state take_record(struct reader *r, const struct frame *frame,
				     struct event *ret_event)
{
	const char *why;

	if (codec_decode(frame->payload, ret_event, &why)) {
		r->block.is_known = r->seq_known = false;
		return stop(r, WAY_NEXT_FRAME, frame->offset, why);
	}
	if (r->seq_known && ret_event->seq != r->next_seq) {
		r->block.is_known = r->seq_known = false;
		r->has_kept = true;
		r->kept = *frame;
		return stop(r, WAY_NEXT_FRAME, frame->offset,
			    "the numbers of the records do not follow");
	}
	r->seq_known = true;
	r->next_seq = ret_event->seq + 1;
	r->last_time_ns = ret_event->time_ns;
	r->last_boot_ns = ret_event->boot_ns;
	r->block.count++;
	r->block.bytes += frame->whole.size;
	r->block.crc = crc32c(r->block.crc, frame->whole.data, frame->whole.size);
	if (r->checks_content)
		hash_add(&r->content, frame->whole.data, frame->whole.size);
	r->payload = frame->payload;
	return READER_RECORD;
}

/* What was read of the block hashes to what its seal says, as far as that was asked for. */
static bool is_content(struct reader *r, const struct seal *seal)
{
	uint8_t hash[HASH_SIZE];

	if (!r->checks_content)
		return true;
	hash_end(&r->content, hash);
	return !memcmp(hash, seal->content, HASH_SIZE);
}

static enum reader_state take_seal(struct reader *r, const struct frame *frame)
{
	const struct open_block block = r->block;
	const char *why = NULL;
	struct seal seal;

	if (!seal_get(frame->payload, &seal))
		return stop(r, WAY_NEXT_FRAME, frame->offset, "a seal that is not one");
	if (block.is_known && (seal.count != block.count || seal.bytes != block.bytes ||
			       seal.crc != block.crc || seal.first_seq + seal.count != r->next_seq))
		why = "a block is not what its seal says";
	else if (block.is_known && (seal.block != r->blocks || !is_content(r, &seal)))
		why = "a block is not what its seal says";
	else if (r->previous_known && memcmp(seal.previous, r->previous, HASH_SIZE) != 0)
		why = "a block does not name the one before it";

	seal_hash(frame->payload.data, r->previous);
	r->previous_known = true;
	r->blocks = seal.block + 1;
	open_block(r, true);
	return why ? stop(r, WAY_NEXT_FRAME, frame->offset, why) : READER_RECORD;
}

static enum reader_state take_finish(struct reader *r, const struct frame *frame)
{
	const char *why = NULL;
	struct finish finish;

	if (!finish_get(frame->payload, &finish))
		return stop(r, WAY_NEXT_FRAME, frame->offset, "a segment's end that is not one");
	if ((r->block.is_known && r->block.count) ||
	    (r->seq_known && finish.next_seq != r->next_seq) ||
	    (r->previous_known && (memcmp(finish.last, r->previous, HASH_SIZE) != 0 ||
				   finish.blocks != (uint32_t)r->blocks))) {
		why = "the segment is not what its end says";
		note_damage(r, r->number, frame->offset, why);
	}

	r->is_finished = true;
	r->is_closed = finish.is_closed;
	r->seq_known = r->previous_known = true;
	r->next_seq = finish.next_seq;
	memcpy(r->previous, finish.last, HASH_SIZE);
	if (!why)
		return READER_RECORD;
	r->is_stopped = true;
	r->way_on = WAY_NEXT_FRAME;
	return READER_STOPPED;
}

/* The segment has no more whole frames: where does it go on? READER_RECORD to look again. */
static enum reader_state at_end(struct reader *r, enum segment_state state, struct event *ret_event,
				bool *ret_is_record)
{
	uint64_t offset = segment_offset(r->segment);
	struct frame frame;
	uint32_t number;

	if (r->is_finished && state == SEGMENT_TORN)
		return stop(r, WAY_SEGMENT, offset, "bytes behind the segment's end");
	if (r->is_finished)
		return next_segment(r, ret_event, ret_is_record);
	if (segment_after(r->dir_fd, r->number, &number)) {
		if (state == SEGMENT_TORN)
			note_damage(r, r->number, offset, "the file ends within a record");
		return READER_END;
	}
	/* The next one was begun after this was read, or this one was cut. */
	state = segment_next(r->segment, &frame);
	if (state == SEGMENT_END || state == SEGMENT_TORN)
		return stop(r, WAY_SEGMENT, offset, "the segment was cut off");
	segment_go(r->segment, offset);
	return READER_RECORD;
}

/* One frame further. *ret_is_record says whether READER_RECORD means one. */
static enum reader_state step(struct reader *r, struct event *ret_event, bool *ret_is_record)
{
	enum segment_state state;
	struct frame frame;

	*ret_is_record = r->has_kept;
	if (r->has_kept) {
		r->has_kept = false;
		return take_record(r, &r->kept, ret_event);
	}
	if (!r->segment)
		return next_segment(r, ret_event, ret_is_record);
	state = segment_next(r->segment, &frame);
	if (state == SEGMENT_DAMAGED)
		return stop(r, WAY_RESYNC, segment_offset(r->segment), segment_why(r->segment));
	if (state != SEGMENT_FRAME)
		return at_end(r, state, ret_event, ret_is_record);
	if (r->is_finished)
		return stop(r, WAY_SEGMENT, frame.offset, "frames behind the segment's end");
	if (frame.type == FRAME_SEAL)
		return take_seal(r, &frame);
	if (frame.type == FRAME_FINISH)
		return take_finish(r, &frame);
	*ret_is_record = true;
	return take_record(r, &frame, ret_event);
}

enum reader_state reader_next(struct reader *r, struct event *ret_event)
{
	enum reader_state state;
	bool is_record;

	if (r->is_stopped)
		return READER_STOPPED;
	r->has_damage = false;
	do {
		r->removed = 0;
		state = step(r, ret_event, &is_record);
	} while (state == READER_RECORD && (!is_record || ret_event->seq < r->wanted));
	return state;
}

bool reader_skip_damage(struct reader *r)
{
	uint32_t number;

	if (!r->is_stopped)
		return false;
	if (r->way_on != WAY_NEXT_FRAME) {
		r->seq_known = r->previous_known = false;
		open_block(r, false);
	}
	if (r->way_on == WAY_RESYNC && !segment_resync(r->segment))
		r->way_on = WAY_SEGMENT;
	if (r->way_on == WAY_SEGMENT) {
		if (segment_after(r->dir_fd, r->number, &number))
			return false;
		segment_free(r->segment);
		r->segment = NULL;
	}
	r->is_stopped = false;
	return true;
}

/* The last segment that begins at @seq or before, or the first one that can be opened. */
static int find_segment(struct reader *r, uint64_t seq, struct segment **ret_segment)
{
	uint32_t first, last;
	int error = segment_after(r->dir_fd, -1, &first);

	if (!error)
		error = segment_before(r->dir_fd, INT64_MAX, &last);
	if (error)
		return error;
	for (int64_t number = last; number >= first; number--) {
		struct segment *s;

		if (segment_open(r->dir_fd, (uint32_t)number, &s))
			continue;
		if (segment_head(s)->first_seq <= seq || number == first) {
			*ret_segment = s;
			return 0;
		}
		segment_free(s);
	}
	return -EBADMSG;
}

/* Go to the block that holds @seq, or to the last one, by seals and packed heads alone. */
static void find_block(struct reader *r, uint64_t seq)
{
	uint64_t start = segment_offset(r->segment);
	struct packed_head packed;
	struct frame frame;
	struct seal seal;

	while (segment_next_head(r->segment, &frame) == SEGMENT_FRAME) {
		if (frame.type == FRAME_FINISH)
			break;
		if (frame.type == FRAME_SEAL && seal_get(frame.payload, &seal)) {
			if (seal.first_seq + seal.count > seq)
				break;
			start = segment_offset(r->segment);
			r->next_seq = seal.first_seq + seal.count;
			r->blocks = seal.block + 1;
			seal_hash(frame.payload.data, r->previous);
		}
		if (frame.type == FRAME_PACKED && packed_head_get(frame.payload, &packed)) {
			if (packed.first_seq + packed.count > seq)
				break;
			start = segment_offset(r->segment);
			r->next_seq = packed.first_seq + packed.count;
			r->blocks++;
			r->previous_known = false;
		}
	}
	segment_go(r->segment, start);
}

/* As it was opened. */
static void rewind_to_front(struct reader *r)
{
	segment_free(take(r->segment));
	free(take(r->first));
	r->number = -1;
	r->seq_known = r->previous_known = true;
	r->next_seq = 1;
	r->is_finished = r->is_closed = false;
	open_block(r, true);
}

int reader_seek(struct reader *r, uint64_t seq)
{
	struct front front;
	struct segment *s;
	int error;

	if (front_read(r->dir_fd, &front) == 0 && seq <= front.last) {
		r->is_stopped = r->has_damage = r->has_kept = false;
		r->wanted = seq;
		rewind_to_front(r);
		return 0;
	}
	error = find_segment(r, seq, &s);
	if (error)
		return error;
	r->is_stopped = r->has_damage = r->has_kept = false;
	r->seq_known = r->previous_known = false;
	take_up(r, s);
	begin_segment(r);
	find_block(r, seq);
	r->wanted = seq;
	return 0;
}

struct bytes reader_payload(const struct reader *r)
{
	return r->payload;
}

uint64_t reader_removed(const struct reader *r)
{
	return r->removed;
}

uint64_t reader_position(const struct reader *r)
{
	return r->next_seq - 1;
}

uint64_t reader_blocks(const struct reader *r)
{
	return r->blocks;
}

const uint8_t *reader_last_block(const struct reader *r)
{
	return r->previous;
}

void reader_check_content(struct reader *r)
{
	r->checks_content = true;
	open_block(r, r->block.is_known && !r->block.count);
}

const struct reader_damage *reader_damage(const struct reader *r)
{
	return r->has_damage ? &r->damage : NULL;
}

const char *reader_session(const struct reader *r)
{
	return r->session[0] ? r->session : NULL;
}

bool reader_is_complete(const struct reader *r)
{
	return r->is_finished && r->is_closed;
}

uint64_t reader_end_seq(const struct reader *r)
{
	return r->next_seq;
}
