/*
 * Fuzz: a journal. The first byte says what the rest is: 0, the bytes of a segment; else the
 * payloads of frames {type, 16 bits of length, bytes}, which get right checksums, so that what lies
 * behind these is reached. All that is read can be written as JSON and is read back from it.
 */
#include "supervisor/record/reader.h"
#include "supervisor/record/journal_format.h"
#include "supervisor/record/json.h"
#include "tests/unit/scratch.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SALT 0x1122334455667788
#define STOPS_MOST 1000
#define CHECKED_MOST 16 /* records that are made JSON; the other fuzzer makes more */

struct writing {
	uint8_t *bytes;
	size_t size, room;
};

static uint8_t *more(struct writing *w, size_t size)
{
	if (w->size + size > w->room) {
		w->room = 2 * (w->size + size);
		w->bytes = realloc(w->bytes, w->room);
		if (!w->bytes)
			abort();
	}
	w->size += size;
	return w->bytes + w->size - size;
}

static void put_frame(struct writing *w, enum frame_type type, struct bytes payload)
{
	uint8_t *at = more(w, FRAME_HEAD_SIZE + payload.size);

	frame_head_put(SALT, type, payload, at);
	memcpy(at + FRAME_HEAD_SIZE, payload.data, payload.size);
}

/* What was put since @from becomes one packed frame. */
static void pack(struct writing *w, size_t from)
{
	uLongf size = compressBound(w->size - from);
	uint8_t *payload = malloc(PACKED_HEAD_SIZE + size);

	packed_head_put(&(struct packed_head){.bytes = w->size - from}, payload);
	if (compress2(payload + PACKED_HEAD_SIZE, &size, w->bytes + from, w->size - from, 1))
		abort();
	w->size = from;
	put_frame(w, FRAME_PACKED, (struct bytes){payload, PACKED_HEAD_SIZE + size});
	free(payload);
}

static void put_frames(struct writing *w, const uint8_t *data, size_t size, bool is_packed)
{
	struct segment_head head = {.first_seq = 1, .salt = SALT, .session = "fuzz"};
	uint8_t *at = more(w, SEGMENT_HEADS_SIZE);

	segment_head_put(&head, at);
	segment_head_put(&head, at + SEGMENT_HEAD_SIZE);
	while (size >= 3) {
		size_t length = data[1] | data[2] << 8;
		enum frame_type type = data[0] % 4 + FRAME_RECORD;

		data += 3;
		size -= 3;
		if (length > size)
			length = size;
		put_frame(w, type, (struct bytes){data, length});
		data += length;
		size -= length;
	}
	if (is_packed)
		pack(w, SEGMENT_HEADS_SIZE);
}

static void check_record(struct json_arena *arena, struct json_buffer *line, const struct event *e)
{
	const char *session, *error;
	struct event back;

	line->length = 0;
	if (json_write_event(line, "fuzz", e))
		abort();
	if (memchr(line->text, '\n', line->length) != line->text + line->length - 1)
		abort();
	if (json_read_event(arena, line->text, line->length, &back, &session, &error) ||
	    back.count != e->count || back.seq != e->seq)
		abort();
}

static void read_journal(int dir_fd)
{
	struct json_arena *arena = json_arena_new();
	struct json_buffer line = {0};
	struct reader *r;
	struct event e;
	size_t stops = 0, checked = 0;

	if (reader_open(dir_fd, &r))
		abort();
	for (;;) {
		enum reader_state state = reader_next(r, &e);

		if (state == READER_RECORD && checked++ < CHECKED_MOST)
			check_record(arena, &line, &e);
		else if (state == READER_RECORD)
			continue;
		else if (state == READER_END || stops++ > STOPS_MOST || !reader_skip_damage(r))
			break;
	}
	for (uint64_t seq = 0; seq < 40; seq += 13) {
		if (!reader_seek(r, seq) && reader_next(r, &e) == READER_RECORD && e.seq < seq)
			abort();
	}
	reader_free(r);
	json_buffer_free(&line);
	json_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scratch s;
	struct writing w = {0};

	if (!size)
		return 0;
	s = scratch_new();
	if (*data) {
		put_frames(&w, data + 1, size - 1, *data & 1);
		scratch_write(&s, "000000.vtj", w.bytes, w.size);
	} else {
		scratch_write(&s, "000000.vtj", data + 1, size - 1);
	}
	read_journal(s.fd);
	free(w.bytes);
	scratch_free(&s);
	return 0;
}
