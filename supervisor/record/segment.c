/*
 * A window over the file, in which frames are found and checked. It is refilled from the file
 * whenever a frame is not whole in it, so that what was read too early is not taken for good.
 */
#include "segment.h"
#include "cleanup.h"
#include "crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define WINDOW_LEAST (4u << 10)
#define WINDOW_BYTES (256u << 10)
#define RATIO_MOST 1032 /* zlib cannot do better: what claims to is no stream of it */

struct segment {
	int fd;
	struct segment_head head;
	uint64_t offset; /* of the next frame in the file */
	const char *why;

	uint8_t *window;
	size_t room;
	uint64_t window_offset; /* of the window in the file */
	size_t filled;

	uint8_t *block; /* a packed block that was unpacked */
	size_t block_room;
	size_t block_size, block_at;
	uint64_t block_offset; /* of its packed frame */
};

void segment_free(struct segment *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->window);
	free(s->block);
	free(s);
}

/* Fill @room with what is at @offset; less only at the end of the file. -errno. */
static ssize_t read_at(int fd, void *room, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)room + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int read_heads(struct segment *s, uint32_t number)
{
	uint8_t heads[SEGMENT_HEADS_SIZE];
	ssize_t size = read_at(s->fd, heads, sizeof(heads), 0);

	if (size < 0)
		return (int)size;
	if (size < (ssize_t)sizeof(heads))
		return -ENODATA;
	if (!heads[0] && !memcmp(heads, heads + 1, sizeof(heads) - 1))
		return -ENODATA;
	if (!segment_head_get(heads, &s->head) &&
	    !segment_head_get(heads + SEGMENT_HEAD_SIZE, &s->head))
		return -EBADMSG;
	return s->head.number == number ? 0 : -EBADMSG;
}

static int open_regular(int dir_fd, uint32_t number, off_t *ret_size)
{
	cleanup(close_fd) int fd = -1;
	char name[SEGMENT_NAME_SIZE];
	struct stat st;

	segment_name(number, "", name);
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	*ret_size = st.st_size;
	return take_fd(fd);
}

static int begin(struct segment *s, uint32_t number, off_t size)
{
	int r = read_heads(s, number);

	if (r)
		return r;
	s->offset = SEGMENT_HEADS_SIZE;
	s->room = WINDOW_LEAST;
	if (size > WINDOW_LEAST)
		s->room = size < WINDOW_BYTES ? (size_t)size : WINDOW_BYTES;
	s->window = malloc(s->room);
	return s->window ? 0 : -ENOMEM;
}

int segment_open(int dir_fd, uint32_t number, struct segment **ret_segment)
{
	off_t size = 0;
	int r, fd = open_regular(dir_fd, number, &size);
	struct segment *s;

	if (fd < 0)
		return fd;
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->fd = fd;
	r = begin(s, number, size);
	if (r)
		segment_free(s);
	else
		*ret_segment = s;
	return r;
}

const struct segment_head *segment_head(const struct segment *s)
{
	return &s->head;
}

uint64_t segment_offset(const struct segment *s)
{
	return s->block_at < s->block_size ? s->block_offset : s->offset;
}

void segment_go(struct segment *s, uint64_t offset)
{
	s->offset = offset;
	s->block_size = s->block_at = 0;
	s->filled = 0;
}

const char *segment_why(const struct segment *s)
{
	return s->why;
}

int64_t segment_size(const struct segment *s)
{
	struct stat st;

	return fstat(s->fd, &st) ? -errno : st.st_size;
}

static enum segment_state damaged(struct segment *s, const char *why)
{
	s->why = why;
	s->filled = 0;
	return SEGMENT_DAMAGED;
}

static bool grow(uint8_t **memory, size_t *room, size_t size)
{
	uint8_t *larger;

	if (size <= *room)
		return true;
	larger = realloc(*memory, size);
	if (!larger)
		return false;
	*memory = larger;
	*room = size;
	return true;
}

/* Have @size bytes of the file at @offset in the window; *ret_left is how many there are. */
static int need(struct segment *s, uint64_t offset, size_t size, size_t *ret_left)
{
	size_t keep = 0;
	ssize_t n;

	if (offset >= s->window_offset && offset - s->window_offset <= s->filled)
		keep = s->filled - (size_t)(offset - s->window_offset);
	if (keep < size) {
		/* A window that the file filled once: it has grown since it was opened. */
		if (s->filled == s->room && size < WINDOW_BYTES)
			grow(&s->window, &s->room, WINDOW_BYTES);
		if (!grow(&s->window, &s->room, size))
			return -ENOMEM;
		memmove(s->window, s->window + s->filled - keep, keep);
		s->window_offset = offset;
		s->filled = keep;
		n = read_at(s->fd, s->window + keep, s->room - keep, offset + keep);
		if (n < 0)
			return (int)n;
		s->filled += (size_t)n;
		keep = s->filled;
	}
	*ret_left = keep;
	return 0;
}

