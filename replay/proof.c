/*
 * Proofs of single records, made.
 */
#include "proof.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/checkpoints.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/front.h"
#include "../supervisor/record/jansson_cleanup.h"
#include "../supervisor/record/json.h"
#include "../supervisor/record/merkle.h"
#include "../supervisor/record/reader.h"
#include "../supervisor/record/turns.h"
#include "file_text.h"

#include <errno.h>
#include <string.h>

#define CHECKPOINTS_MOST (1u << 30)
#define LEDGER_MOST (256u << 20)
#define LEAVES_MOST (UINT64_C(1) << 26)

static void cleanup_reader(struct reader **reader)
{
	reader_free(*reader);
}

static json_t *base64_json(const void *data, size_t size)
{
	cleanup(free) char *text = malloc(BASE64_LENGTH(size) + 1);

	if (!text)
		return NULL;
	base64_encode(data, size, text);
	return json_stringn(text, BASE64_LENGTH(size));
}

/*
 * The notes that lead to the first one over @least records: *ret_size is its size, *ret_line that
 * of the ledger which vouches for its key.
 */
static int find_notes(struct bytes text, uint64_t least, json_t *notes, uint64_t *ret_size,
		      uint64_t *ret_line)
{
	struct ledger_line line;
	struct note note;

	for (size_t at = 0; at < text.size;) {
		const char *begin = (const char *)text.data + at;
		int length = note_read((struct bytes){begin, text.size - at}, &note);

		if (length < 0)
			return length == -ENODATA ? length : -EBADMSG;
		at += (size_t)length;
		if (note.opened[0]) {
			if (ledger_line_read((struct bytes){note.opened, strlen(note.opened)},
					     &line))
				return -EBADMSG;
			json_array_clear(notes);
			*ret_line = line.index;
		}
		if (note.opened[0] || note.has_next || note.size >= least)
			json_array_append_new(notes, json_stringn(begin, (size_t)length));
		if (note.size >= least) {
			*ret_size = note.size;
			return 0;
		}
	}
	return -ENODATA;
}

/* Lines of the ledger up to number @index. */
static json_t *ledger_until(struct bytes text, uint64_t index)
{
	struct ledger_line line;
	struct bytes one;
	size_t at = 0;

	while (text_line(text, &at, &one))
		if (!ledger_line_read(one, &line) && line.index == index)
			return json_stringn(text.data, at);
	return NULL;
}

struct proof {
	struct merkle_state before;   /* what is known of records that retention removed */
	uint8_t (*leaves)[HASH_SIZE]; /* of those behind */
	json_t *record, *event;	      /* owned */
};

static void cleanup_proof(struct proof *p)
{
	free(p->leaves);
	json_decref(p->record);
	json_decref(p->event);
}

static int keep_record(struct proof *p, const struct reader *reader, const struct event *e)
{
	struct bytes payload = reader_payload(reader);
	struct json_buffer line = {0};
	int r = json_write_event(&line, reader_session(reader), e);

	if (!r) {
		p->record = base64_json(payload.data, payload.size);
		p->event = json_loadb(line.text, line.length, 0, NULL);
		r = p->record && p->event ? 0 : -ENOMEM;
	}
	json_buffer_free(&line);
	return r;
}

static int read_leaves(struct proof *p, int dir_fd, uint64_t seq, uint64_t size)
{
	cleanup(reader) struct reader *reader = NULL;
	struct event e;
	int r = reader_open(dir_fd, &reader);

	if (r)
		return r;
	for (uint64_t n = 0; n < size;) {
		if (reader_next(reader, &e) != READER_RECORD)
			return -EBADMSG;
		if (reader_removed(reader)) {
			n = reader_removed(reader);
			if (n != p->before.size)
				return -EBADMSG;
			continue;
		}
		if (e.seq != ++n)
			return -EBADMSG;
		if (n > p->before.size)
			merkle_leaf(reader_payload(reader), p->leaves[n - 1 - p->before.size]);
		r = e.seq == seq ? keep_record(p, reader, &e) : 0;
		if (r)
			return r;
	}
	return p->record ? 0 : -ENODATA;
}

static json_t *path_json(struct proof *p, uint64_t seq, uint64_t size)
{
	uint8_t path[MERKLE_PATH_MAX][HASH_SIZE];
	int length = merkle_prove_behind(&p->before, (const uint8_t(*)[HASH_SIZE])p->leaves, size,
					 seq - 1, path);
	json_t *array = json_array();

	for (int i = 0; i < length; i++)
		json_array_append_new(array, base64_json(path[i], HASH_SIZE));
	return array;
}

/* What is known of records that retention removed. 0; -ENXIO: @seq is one of them; or -errno. */
static int read_before(struct proof *p, int dir_fd, uint64_t seq)
{
	struct front front;
	int r = front_read(dir_fd, &front);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = turns_find(dir_fd, front.last, &p->before);
	return r < 0 ? r : seq > 1 && seq <= front.last ? -ENXIO : 0;
}

static int make(struct proof *p, int dir_fd, uint64_t seq, uint64_t size)
{
	if (size - p->before.size > LEAVES_MOST)
		return -EFBIG;
	p->leaves = malloc((size - p->before.size + 1) * HASH_SIZE);
	return p->leaves ? read_leaves(p, dir_fd, seq, size) : -ENOMEM;
}

int proof_make(int dir_fd, int ledger_fd, const char *ledger_name, uint64_t seq, json_t **ret_proof)
{
	cleanup(free) char *checkpoints = NULL, *ledger = NULL;
	cleanup(json) json_t *notes = json_array(), *lines = NULL;
	cleanup(proof) struct proof p = {0};
	size_t checkpoints_size, ledger_size;
	uint64_t size = 0, line = 0, least;
	int r = file_read(dir_fd, CHECKPOINTS_FILE, CHECKPOINTS_MOST, &checkpoints,
			  &checkpoints_size);

	if (!r)
		r = file_read(ledger_fd, ledger_name, LEDGER_MOST, &ledger, &ledger_size);
	if (!r)
		r = read_before(&p, dir_fd, seq);
	/* Within what is gone there is no tree any more. */
	least = seq > p.before.size ? seq : p.before.size;
	if (!r)
		r = seq ? find_notes((struct bytes){checkpoints, checkpoints_size}, least, notes,
				     &size, &line)
			: -ENODATA;
	if (!r)
		r = make(&p, dir_fd, seq, size);
	if (r)
		return r;
	lines = ledger_until((struct bytes){ledger, ledger_size}, line);
	if (!lines)
		return -EBADMSG;
	*ret_proof = json_pack("{s:s, s:I, s:O, s:O, s:o, s:O, s:O}", "proof", PROOF_VERSION, "seq",
			       (json_int_t)seq, "record", p.record, "event", p.event, "path",
			       path_json(&p, seq, size), "checkpoints", notes, "ledger", lines);
	return *ret_proof ? 0 : -ENOMEM;
}
