/*
 * Holds a journal against its checkpoints: the tree grows with every record that is read, and has
 * to have the root that was signed wherever one was.
 *
 * A place that cannot be read is no proof of a fault by itself: a crash leaves such, and the writer
 * that came after declared it and signed on with the leaf of a lost record in its place. So the
 * tree decides: what was signed has to be there.
 */
#include "verify.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/front.h"
#include "../supervisor/record/merkle.h"
#include "../supervisor/record/reader.h"
#include "../supervisor/record/segment.h"
#include "../supervisor/record/turns.h"
#include "borders.h"
#include "marks.h"
#include "removals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

const char *const verdict_names[] = {"intact", "tampered", "incomplete", "unknown"};

struct check {
	const struct verify_options *options;
	struct verify_result *result;
	struct marks marks;
	size_t mark, block_mark; /* the next to hold the tree and the chain of blocks against */
	struct merkle *tree;
	int dir_fd;
	struct reader *reader;
	bool has_damage;  /* of a place that cannot be read; not declared yet */
	bool expects_gap; /* the next record has to declare it */
	struct reader_damage damage;
	bool has_bad_block;
	enum event_kind last_kind;
	uint64_t last_good; /* size of the last mark that the tree agreed with */
	uint8_t first_leaf[HASH_SIZE];
	struct borders borders;
	int error; /* out of memory */
};

bool verdict_is_worse(enum verdict one, enum verdict other)
{
	static const int rank[] = {[VERIFY_INTACT] = 0,
				   [VERIFY_INCOMPLETE] = 1,
				   [VERIFY_UNKNOWN] = 2,
				   [VERIFY_TAMPERED] = 3};

	return rank[one] > rank[other];
}

void verify_judge(struct verify_result *result, enum verdict verdict, const char *why, ...)
{
	va_list arguments;

	if (!verdict_is_worse(verdict, result->verdict))
		return;
	result->verdict = verdict;
	va_start(arguments, why);
	vsnprintf(result->why, sizeof(result->why), why, arguments);
	va_end(arguments);
}

/* The records from @first on are not what was signed; they are again, or end, after @last. */
static void bad_records(struct check *c, uint64_t first, uint64_t last, const char *why)
{
	struct verify_result *result = c->result;

	if (result->verdict != VERIFY_TAMPERED) {
		result->first_bad = first;
		result->last_bad = last;
	}
	if (first < last)
		verify_judge(result, VERIFY_TAMPERED,
			     "%s; the first bad record is one of %" PRIu64 " to %" PRIu64, why,
			     first, last);
	else
		verify_judge(result, VERIFY_TAMPERED, "%s; the first bad record is %" PRIu64, why,
			     first);
}

/* ---- places that cannot be read ---- */

static void condemn_damage(struct check *c)
{
	struct verify_result *result = c->result;
	uint64_t first = c->damage.after_seq + 1;

	if (result->verdict != VERIFY_TAMPERED) {
		memcpy(result->segment, c->damage.segment, sizeof(result->segment));
		result->offset = c->damage.offset;
	}
	bad_records(c, first, first, c->damage.why);
}

static void note_damage(struct check *c)
{
	if (c->has_damage)
		return;
	c->damage = *reader_damage(c->reader);
	c->has_damage = c->expects_gap = true;
}

/* ---- marks ---- */

static void check_marks(struct check *c)
{
	uint8_t root[HASH_SIZE];

	while (c->mark < c->marks.count && c->marks.list[c->mark].size <= merkle_size(c->tree)) {
		const struct mark *mark = &c->marks.list[c->mark++];

		merkle_root(c->tree, root);
		if (!memcmp(root, mark->root, HASH_SIZE)) {
			c->last_good = mark->size;
			if (mark->is_turn && mark->size == merkle_size(c->tree) && mark->size)
				c->error = c->error ? c->error : borders_add(&c->borders, c->tree);
			continue;
		}
		if (c->has_damage && c->damage.after_seq < mark->size)
			condemn_damage(c);
		bad_records(c, c->last_good + 1, mark->size,
			    "the records are not those that were signed");
	}
}

/* The chain of blocks is the signed one, too: how records stand in the files. */
static void check_blocks(struct check *c)
{
	static const uint8_t none[HASH_SIZE];
	uint64_t blocks = reader_blocks(c->reader);

	while (c->block_mark < c->marks.count && c->marks.list[c->block_mark].blocks <= blocks) {
		const struct mark *mark = &c->marks.list[c->block_mark++];
		const uint8_t *hash = mark->blocks ? reader_last_block(c->reader) : none;

		if (mark->blocks < blocks && mark->blocks)
			continue; /* behind a place that cannot be read */
		if (memcmp(hash, mark->last_block, HASH_SIZE) != 0)
			c->has_bad_block = true;
	}
}

