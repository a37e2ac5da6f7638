/*
 * Journals for tests: records numbered from 1, each of which says its own number.
 */
#pragma once

#include "sample.h"
#include "scratch.h"
#include "supervisor/record/journal.h"
#include "supervisor/record/reader.h"

#define SAMPLE_SESSION "0123456789ab"

/* The record that is to have number @seq: a path whose length varies, and the number itself. */
static inline void sample_record(struct redacted *record, uint64_t seq)
{
	static const char path[] = "/workspace/a/rather/long/path/of/a/file/that/was/opened";

	event_init(&record->event, EVENT_file_open, 1000000 * seq, 1000 * seq);
	event_put_u64(&record->event, FIELD_pid, seq);
	event_put_bytes(&record->event, FIELD_path, path, seq * 7 % sizeof(path));
}

static inline bool is_sample_record(const struct event *e, uint64_t seq)
{
	struct redacted record;

	sample_record(&record, seq);
	record.event.seq = seq;
	return same_event(e, &record.event);
}

static inline struct journal *sample_open(const struct scratch *s,
					  const struct journal_options *options)
{
	struct journal_options all = options ? *options : (struct journal_options){0};
	struct journal *j;

	all.session = SAMPLE_SESSION;
	if (journal_open(s->fd, &all, &j))
		abort();
	return j;
}

/* Append the next @count records. */
static inline void sample_append(struct journal *j, size_t count)
{
	while (count--) {
		struct redacted record;
		uint64_t seq;

		sample_record(&record, journal_next_seq(j));
		if (journal_append(j, &record, &seq) || seq + 1 != journal_next_seq(j))
			abort();
	}
}

/* Read all that can be read without skipping; every record must be the one that belongs there. */
static inline enum reader_state sample_read(const struct scratch *s, uint64_t *ret_count,
					    struct reader_damage *ret_damage, bool *ret_complete)
{
	struct reader *r;
	struct event e;
	enum reader_state state;
	uint64_t count = 0;

	*ret_count = 0;
	if (reader_open(s->fd, &r))
		return READER_END;
	while ((state = reader_next(r, &e)) == READER_RECORD) {
		count++;
		if (e.seq != count || (e.kind == EVENT_file_open && !is_sample_record(&e, count)))
			abort();
	}
	*ret_count = count;
	*ret_damage = reader_damage(r) ? *reader_damage(r) : (struct reader_damage){0};
	*ret_complete = reader_is_complete(r);
	reader_free(r);
	return state;
}
