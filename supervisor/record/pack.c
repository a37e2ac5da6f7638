/*
 * One segment is in work at a time. A block is read whole, held against its seal, and written as
 * one packed frame; hashes are over the bytes of the block and so stay true.
 */
#include "pack.h"
#include "cleanup.h"
#include "crc32c.h"
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <zlib.h>

#define LEVEL 1 /* the writer of the journal has little time */

struct packer {
	int dir_fd;
	const struct journal_options *options;
	int64_t number;		/* segment in work, or the last that was looked at */
	struct segment *source; /* NULL: none in work */
	int target;
	uint8_t *block; /* frames of the block, its seal included */
	size_t block_size, block_room;
	uint8_t *packed;
	size_t packed_room;
};

int packer_new(int dir_fd, const struct journal_options *options, struct packer **ret_packer)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->dir_fd = dir_fd;
	p->options = options;
	p->number = -1;
	p->target = -1;
	*ret_packer = p;
	return 0;
}

static void temporary_name(const struct packer *p, char ret_name[SEGMENT_NAME_SIZE])
{
	segment_name((uint32_t)p->number, ".tmp", ret_name);
}

/* Leave the segment that is in work as it is. */
static void give_up(struct packer *p)
{
	char name[SEGMENT_NAME_SIZE];

	segment_free(take(p->source));
	if (p->target < 0)
		return;
	close(take_fd(p->target));
	temporary_name(p, name);
	unlinkat(p->dir_fd, name, 0);
}

void packer_free(struct packer *p)
{
	if (!p)
		return;
	give_up(p);
	free(p->block);
	free(p->packed);
	free(p);
}

static int write_all(struct packer *p, const void *data, size_t size)
{
	const struct journal_system *system = p->options->system;
	const uint8_t *at = data;

	while (size) {
		ssize_t n = system->write(system->context, p->target, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_frame(struct packer *p, enum frame_type type, struct bytes payload)
{
	uint8_t head[FRAME_HEAD_SIZE];
	int r;

	frame_head_put(segment_head(p->source)->salt, type, payload, head);
	r = write_all(p, head, sizeof(head));
	return r ? r : write_all(p, payload.data, payload.size);
}

/* Begin with segment p->number. -EALREADY: it is packed, or too small for it. */
static int begin(struct packer *p)
{
	uint8_t heads[SEGMENT_HEADS_SIZE];
	char name[SEGMENT_NAME_SIZE];
	struct frame frame;
	int r = segment_open(p->dir_fd, (uint32_t)p->number, &p->source);

	if (r)
		return r;
	if (segment_size(p->source) < (int64_t)p->options->compress_least)
		return -EALREADY;
	if (segment_next_head(p->source, &frame) != SEGMENT_FRAME || frame.type != FRAME_RECORD)
		return -EALREADY;
	segment_go(p->source, SEGMENT_HEADS_SIZE);

	temporary_name(p, name);
	if (unlinkat(p->dir_fd, name, 0) && errno != ENOENT)
		return -errno;
	p->target =
		openat(p->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (p->target < 0)
		return -errno;
	segment_head_put(segment_head(p->source), heads);
	memcpy(heads + SEGMENT_HEAD_SIZE, heads, SEGMENT_HEAD_SIZE);
	return write_all(p, heads, sizeof(heads));
}

static int keep_frame(struct packer *p, struct bytes frame)
{
	size_t size = p->block_size + frame.size;
	uint8_t *larger;

	if (size > FRAME_PAYLOAD_MAX)
		return -EFBIG;
	if (size > p->block_room) {
		larger = realloc(p->block, 2 * size);
		if (!larger)
			return -ENOMEM;
		p->block = larger;
		p->block_room = 2 * size;
	}
	memcpy(p->block + p->block_size, frame.data, frame.size);
	p->block_size = size;
	return 0;
}

static int pack_block(struct packer *p, const struct seal *seal)
{
	size_t room = PACKED_HEAD_SIZE + compressBound(p->block_size);
	uLongf size = room - PACKED_HEAD_SIZE;
	uint8_t *larger;

	if (p->block_size != seal->bytes + FRAME_HEAD_SIZE + SEAL_SIZE ||
	    crc32c(0, p->block, seal->bytes) != seal->crc)
		return -EBADMSG;
	if (room > p->packed_room) {
		larger = realloc(p->packed, room);
		if (!larger)
			return -ENOMEM;
		p->packed = larger;
		p->packed_room = room;
	}
	packed_head_put(
		&(struct packed_head){
			.first_seq = seal->first_seq,
			.count = seal->count,
			.bytes = p->block_size,
		},
		p->packed);
	if (compress2(p->packed + PACKED_HEAD_SIZE, &size, p->block, p->block_size, LEVEL) != Z_OK)
		return -ENOMEM;
	p->block_size = 0;
	return write_frame(p, FRAME_PACKED, (struct bytes){p->packed, PACKED_HEAD_SIZE + size});
}

/* In the place of the segment, if that is still there: retention may have removed it meanwhile, and
 * then it shall not come again. */
static int take_place(struct packer *p, const char *temporary, const char *name)
{
	if (renameat2(p->dir_fd, temporary, p->dir_fd, name, RENAME_EXCHANGE) == 0)
		return unlinkat(p->dir_fd, temporary, 0) ? -errno : 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* Not on this file system: then as well as can be. */
	if (faccessat(p->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    renameat(p->dir_fd, temporary, p->dir_fd, name))
		return -errno;
	return 0;
}

static int end(struct packer *p, struct bytes finish)
{
	char name[SEGMENT_NAME_SIZE], temporary[SEGMENT_NAME_SIZE];
	int r = write_frame(p, FRAME_FINISH, finish);

	if (r)
		return r;
	if (p->options->system->sync(p->options->system->context, p->target))
		return -errno;
	segment_name((uint32_t)p->number, "", name);
	temporary_name(p, temporary);
	r = take_place(p, temporary, name);
	if (r)
		return r;
	close(take_fd(p->target));
	segment_free(take(p->source));
	return 0;
}

/* One block, or the end of the segment. */
static int step(struct packer *p)
{
	struct frame frame;
	struct seal seal;
	int r;

	while (segment_next_raw(p->source, &frame) == SEGMENT_FRAME) {
		if (frame.type == FRAME_FINISH)
			return p->block_size ? -EBADMSG : end(p, frame.payload);
		if (frame.type == FRAME_PACKED)
			return -EBADMSG;
		r = keep_frame(p, frame.whole);
		if (r)
			return r;
		if (frame.type == FRAME_SEAL)
			return seal_get(frame.payload, &seal) ? pack_block(p, &seal) : -EBADMSG;
	}
	return -EBADMSG;
}

bool packer_step(struct packer *p, uint32_t number)
{
	uint32_t next;

	if (p->source) {
		if (step(p))
			give_up(p);
		return true;
	}
	if (segment_after(p->dir_fd, p->number, &next) || next >= number) {
		free(take(p->block));
		free(take(p->packed));
		p->block_room = p->packed_room = 0;
		return false;
	}
	p->number = next;
	p->block_size = 0;
	if (begin(p))
		give_up(p);
	return true;
}
