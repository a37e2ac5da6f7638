/*
 * Reads the file `checkpoints`.
 */
#include "marks.h"

#include "../supervisor/record/checkpoints.h"
#include "../supervisor/record/cleanup.h"
#include "file_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CHECKPOINTS_MOST (1u << 30)

struct notes {
	const struct verify_options *options;
	struct verify_result *result;
	struct marks marks;
	size_t room;
	bool has_key; /* whose turn it is is known */
	uint8_t key[SIGN_PUBLIC_SIZE];
	uint8_t last[HASH_SIZE];
	bool has_ended;
};

void marks_free(struct marks *marks)
{
	free(marks->list);
	*marks = (struct marks){0};
}

static void bad(struct notes *s, const char *why)
{
	verify_judge(s->result, VERIFY_TAMPERED, "checkpoint %" PRIu64 ": %s",
		     s->result->checkpoints + 1, why);
}

/* A key of the host vouches for a new key of the session. False: it does not. */
static bool take_opened(struct notes *s, const struct note *note)
{
	struct bytes text = {note->opened, strlen(note->opened)};
	static const struct book none = {0};
	const struct book *book = s->options->book ? s->options->book : &none;
	struct ledger_line line;
	const uint8_t *public;
	bool is_trusted = false;

	if (ledger_line_read(text, &line) || line.kind != LEDGER_OPEN ||
	    strcmp(line.name, note->origin) != 0 ||
	    memcmp(line.detail, note->key, sizeof(note->key)) != 0)
		return bad(s, "what vouches for its key speaks of another one"), false;
	public = book_public(book, s->options->keys, line.index, &is_trusted);
	if (public && !ledger_line_is_signed(text, &line, public))
		return bad(s, "what vouches for its key was not signed by the host's key"), false;
	if (!public)
		verify_judge(s->result, VERIFY_UNKNOWN,
			     "the ledger that leads to the host's key %" PRIu64 " is not there",
			     line.index);
	else if (!is_trusted)
		verify_judge(s->result, VERIFY_UNKNOWN,
			     "no key was given that vouches for the host's key %" PRIu64,
			     line.index);
	if (!s->result->generations++)
		s->result->ledger_index = line.index;
	memcpy(s->key, note->key, sizeof(s->key));
	s->has_key = true;
	s->result->keys++;
	return true;
}

static bool take_chain(struct notes *s, const struct note *note)
{
	const struct marks *marks = &s->marks;

	if (!marks->count && note->has_previous)
		return bad(s, "those before it are missing"), false;
	if (!marks->count && !note->opened[0])
		return bad(s, "nothing vouches for its key"), false;
	if (marks->count &&
	    (!note->has_previous || memcmp(note->previous, s->last, HASH_SIZE) != 0))
		return bad(s, "it does not name the one before it"), false;
	if (marks->count && strcmp(note->origin, s->result->origin) != 0)
		return bad(s, "it is of another session"), false;
	if (marks->count && note->size < marks->list[marks->count - 1].size)
		return bad(s, "it is over fewer records than the one before it"), false;
	if (s->has_ended && !note->opened[0])
		return bad(s, "it stands behind the end"), false;
	return true;
}

/* The id behind the host's name. */
static const char *session_of(const char *origin)
{
	const char *slash = strrchr(origin, '/');

	return slash ? slash + 1 : origin;
}

static bool take_origin(struct notes *s, const struct note *note)
{
	if (s->marks.count)
		return true;
	memcpy(s->result->origin, note->origin, sizeof(s->result->origin));
	if (!s->options->session || !strcmp(session_of(note->origin), s->options->session))
		return true;
	return bad(s, "it is of another session"), false;
}

static int add_mark(struct notes *s, const struct note *note)
{
	struct mark *larger;

	if (s->marks.count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		larger = reallocarray(s->marks.list, s->room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		s->marks.list = larger;
	}
	struct mark *mark = &s->marks.list[s->marks.count++];
	*mark = (struct mark){
		.size = note->size,
		.time_ns = note->time_ns,
		.blocks = note->blocks,
		.is_end = note->is_end,
		.is_opening = note->opened[0] != 0,
		.is_turn = note->has_next,
	};
	memcpy(mark->root, note->root, HASH_SIZE);
	memcpy(mark->last_block, note->last_block, HASH_SIZE);
	s->result->checkpoints++;
	return 0;
}

/* 1: it is good; 0: it is not; or -ENOMEM. */
static int take_note(struct notes *s, struct bytes text, const struct note *note)
{
	int r;

	if (!take_origin(s, note) || !take_chain(s, note))
		return 0;
	if (note->opened[0] && !take_opened(s, note))
		return 0;
	if (!s->has_key || memcmp(note->key, s->key, sizeof(s->key)) != 0)
		return bad(s, "it was signed by a key whose turn it was not"), 0;
	if (!note_is_signed(text, note))
		return bad(s, "its signature is wrong"), 0;
	r = add_mark(s, note);
	if (r)
		return r;
	if (note->has_next) {
		memcpy(s->key, note->next, sizeof(s->key));
		s->result->keys++;
	}
	s->has_ended = note->is_end;
	hash_bytes(text, s->last);
	memcpy(s->marks.list[s->marks.count - 1].hash, s->last, HASH_SIZE);
	return 1;
}

static int read_notes(struct notes *s, struct bytes text)
{
	const char *at = text.data, *end = at + text.size;
	struct note note;

	while (at < end) {
		int r, length = note_read((struct bytes){at, (size_t)(end - at)}, &note);

		if (length == -ENODATA) {
			verify_judge(s->result, VERIFY_INCOMPLETE,
				     "the last checkpoint has no end");
			break;
		}
		if (length < 0) {
			bad(s, "it is not a checkpoint");
			break;
		}
		r = take_note(s, (struct bytes){at, (size_t)length}, &note);
		if (r <= 0)
			return r;
		at += length;
	}
	return 0;
}

int marks_read(int dir_fd, const struct verify_options *options, struct verify_result *result,
	       struct marks *ret_marks)
{
	cleanup(free) char *text = NULL;
	struct notes s = {.options = options, .result = result};
	size_t size = 0;
	int r = file_read(dir_fd, CHECKPOINTS_FILE, CHECKPOINTS_MOST, &text, &size);

	*ret_marks = (struct marks){0};
	if (r == -ENOENT || (!r && !size)) {
		verify_judge(result, VERIFY_UNKNOWN, "there are no checkpoints");
		return 0;
	}
	if (!r)
		r = read_notes(&s, (struct bytes){text, size});
	if (r) {
		marks_free(&s.marks);
		return r;
	}
	memcpy(result->last_note, s.last, HASH_SIZE);
	*ret_marks = s.marks;
	return 0;
}
