/*
 * Records in order, holes told.
 */
#include "source.h"

#include <errno.h>
#include <stdlib.h>

struct source {
	struct reader *reader;
	struct session_facts facts;
	uint64_t next_seq;
	bool has_held; /* .event was read and waits behind .gap */
	struct event event, gap;
	struct reader_damage damage;
	bool is_damaged;
	bool is_bent; /* what is missing before the next record was there, and cannot be read */
};

/* What the session said of itself stands in its first record. */
static void read_facts(struct source *s)
{
	if (reader_next(s->reader, &s->event) == READER_RECORD)
		session_facts_take(&s->facts, &s->event);
}

/* True if the journal has, or may have, the record before @next_seq. */
static bool reaches(struct source *s, uint64_t next_seq)
{
	return reader_seek(s->reader, next_seq - 1) == 0 &&
	       reader_next(s->reader, &s->event) != READER_END;
}

int source_open(int dir_fd, uint64_t next_seq, struct source **ret_source, bool *ret_was_ahead)
{
	struct source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = reader_open(dir_fd, &s->reader);
	if (r < 0) {
		free(s);
		return r;
	}
	s->next_seq = next_seq ? next_seq : 1;
	*ret_was_ahead = false;
	if (s->next_seq > 1) {
		read_facts(s);
		*ret_was_ahead = !reaches(s, s->next_seq);
		s->next_seq = *ret_was_ahead ? 1 : s->next_seq;
		r = reader_seek(s->reader, s->next_seq);
	}
	if (r < 0) {
		source_free(s);
		return r;
	}
	*ret_source = s;
	return 0;
}

void source_make_gap(struct event *ret_event, uint64_t first, uint64_t last, uint64_t time_ns,
		     const char *reason)
{
	event_init(ret_event, EVENT_gap, time_ns, 0);
	ret_event->seq = first;
	event_put_text(ret_event, FIELD_class, "journal");
	if (last) {
		event_put_u64(ret_event, FIELD_count, last - first + 1);
		event_put_u64(ret_event, FIELD_first, first);
		event_put_u64(ret_event, FIELD_last, last);
	} else {
		event_put_u64(ret_event, FIELD_first, first);
	}
	event_put_text(ret_event, FIELD_reason, reason);
}

static enum source_state give(struct source *s, struct event *e, uint64_t next_seq,
			      struct event **ret_event)
{
	s->next_seq = next_seq;
	*ret_event = e;
	return SOURCE_RECORD;
}

/* A record was read into s->event: it comes next, or what is missing before it. */
static enum source_state take_record(struct source *s, struct event **ret_event)
{
	session_facts_take(&s->facts, &s->event);
	if (s->event.seq == s->next_seq) {
		s->is_bent = false;
		return give(s, &s->event, s->event.seq + 1, ret_event);
	}
	s->has_held = true;
	source_make_gap(&s->gap, s->next_seq, s->event.seq - 1, s->event.time_ns,
			s->is_bent ? "damaged" : "removed");
	s->is_bent = false;
	return give(s, &s->gap, s->event.seq, ret_event);
}

/* Of what retention removed: what was not given yet. False: all of it was. */
static bool take_removed(struct source *s, struct event **ret_event, enum source_state *ret_state)
{
	uint64_t last = reader_removed(s->reader);

	if (last < s->next_seq)
		return false;
	source_make_gap(&s->gap, s->next_seq, last, s->event.time_ns, "removed by retention");
	*ret_state = give(s, &s->gap, last + 1, ret_event);
	return true;
}

/* The end says how many there were: the last of them may be what cannot be read. */
static enum source_state at_end(struct source *s, struct event **ret_event)
{
	uint64_t end = reader_end_seq(s->reader);

	if (!reader_is_complete(s->reader))
		return SOURCE_END;
	if (end <= s->next_seq)
		return SOURCE_DONE;
	source_make_gap(&s->gap, s->next_seq, end - 1, s->event.time_ns,
			s->is_bent ? "damaged" : "removed");
	s->is_bent = false;
	return give(s, &s->gap, end, ret_event);
}

enum source_state source_next(struct source *s, struct event **ret_event)
{
	enum source_state state;

	if (s->has_held) {
		s->has_held = false;
		return give(s, &s->event, s->event.seq + 1, ret_event);
	}
	for (;;) {
		switch (reader_next(s->reader, &s->event)) {
		case READER_RECORD:
			if (reader_removed(s->reader)) {
				if (take_removed(s, ret_event, &state))
					return state;
				break;
			}
			if (s->event.seq >= s->next_seq)
				return take_record(s, ret_event);
			break;
		case READER_END:
			return at_end(s, ret_event);
		case READER_STOPPED:
			s->damage = *reader_damage(s->reader);
			s->is_damaged = true;
			s->is_bent |= !s->damage.is_missing;
			if (!reader_skip_damage(s->reader))
				return SOURCE_END;
		}
	}
}

uint64_t source_position(const struct source *s)
{
	return s->next_seq;
}

const struct session_facts *source_facts(const struct source *s)
{
	return &s->facts;
}

const struct reader_damage *source_damage(const struct source *s)
{
	return s->is_damaged ? &s->damage : NULL;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	reader_free(s->reader);
	free(s);
}