static const uint8_t *window_at(const struct segment *s, uint64_t offset)
{
	return s->window + (offset - s->window_offset);
}

static enum segment_state short_of(struct segment *s, size_t left)
{
	s->filled = 0;
	return left ? SEGMENT_TORN : SEGMENT_END;
}

/* The head at the place, and unless @head_only the rest of the frame, are in the window. */
static enum segment_state frame_at(struct segment *s, bool head_only, struct frame_head *ret_head)
{
	size_t left, size;

	if (need(s, s->offset, FRAME_HEAD_SIZE, &left))
		return damaged(s, "the file cannot be read");
	if (left < FRAME_HEAD_SIZE)
		return short_of(s, left);
	if (!frame_head_get(s->head.salt, window_at(s, s->offset), ret_head))
		return damaged(s, "the head of a frame is not whole");
	if (head_only)
		return SEGMENT_FRAME;

	size = FRAME_HEAD_SIZE + (size_t)ret_head->length;
	if (need(s, s->offset, size, &left))
		return damaged(s, "the file cannot be read");
	return left < size ? short_of(s, left) : SEGMENT_FRAME;
}

enum segment_state segment_next_raw(struct segment *s, struct frame *ret_frame)
{
	struct frame_head head;
	enum segment_state state = frame_at(s, false, &head);
	const uint8_t *at;

	if (state != SEGMENT_FRAME)
		return state;
	at = window_at(s, s->offset);
	if (crc32c(0, at + FRAME_HEAD_SIZE, head.length) != head.crc)
		return damaged(s, "the checksum of a frame is wrong");
	*ret_frame = (struct frame){
		.type = head.type,
		.payload = {at + FRAME_HEAD_SIZE, head.length},
		.whole = {at, FRAME_HEAD_SIZE + head.length},
		.offset = s->offset,
	};
	s->offset += FRAME_HEAD_SIZE + head.length;
	return SEGMENT_FRAME;
}

enum segment_state segment_next_head(struct segment *s, struct frame *ret_frame)
{
	struct frame_head head;
	enum segment_state state = frame_at(s, true, &head);
	size_t left, size;

	if (state != SEGMENT_FRAME)
		return state;
	if (head.type != FRAME_RECORD && head.type != FRAME_PACKED)
		return segment_next_raw(s, ret_frame);
	size = head.type == FRAME_PACKED ? PACKED_HEAD_SIZE : 0;
	if (need(s, s->offset, FRAME_HEAD_SIZE + size, &left))
		return damaged(s, "the file cannot be read");
	if (left < FRAME_HEAD_SIZE + size)
		return short_of(s, left);
	*ret_frame = (struct frame){
		.type = head.type,
		.payload = {window_at(s, s->offset) + FRAME_HEAD_SIZE, size},
		.offset = s->offset,
	};
	s->offset += FRAME_HEAD_SIZE + head.length;
	return SEGMENT_FRAME;
}

/* A packed head says of its block what the block's own seal does. */
static bool is_head_of(const struct packed_head *head, const uint8_t *block)
{
	struct seal seal;

	if (head->bytes < FRAME_HEAD_SIZE + SEAL_SIZE)
		return false;
	return seal_get((struct bytes){block + head->bytes - SEAL_SIZE, SEAL_SIZE}, &seal) &&
	       seal.first_seq == head->first_seq && seal.count == head->count;
}

/* Unpack @packed, which was read at s->block_offset. */
static bool unpack(struct segment *s, struct bytes packed)
{
	struct packed_head head;
	uLong used = packed.size - PACKED_HEAD_SIZE;
	uLongf size;

	if (!packed_head_get(packed, &head) || head.bytes / RATIO_MOST > packed.size)
		return false;
	if (!grow(&s->block, &s->block_room, head.bytes + 1))
		return false;
	size = head.bytes;
	if (uncompress2(s->block, &size, (const uint8_t *)packed.data + PACKED_HEAD_SIZE, &used) !=
		    Z_OK ||
	    size != head.bytes || used != packed.size - PACKED_HEAD_SIZE ||
	    !is_head_of(&head, s->block))
		return false;
	s->block_size = head.bytes;
	s->block_at = 0;
	return true;
}

