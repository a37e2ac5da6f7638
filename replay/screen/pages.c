/*
 * A cache of pages of packed records; the one that was not used for longest goes first.
 */
#include "pages.h"

#include "../../supervisor/record/codec.h"
#include "../../supervisor/record/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_RECORDS 128
#define PAGE_COUNT 32

struct page {
	uint64_t first; /* number of its first record; 0: free */
	uint64_t used;
	char *bytes; /* owned: the packed records, one behind the other */
	size_t size, room;
	size_t from[PAGE_RECORDS], length[PAGE_RECORDS]; /* length 0: it could not be read */
	const char *why;				 /* static text */
	bool is_open; /* it ends where the journal does, so far */
};

struct pages {
	struct reader *reader;
	uint64_t at; /* number that reader_next gives next, if that is known; 0: it is not */
	uint64_t clock;
	uint64_t removed_first, removed_last; /* 0: nothing was removed */
	struct bytes gap;		      /* in place of them, packed; owned */
	struct page list[PAGE_COUNT];
};

/* The first that is given when what was removed is asked for is the gap in its place. */
static void find_removed(struct pages *p)
{
	struct event e;
	char *packed;

	p->at = 0;
	if (reader_seek(p->reader, 2) < 0 || reader_next(p->reader, &e) != READER_RECORD ||
	    !reader_removed(p->reader))
		return;
	packed = malloc(codec_bound(&e));
	if (!packed)
		return;
	free((void *)p->gap.data);
	p->gap = (struct bytes){packed, codec_encode(&e, e.seq, packed)};
	p->removed_first = event_u64(&e, FIELD_first, 1);
	p->removed_last = e.seq;
}

uint64_t pages_removed(const struct pages *p, uint64_t *ret_first)
{
	*ret_first = p->removed_first;
	return p->removed_last;
}

int pages_open(int dir_fd, struct pages **ret_pages)
{
	struct pages *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = reader_open(dir_fd, &p->reader);
	if (r < 0) {
		pages_free(p);
		return r;
	}
	find_removed(p);
	*ret_pages = p;
	return 0;
}

void pages_free(struct pages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < PAGE_COUNT; i++)
		free(p->list[i].bytes);
	free((void *)p->gap.data);
	reader_free(p->reader);
	free(p);
}

static int page_keep(struct page *page, uint64_t seq, struct bytes payload)
{
	size_t slot = seq - page->first, room = page->room ? page->room : 16384;
	char *larger;

	while (room < page->size + payload.size)
		room *= 2;
	if (room > page->room) {
		larger = realloc(page->bytes, room);
		if (!larger)
			return -ENOMEM;
		page->bytes = larger;
		page->room = room;
	}
	memcpy(page->bytes + page->size, payload.data, payload.size);
	page->from[slot] = page->size;
	page->length[slot] = payload.size;
	page->size += payload.size;
	return 0;
}

/* Fill @page, whose first number is set, from the journal. */
static void page_fill(struct pages *p, struct page *page)
{
	uint64_t end = page->first + PAGE_RECORDS;
	struct event e;

	page->size = 0;
	page->is_open = false;
	page->why = "it is not in the record";
	memset(page->length, 0, sizeof(page->length));
	if (p->at != page->first && reader_seek(p->reader, page->first) < 0)
		return;
	p->at = 0;
	for (;;) {
		enum reader_state state = reader_next(p->reader, &e);

		if (state == READER_END) {
			page->is_open = true;
			return;
		}
		if (state == READER_STOPPED) {
			page->why = reader_damage(p->reader)->why;
			if (!reader_skip_damage(p->reader))
				return;
			continue;
		}
		if (e.seq >= end)
			return;
		if (e.seq >= page->first &&
		    page_keep(page, e.seq,
			      reader_removed(p->reader) ? p->gap : reader_payload(p->reader)) < 0)
			return;
		if (e.seq + 1 == end) {
			p->at = end;
			return;
		}
	}
}

static struct page *page_of(struct pages *p, uint64_t seq)
{
	uint64_t first = (seq - 1) / PAGE_RECORDS * PAGE_RECORDS + 1;
	struct page *oldest = &p->list[0];

	for (size_t i = 0; i < PAGE_COUNT; i++) {
		if (p->list[i].first == first) {
			p->list[i].used = ++p->clock;
			return &p->list[i];
		}
		if (p->list[i].used < oldest->used)
			oldest = &p->list[i];
	}
	oldest->first = first;
	oldest->used = ++p->clock;
	page_fill(p, oldest);
	return oldest;
}

bool pages_get(struct pages *p, uint64_t seq, struct event *ret_event, const char **ret_why)
{
	struct page *page;
	const char *why = "it is not in the record";
	size_t slot;
	bool found = false;

	if (seq) {
		page = page_of(p, seq);
		slot = seq - page->first;
		why = page->why;
		found = page->length[slot] &&
			!codec_decode(
				(struct bytes){page->bytes + page->from[slot], page->length[slot]},
				ret_event, &why);
	}
	if (!found && ret_why)
		*ret_why = why;
	return found;
}

uint64_t pages_last(struct pages *p)
{
	struct event e;
	uint64_t last;

	p->at = 0;
	/* The last block alone is read: nothing in it has so great a number. */
	if (reader_seek(p->reader, UINT64_MAX) < 0)
		return 0;
	for (;;) {
		enum reader_state state = reader_next(p->reader, &e);

		if (state == READER_STOPPED && reader_skip_damage(p->reader))
			continue;
		last = reader_position(p->reader);
		return last;
	}
}

void pages_refresh(struct pages *p)
{
	for (size_t i = 0; i < PAGE_COUNT; i++) {
		if (p->list[i].is_open)
			p->list[i].first = 0;
	}
	find_removed(p);
	p->at = 0;
}
