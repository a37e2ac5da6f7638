/* Nothing here reads records: heads of segments, checkpoints and what the recorder noted will do.
 */
#include "trim.h"

#include "record/checkpoints.h"
#include "record/cleanup.h"
#include "record/front.h"
#include "record/segment.h"
#include "record/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A border and what a checkpoint has to say there. */
struct candidate {
	struct trim_border border;
	uint64_t blocks;
	uint8_t last_block[HASH_SIZE];
	bool is_signed;
};

struct candidates {
	struct candidate *list;
	size_t count, room;
};

static void cleanup_candidates(struct candidates *c)
{
	free(c->list);
}

/* ---- borders ---- */

/* The head of segment @number, and the bytes of its file. False: there is none, or it is bent. */
static bool read_head(int dir_fd, uint32_t number, struct segment_head *ret_head,
		      uint64_t *ret_bytes)
{
	uint8_t heads[SEGMENT_HEADS_SIZE];
	char name[SEGMENT_NAME_SIZE];
	struct stat st;

	segment_name(number, "", name);
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    pread(fd, heads, sizeof(heads), 0) != sizeof(heads))
		return false;
	*ret_bytes = (uint64_t)st.st_blocks * 512;
	return segment_head_get(heads, ret_head) ||
	       segment_head_get(heads + SEGMENT_HEAD_SIZE, ret_head);
}