/* The next frame of the block that was unpacked. */
static enum segment_state next_packed(struct segment *s, struct frame *ret_frame)
{
	const uint8_t *at = s->block + s->block_at;
	size_t left = s->block_size - s->block_at;
	struct frame_head head;

	if (left < FRAME_HEAD_SIZE || !frame_head_get(s->head.salt, at, &head) ||
	    (head.type != FRAME_RECORD && head.type != FRAME_SEAL) ||
	    left - FRAME_HEAD_SIZE < head.length ||
	    crc32c(0, at + FRAME_HEAD_SIZE, head.length) != head.crc)
		return damaged(s, "a packed block does not hold whole frames");
	*ret_frame = (struct frame){
		.type = head.type,
		.payload = {at + FRAME_HEAD_SIZE, head.length},
		.whole = {at, FRAME_HEAD_SIZE + head.length},
		.offset = s->block_offset,
	};
	s->block_at += FRAME_HEAD_SIZE + head.length;
	return SEGMENT_FRAME;
}

enum segment_state segment_next(struct segment *s, struct frame *ret_frame)
{
	while (s->block_at == s->block_size) {
		enum segment_state state = segment_next_raw(s, ret_frame);

		if (state != SEGMENT_FRAME || ret_frame->type != FRAME_PACKED)
			return state;
		s->block_offset = ret_frame->offset;
		if (!unpack(s, ret_frame->payload)) {
			s->offset = s->block_offset;
			return damaged(s, "a packed block cannot be unpacked");
		}
	}
	return next_packed(s, ret_frame);
}

static bool is_whole_frame(struct segment *s, uint64_t offset)
{
	struct frame frame;
	uint64_t place = s->offset;
	bool is_whole;

	s->offset = offset;
	is_whole = segment_next_raw(s, &frame) == SEGMENT_FRAME;
	s->offset = place;
	return is_whole;
}

/* The end of the frame at @at by its head, if that is whole and lies in the file; else 0. */
static uint64_t end_of_frame(struct segment *s, uint64_t at)
{
	struct frame_head head;
	size_t left;
	uint64_t end;

	if (need(s, at, FRAME_HEAD_SIZE, &left) || left < FRAME_HEAD_SIZE ||
	    !frame_head_get(s->head.salt, window_at(s, at), &head))
		return 0;
	end = at + FRAME_HEAD_SIZE + head.length;
	return (int64_t)end <= segment_size(s) ? end : 0;
}

bool segment_resync(struct segment *s)
{
	uint64_t at = segment_offset(s), end;
	size_t left;

	segment_go(s, at);
	/* A head that is whole says where the next one is; else it has to be looked for. */
	end = end_of_frame(s, at);
	if (end) {
		segment_go(s, end);
		return true;
	}
	while (!need(s, ++at, FRAME_HEAD_SIZE, &left) && left >= FRAME_HEAD_SIZE) {
		if (!end_of_frame(s, at) || !is_whole_frame(s, at))
			continue;
		segment_go(s, at);
		return true;
	}
	return false;
}

bool segment_is_blank(struct segment *s)
{
	uint64_t at = s->offset;
	size_t left;

	s->filled = 0;
	while (!need(s, at, 1, &left) && left) {
		const uint8_t *bytes = window_at(s, at);

		for (size_t i = 0; i < left; i++) {
			if (bytes[i])
				return false;
		}
		at += left;
	}
	return true;
}

/* The number in @dir_fd that is nearest to @number on one side of it. */
static int nearest(int dir_fd, int64_t number, bool above, uint32_t *ret_number)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int64_t best = -1;

	if (!dir) {
		int r = -errno;

		if (fd >= 0)
			close(fd);
		return r;
	}
	while ((errno = 0, entry = readdir(dir))) {
		uint32_t found;

		if (!segment_number(entry->d_name, &found))
			continue;
		if (above ? found > number && (best < 0 || found < best)
			  : found < number && found > best)
			best = found;
	}
	if (errno)
		return -errno;
	if (best < 0)
		return -ENOENT;
	*ret_number = (uint32_t)best;
	return 0;
}

int segment_after(int dir_fd, int64_t number, uint32_t *ret_number)
{
	return nearest(dir_fd, number, true, ret_number);
}

int segment_before(int dir_fd, int64_t number, uint32_t *ret_number)
{
	return nearest(dir_fd, number, false, ret_number);
}
