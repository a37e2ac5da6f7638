/*
 * Held records and their growing tails. A hold is one record that waits; there are few, because on
 * one CPU the chunks follow their record at once.
 */
#include "join.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS 16
#define PATIENCE_NS 1000000000ull
#define KEEP_ROOM (256 * 1024) /* what a tail may keep of its memory for the next record */

struct tail {
	uint8_t *data; /* owned */
	size_t size, room;
	uint64_t end; /* of the farthest piece that is known of */
	bool grown;   /* it lies here and no longer in the record's copy */
};

struct hold {
	bool used;
	uint64_t position;
	uint64_t copy[WIRE_LENGTH_MAX / sizeof(uint64_t)]; /* of the record, aligned as it was */
	struct wire_record record;
	struct tail tails[WIRE_TAILS_MAX];
	size_t last_tail; /* that a chunk went on; the longest one before the first chunk */
};

struct join {
	struct join_options options;
	size_t room; /* of all tails together */
	struct hold *holds[HOLDS];
	size_t used;
};

int join_new(const struct join_options *options, struct join **ret_join)
{
	struct join *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->options = *options;
	*ret_join = j;
	return 0;
}

static void free_tail(struct join *j, struct tail *tail)
{
	free(tail->data);
	j->room -= tail->room;
	*tail = (struct tail){0};
}

void join_free(struct join *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < HOLDS; i++) {
		if (!j->holds[i])
			continue;
		for (size_t t = 0; t < WIRE_TAILS_MAX; t++)
			free_tail(j, &j->holds[i]->tails[t]);
		free(j->holds[i]);
	}
	free(j);
}

/* ---- a hold's life ---- */

static const struct wire_head *head_of(const struct hold *h)
{
	return h->record.head;
}

/* The tail that goes on in chunks, as long as none has said which. */
static size_t longest_tail(const struct wire_record *record)
{
	size_t longest = 0;

	for (size_t t = 1; t < record->tail_count; t++)
		if (record->tails[t].size > record->tails[longest].size)
			longest = t;
	return longest;
}

static void hold_record(struct hold *h, const struct wire_record *record)
{
	const uint8_t *from = (const uint8_t *)record->head;

	memcpy(h->copy, from, record->head->length);
	h->record = *record;
	h->record.head = (const struct wire_head *)h->copy;
	h->last_tail = longest_tail(record);
	for (size_t t = 0; t < record->tail_count; t++) {
		const struct bytes *tail = &record->tails[t];

		h->record.tails[t].data = (uint8_t *)h->copy + ((const uint8_t *)tail->data - from);
		h->tails[t].size = 0;
		h->tails[t].grown = false;
		h->tails[t].end = tail->size;
	}
}

/* Let the record go. What came of it is told, what did not is counted. */
static int pass(struct join *j, struct hold *h, bool complete)
{
	struct wire_record *record = &h->record;

	for (size_t t = 0; t < record->tail_count; t++) {
		struct tail *tail = &h->tails[t];

		if (tail->grown)
			record->tails[t] = (struct bytes){tail->data, tail->size};
		record->missing[t] = tail->end - record->tails[t].size;
	}
	if (!complete && record->tail_count > 0 && record->missing[h->last_tail] == 0)
		record->missing[h->last_tail] = 1;

	h->used = false;
	j->used--;
	int r = j->options.emit(j->options.context, record);

	for (size_t t = 0; t < record->tail_count; t++)
		if (h->tails[t].room > KEEP_ROOM)
			free_tail(j, &h->tails[t]);
	return r;
}

static struct hold *oldest(const struct join *j)
{
	struct hold *best = NULL;

	for (size_t i = 0; i < HOLDS; i++) {
		struct hold *h = j->holds[i];
		if (h && h->used && (!best || h->position < best->position))
			best = h;
	}
	return best;
}

static int take_hold(struct join *j, struct hold **ret_hold)
{
	int r = 0;

	if (j->used == HOLDS)
		r = pass(j, oldest(j), false);
	if (r < 0)
		return r;

	for (size_t i = 0; i < HOLDS; i++) {
		if (!j->holds[i])
			j->holds[i] = calloc(1, sizeof(**j->holds));
		if (!j->holds[i])
			return -ENOMEM;
		if (j->holds[i]->used)
			continue;
		j->holds[i]->used = true;
		j->used++;
		*ret_hold = j->holds[i];
		break;
	}
	return 0;
}

/* ---- tails ---- */