static int add(struct candidates *c, const struct segment_head *head, uint64_t bytes)
{
	struct candidate *larger;

	if (c->count == c->room) {
		c->room = c->room ? 2 * c->room : 16;
		larger = reallocarray(c->list, c->room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		c->list = larger;
	}
	struct candidate *one = &c->list[c->count++];
	*one = (struct candidate){
		.border = {.segments = head->number, .last = head->first_seq - 1, .bytes = bytes},
		.blocks = head->blocks,
	};
	memcpy(one->last_block, head->previous, HASH_SIZE);
	return 0;
}

/* Every segment that has another one before it, without a hole between. */
static int find_candidates(int dir_fd, struct candidates *c)
{
	struct segment_head head;
	struct front front;
	uint64_t bytes, before = 0;
	uint32_t number;
	int64_t at = front_read(dir_fd, &front) == 0 ? (int64_t)front.segments - 1 : -1;
	int r = 0;

	for (bool is_first = true; r == 0 && segment_after(dir_fd, at, &number) == 0;
	     at = number, is_first = false) {
		if (number != at + 1 || !read_head(dir_fd, number, &head, &bytes))
			break;
		if (!is_first && head.first_seq > 1)
			r = add(c, &head, before);
		before += bytes;
	}
	return r;
}

static void take_note(struct candidates *c, struct bytes text, const struct note *note)
{
	for (size_t i = 0; i < c->count; i++) {
		struct candidate *one = &c->list[i];

		if (!note->has_next || note->size != one->border.last ||
		    note->blocks != one->blocks ||
		    memcmp(note->last_block, one->last_block, HASH_SIZE) != 0)
			continue;
		one->is_signed = true;
		one->border.time_ns = note->time_ns;
		hash_bytes(text, one->border.note);
	}
}

/* What the recorder noted of it is what the checkpoint signs. */
static bool is_kept(int dir_fd, const struct candidate *one, const struct note *note)
{
	struct merkle_state state;
	struct merkle *tree;
	uint8_t root[HASH_SIZE];
	bool is_same = false;

	if (turns_find(dir_fd, one->border.last, &state) < 0 || merkle_new(&tree) < 0)
		return false;
	if (merkle_load(tree, &state)) {
		merkle_root(tree, root);
		is_same = !memcmp(root, note->root, HASH_SIZE);
	}
	merkle_free(tree);
	return is_same;
}

static void read_notes(int dir_fd, struct candidates *c)
{
	cleanup(close_fd) int fd =
		openat(dir_fd, CHECKPOINTS_FILE,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[4 * NOTE_MAX];
	size_t size = 0, at = 0;
	off_t next = 0;
	struct note note;

	while (fd >= 0) {
		int length = note_read((struct bytes){text + at, size - at}, &note);

		if (length == -ENODATA) {
			ssize_t n;

			memmove(text, text + at, size - at);
			size -= at;
			at = 0;
			n = pread(fd, text + size, sizeof(text) - size, next);
			if (n <= 0)
				return;
			size += (size_t)n;
			next += n;
			continue;
		}
		if (length < 0)
			return;
		take_note(c, (struct bytes){text + at, (size_t)length}, &note);
		for (size_t i = 0; note.has_next && i < c->count; i++)
			if (c->list[i].border.last == note.size)
				c->list[i].is_signed &= is_kept(dir_fd, &c->list[i], &note);
		at += (size_t)length;
	}
}

int trim_borders(int dir_fd, struct trim_border **ret_borders, size_t *ret_count)
{
	cleanup(candidates) struct candidates c = {0};
	struct trim_border *borders;
	size_t count = 0;
	int r = find_candidates(dir_fd, &c);

	if (r < 0)
		return r;
	if (c.count)
		read_notes(dir_fd, &c);
	borders = calloc(c.count + 1, sizeof(*borders));
	if (!borders)
		return -ENOMEM;
	for (size_t i = 0; i < c.count; i++)
		if (c.list[i].is_signed)
			borders[count++] = c.list[i].border;
	*ret_borders = borders;
	*ret_count = count;
	return 0;
}

/* ---- the removal ---- */

static int open_record(int sessions_fd, const char *session)
{
	int fd = openat(sessions_fd, session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void remove_segments(int dir_fd, uint32_t segments)
{
	char name[SEGMENT_NAME_SIZE];
	uint32_t number;

	for (int64_t at = -1; segment_after(dir_fd, at, &number) == 0 && number < segments;
	     at = number) {
		segment_name(number, "", name);
		if (unlinkat(dir_fd, name, 0) < 0)
			return;
	}
	fsync(dir_fd);
}

static bool has_first(int dir_fd)
{
	cleanup(free) uint8_t *payload = NULL;
	size_t size;

	return turns_first(dir_fd, &payload, &size) == 0;
}

static int note_act(struct clerk *clerk, int dir_fd, const char *session,
		    const struct trim_border *b, const char *reason,
		    const struct clerk_client *client)
{
	char hex[2 * HASH_SIZE + 1];
	uint64_t first = has_first(dir_fd) ? 2 : 1;
	struct event e;

	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", b->note[i]);
	event_init(&e, EVENT_record_retention, 0, 0);
	event_put_u64(&e, FIELD_first, first);
	event_put_u64(&e, FIELD_last, b->last);
	event_put_u64(&e, FIELD_count, b->last + 1 - first);
	event_put_u64(&e, FIELD_segments, b->segments);
	event_put_text(&e, FIELD_reason, reason);
	event_put_u64(&e, FIELD_size, b->bytes);
	event_put_text(&e, FIELD_hash, hex);
	return clerk_note(clerk, LEDGER_TRIM, session, &e, client, true);
}

int trim_record(struct clerk *clerk, int sessions_fd, const char *session,
		const struct trim_border *border, const char *reason,
		const struct clerk_client *client)
{
	cleanup(close_fd) int dir_fd = open_record(sessions_fd, session);
	int r = dir_fd;

	if (r < 0)
		return r;
	if (acts_is_held(clerk_acts(clerk), session))
		return -EBUSY;
	r = note_act(clerk, dir_fd, session, border, reason, client);
	if (r == 0)
		r = front_write(dir_fd, acts_added(clerk_acts(clerk)));
	if (r == 0)
		remove_segments(dir_fd, border->segments);
	return r;
}

void trim_resume(int sessions_fd, const struct act *act)
{
	cleanup(close_fd) int dir_fd = open_record(sessions_fd, act->session);
	struct front front;
	uint8_t hash[HASH_SIZE];

	if (dir_fd < 0)
		return;
	hash_bytes(act->text, hash);
	if (front_read(dir_fd, &front) < 0 || memcmp(front.hash, hash, HASH_SIZE) != 0) {
		if (front_write(dir_fd, act->text) < 0 || front_read(dir_fd, &front) < 0)
			return;
	}
	remove_segments(dir_fd, front.segments);
}