/* ---- records ---- */

static bool is_text(const struct event *e, enum event_field field, const char *text)
{
	struct bytes bytes = event_bytes(e, field);

	return bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

static void copy_hash(const struct event *e, enum event_field field, char ret_hash[65])
{
	struct bytes text = event_bytes(e, field);

	if (text.size == 64)
		snprintf(ret_hash, 65, "%.64s", (const char *)text.data);
}

/* ---- what retention removed ---- */

/* The mark at the border behind the front, which has what is known of all before. */
static const struct mark *border_of(struct check *c, const struct front *front)
{
	for (size_t i = c->mark; i < c->marks.count; i++)
		if (front->has_note && !memcmp(c->marks.list[i].hash, front->note, HASH_SIZE))
			return c->marks.list[i].size == front->last ? &c->marks.list[i] : NULL;
	return NULL;
}

/* The state that was kept is that of the records that were signed, and the first one is of them. */
static bool load_state(struct check *c, const struct front *front, const struct mark *border,
		       int dir_fd)
{
	struct merkle_state state;
	bool has_first = merkle_size(c->tree) == 1;
	uint8_t root[HASH_SIZE];

	if (merkle_size(c->tree) > front->last || turns_find(dir_fd, front->last, &state) < 0 ||
	    !merkle_load(c->tree, &state))
		return false;
	merkle_root(c->tree, root);
	return !memcmp(root, border->root, HASH_SIZE) &&
	       (!has_first || merkle_is_first(&state, c->first_leaf));
}

/* The ledger has to know of it. */
static void judge_removal(struct check *c, const struct front *front, const struct mark *border)
{
	const struct book_line *line =
		c->options->book ? trim_of(c->options->book, c->result->origin, front->hash) : NULL;
	char when[32];

	if (!c->options->book || !c->options->book->count) {
		verify_judge(c->result, VERIFY_UNKNOWN,
			     "there is no ledger that knows whether retention removed its first "
			     "records");
		return;
	}
	if (!line) {
		verify_judge(c->result, VERIFY_TAMPERED,
			     "its first segments are gone, and the ledger knows of no removal");
		return;
	}
	if (!line->is_trusted)
		verify_judge(c->result, VERIFY_UNKNOWN,
			     "no key was given that vouches for the removal of its first records");
	if (line->line.time_ns > border->time_ns)
		c->result->removed_kept_ns = line->line.time_ns - border->time_ns;
	removal_time(&line->line, when);
	verify_judge(c->result, VERIFY_INCOMPLETE,
		     "the records up to %" PRIu64 " were removed by retention, as recorded: line "
		     "%" PRIu64 " of the ledger, %s",
		     front->last, line->line.index + 1, when);
}

static void take_removed(struct check *c)
{
	const struct mark *border;
	struct front front;

	if (front_read(c->dir_fd, &front) < 0)
		return; /* it was there a moment ago: what follows tells */
	border = border_of(c, &front);
	if (!border || !load_state(c, &front, border, c->dir_fd)) {
		bad_records(c, c->last_good + 1, front.last,
			    "what is kept of records that retention removed is not what was "
			    "signed");
		return;
	}
	while (c->mark < c->marks.count && c->marks.list[c->mark].size <= front.last)
		c->mark++;
	c->error = c->error ? c->error : borders_add(&c->borders, c->tree);
	c->last_good = c->result->removed = front.last;
	judge_removal(c, &front, border);
}

static void take_record(struct check *c, const struct event *e)
{
	if (reader_removed(c->reader)) {
		take_removed(c);
		return;
	}
	if (e->seq == 1)
		merkle_leaf(reader_payload(c->reader), c->first_leaf);
	if (e->seq == 1 && !c->error)
		c->error = borders_add_first(&c->borders, reader_payload(c->reader));
	if (e->kind == EVENT_session_start) {
		copy_hash(e, FIELD_policy_sha256, c->result->policy_sha256);
		copy_hash(e, FIELD_redact_rules_sha256, c->result->redact_rules_sha256);
	}
	struct verify_result *result = c->result;

	while (merkle_size(c->tree) + 1 < e->seq) {
		merkle_add_lost(c->tree);
		check_marks(c);
	}
	if (e->seq <= merkle_size(c->tree)) {
		bad_records(c, e->seq, e->seq, "a number comes twice");
		return;
	}
	if (c->expects_gap && e->kind == EVENT_gap && is_text(e, FIELD_class, "journal") &&
	    is_text(e, FIELD_reason, "damaged"))
		c->has_damage = false;
	c->expects_gap = false;
	merkle_add(c->tree, reader_payload(c->reader));
	check_marks(c);
	c->last_kind = e->kind;
	if (e->kind != EVENT_gap)
		return;
	result->gaps++;
	result->lost += event_u64(e, FIELD_count, 0);
}

static void read_records(struct check *c)
{
	enum reader_state state;
	struct event e;

	check_marks(c);
	do {
		state = reader_next(c->reader, &e);
		check_blocks(c);
		if (state == READER_RECORD)
			take_record(c, &e);
		if (state == READER_STOPPED)
			note_damage(c);
	} while (state == READER_RECORD ||
		 (state == READER_STOPPED && reader_skip_damage(c->reader)));
	c->result->records = merkle_size(c->tree);
	if (c->has_damage)
		condemn_damage(c);
}

/* Both heads of a segment stand as they were written, to the last byte. */
static void check_heads(struct check *c, int dir_fd)
{
	uint8_t heads[SEGMENT_HEADS_SIZE], again[SEGMENT_HEAD_SIZE];
	struct segment_head head;
	char name[SEGMENT_NAME_SIZE];
	uint32_t number;

	for (int64_t at = -1; !segment_after(dir_fd, at, &number); at = number) {
		segment_name(number, "", name);
		cleanup(close_fd) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (fd < 0 || pread(fd, heads, sizeof(heads), 0) != sizeof(heads) ||
		    (!segment_head_get(heads, &head) &&
		     !segment_head_get(heads + SEGMENT_HEAD_SIZE, &head)))
			continue; /* the reader tells */
		segment_head_put(&head, again);
		if (memcmp(heads, again, sizeof(again)) != 0 ||
		    memcmp(heads + SEGMENT_HEAD_SIZE, again, sizeof(again)) != 0)
			verify_judge(c->result, VERIFY_TAMPERED,
				     "%s: the two heads are not the same", name);
	}
}

/* ---- the end ---- */

static uint64_t distance(uint64_t one, uint64_t other)
{
	return one > other ? one - other : other - one;
}

static void judge_open(struct check *c, const struct mark *last)
{
	struct verify_result *result = c->result;

	result->is_live = distance(c->options->now_ns, last->time_ns) < VERIFY_LIVE_NS;
	if (result->is_live)
		verify_judge(result, VERIFY_INCOMPLETE, "the session has not ended yet");
	else
		verify_judge(
			result, VERIFY_UNKNOWN,
			"the record has no end and nobody signs it any more: it was cut off, or "
			"its supervisor died; %" PRIu64 " records at its end are not signed",
			result->records - last->size);
}

static void judge_end(struct check *c, const struct mark *last)
{
	struct verify_result *result = c->result;

	result->is_ended = true;
	if (result->records > last->size)
		bad_records(c, last->size + 1, last->size + 1,
			    "records stand behind the signed end");
	if (!reader_is_complete(c->reader))
		verify_judge(result, VERIFY_TAMPERED, "the journal was closed and is open");
	if (c->last_kind != EVENT_session_end)
		verify_judge(result, VERIFY_INCOMPLETE,
			     "the record was closed without the end of the session");
}

/* The ledger itself. */
static void judge_ledger(struct check *c)
{
	const struct book *book = c->options->book;

	if (!book)
		return;
	if (book->bad_line)
		verify_judge(c->result, VERIFY_TAMPERED, "line %" PRIu64 " of the ledger: %s",
			     book->bad_line, book->why);
	if (book->is_foreign && c->options->is_own)
		verify_judge(c->result, VERIFY_TAMPERED,
			     "the ledger was signed by another key than the one that is trusted");
}

static bool has_end(const struct check *c, const uint8_t hash[HASH_SIZE])
{
	for (size_t i = 0; i < c->marks.count; i++)
		if (c->marks.list[i].is_end && !memcmp(c->marks.list[i].hash, hash, HASH_SIZE))
			return true;
	return false;
}

/* What the ledger knows of the end of the session. */
static void judge_ledger_end(struct check *c)
{
	const struct book *book = c->options->book;
	const struct book_line *end;

	if (!book || !book->count)
		return;
	end = book_find(book, LEDGER_END, c->result->origin);
	if (end && !has_end(c, end->line.detail))
		verify_judge(c->result, VERIFY_TAMPERED,
			     "the ledger knows another end of this session");
	else if (!end && c->result->is_ended)
		verify_judge(c->result, VERIFY_INCOMPLETE,
			     "the ledger does not know the end of this session");
}

/* Without a checkpoint nothing is known, unless the ledger knows that there was one. */
static void judge_unsigned(struct check *c)
{
	const struct book *book = c->options->book;

	for (size_t i = 0; book && c->options->session && i < book->count; i++) {
		const struct ledger_line *line = &book->lines[i].line;
		const char *slash = strrchr(line->name, '/');

		if (line->kind == LEDGER_OPEN && slash && !strcmp(slash + 1, c->options->session))
			verify_judge(c->result, VERIFY_TAMPERED,
				     "the ledger knows that the session was signed, and its "
				     "checkpoints are gone");
	}
}

static void judge(struct check *c)
{
	struct verify_result *result = c->result;
	const struct mark *last = c->marks.count ? &c->marks.list[c->marks.count - 1] : NULL;

	judge_ledger(c);
	if (!last) {
		judge_unsigned(c);
		return;
	}
	result->signed_records = last->size;
	memcpy(result->root, last->root, HASH_SIZE);
	if (result->records < last->size)
		bad_records(c, c->last_good + 1, result->records + 1,
			    "records that were signed are missing");
	else if (c->block_mark < c->marks.count)
		verify_judge(result, VERIFY_TAMPERED, "blocks that were signed are missing");
	if (c->has_bad_block)
		verify_judge(result, VERIFY_TAMPERED,
			     "the records stand in other blocks than were signed");
	if (last->is_end)
		judge_end(c, last);
	else
		judge_open(c, last);
	judge_ledger_end(c);
	if (result->gaps)
		verify_judge(result, VERIFY_INCOMPLETE, "the record declares %" PRIu64 " gaps",
			     result->gaps);
}

/* A checkpoint that was kept elsewhere is one mark more. */
static int add_anchor(struct check *c)
{
	const struct note *anchor = c->options->anchor;
	struct mark *list;
	size_t at = 0;

	if (!anchor)
		return 0;
	if (strcmp(anchor->origin, c->result->origin) != 0) {
		verify_judge(c->result, VERIFY_TAMPERED, "the anchor is of another session");
		return 0;
	}
	list = c->marks.list;
	while (at < c->marks.count &&
	       (list[at].size < anchor->size ||
		(list[at].size == anchor->size && list[at].blocks < anchor->blocks)))
		at++;
	if (at == c->marks.count) {
		verify_judge(c->result, VERIFY_TAMPERED,
			     "the anchor is over more records than were signed since");
		return 0;
	}
	if (list[at].size == anchor->size) {
		if (memcmp(list[at].root, anchor->root, HASH_SIZE) != 0)
			verify_judge(c->result, VERIFY_TAMPERED,
				     "the anchor is not what was signed here");
		return 0;
	}

	struct mark *larger = reallocarray(list, c->marks.count + 1, sizeof(*list));
	if (!larger)
		return -ENOMEM;
	c->marks.list = list = larger;
	memmove(&list[at + 1], &list[at], (c->marks.count - at) * sizeof(*list));
	list[at].is_end = list[at].is_opening = false;
	list[at].size = anchor->size;
	memcpy(list[at].root, anchor->root, HASH_SIZE);
	list[at].blocks = list[at + 1].blocks;
	memcpy(list[at].last_block, list[at + 1].last_block, HASH_SIZE);
	c->marks.count++;
	return 0;
}

static void check_session(struct check *c)
{
	const char *session = reader_session(c->reader);
	const char *slash = strrchr(c->result->origin, '/');

	if (session && slash && strcmp(session, slash + 1) != 0)
		verify_judge(c->result, VERIFY_TAMPERED, "the journal is of another session");
}

static int check_journal(struct check *c, int dir_fd)
{
	int r = reader_open(dir_fd, &c->reader);

	c->dir_fd = dir_fd;
	if (r == -ENOENT) {
		if (c->marks.count && c->marks.list[c->marks.count - 1].size)
			verify_judge(c->result, VERIFY_TAMPERED, "the journal is gone");
		else
			verify_judge(c->result, VERIFY_UNKNOWN, "there is no journal");
		return 0;
	}
	if (r)
		return r;
	reader_check_content(c->reader);
	read_records(c);
	check_heads(c, dir_fd);
	check_session(c);
	judge(c);
	return c->error ? c->error : borders_judge(&c->borders, dir_fd, c->result);
}

int verify_session(int dir_fd, const struct verify_options *options,
		   struct verify_result *ret_result)
{
	struct verify_result result = {0};
	struct check c = {.options = options, .result = &result};
	int r = merkle_new(&c.tree);

	if (!r)
		r = marks_read(dir_fd, options, &result, &c.marks);
	if (!r)
		r = add_anchor(&c);
	if (!r)
		r = check_journal(&c, dir_fd);
	reader_free(c.reader);
	merkle_free(c.tree);
	marks_free(&c.marks);
	borders_free(&c.borders);
	if (!r)
		*ret_result = result;
	return r;
}