/* Room for @size bytes in all, within the bounds. */
static bool grow(struct join *j, struct tail *tail, size_t size)
{
	size_t room = tail->room ? tail->room : WIRE_LENGTH_MAX;

	if (size > JOIN_VALUE_MAX)
		return false;
	while (room < size)
		room *= 2;
	if (room == tail->room)
		return true;
	if (j->room - tail->room + room > JOIN_SESSION_MAX)
		return false;

	uint8_t *data = realloc(tail->data, room);
	if (!data)
		return false;
	j->room += room - tail->room;
	tail->data = data;
	tail->room = room;
	return true;
}

static bool append(struct join *j, struct tail *tail, const void *data, size_t size)
{
	if (!grow(j, tail, tail->size + size))
		return false;
	if (size > 0)
		memcpy(tail->data + tail->size, data, size);
	tail->size += size;
	return true;
}

static void add_chunk(struct join *j, struct hold *h, const struct wire_record *chunk)
{
	const struct wire_chunk *head = (const struct wire_chunk *)chunk->head;
	struct bytes piece = chunk->tails[0];

	if (head->tail >= h->record.tail_count || head->offset > JOIN_SESSION_MAX)
		return;

	struct tail *tail = &h->tails[head->tail];
	struct bytes first = h->record.tails[head->tail];
	uint64_t kept = tail->grown ? tail->size : first.size;

	h->last_tail = head->tail;
	if (head->offset + piece.size > tail->end)
		tail->end = head->offset + piece.size;
	if (head->offset != kept)
		return;
	if (!tail->grown) {
		if (!append(j, tail, first.data, first.size))
			return;
		tail->grown = true;
	}
	append(j, tail, piece.data, piece.size);
}

/* ---- records ---- */

static int pass_chunk(struct join *j, const struct wire_record *chunk)
{
	const struct wire_chunk *head = (const struct wire_chunk *)chunk->head;

	for (size_t i = 0; i < HOLDS && j->used > 0; i++) {
		struct hold *h = j->holds[i];

		if (!h || !h->used || head_of(h)->class != head->head.class ||
		    head_of(h)->cpu != head->head.cpu || head_of(h)->number != head->of)
			continue;
		add_chunk(j, h, chunk);
		if (head->head.flags & WIRE_FLAG_CONTINUED)
			return 0;
		return pass(j, h, true);
	}
	return 0;
}

/* What waits on the same CPU and class waits in vain. */
static int pass_earlier(struct join *j, const struct wire_head *head)
{
	for (size_t i = 0; i < HOLDS && j->used > 0; i++) {
		struct hold *h = j->holds[i];

		if (!h || !h->used || head_of(h)->class != head->class ||
		    head_of(h)->cpu != head->cpu || head_of(h)->number > head->number)
			continue;
		int r = pass(j, h, false);
		if (r < 0)
			return r;
	}
	return 0;
}

/* There is no room to wait for the rest: on with what there is, and that it is not all. */
static int pass_cut(struct join *j, const struct wire_record *record)
{
	struct wire_record cut = *record;

	if (cut.tail_count > 0)
		cut.missing[longest_tail(record)] = 1;
	return j->options.emit(j->options.context, &cut);
}

int join_record(struct join *j, const struct wire_record *record, uint64_t position)
{
	struct hold *h = NULL;

	if (record->head->kind == WIRE_KIND_chunk)
		return pass_chunk(j, record);

	int r = pass_earlier(j, record->head);
	if (r < 0)
		return r;
	if (!(record->head->flags & WIRE_FLAG_CONTINUED))
		return j->options.emit(j->options.context, record);

	r = take_hold(j, &h);
	if (r == -ENOMEM)
		return pass_cut(j, record);
	if (r < 0)
		return r;
	hold_record(h, record);
	h->position = position;
	return 0;
}

int join_settle(struct join *j, uint64_t boot_ns)
{
	for (struct hold *h = oldest(j); h && boot_ns >= head_of(h)->boot_ns + PATIENCE_NS;
	     h = oldest(j)) {
		int r = pass(j, h, false);
		if (r < 0)
			return r;
	}
	return 0;
}

int join_flush(struct join *j)
{
	for (struct hold *h = oldest(j); h; h = oldest(j)) {
		int r = pass(j, h, false);
		if (r < 0)
			return r;
	}
	return 0;
}

uint64_t join_oldest(const struct join *j, uint64_t otherwise)
{
	const struct hold *h = j->used > 0 ? oldest(j) : NULL;

	return h ? h->position : otherwise;
}
