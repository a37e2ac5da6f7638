/*
 * Takes in record after record.
 */
#include "survey.h"

#include "../../supervisor/record/attack.h"
#include "../../supervisor/record/reader.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define RECORDS_A_LOOK 64 /* between two looks at the clock */

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int survey_open(int dir_fd, struct survey *s)
{
	*s = (struct survey){.tree = tree_new()};
	return s->tree ? reader_open(dir_fd, &s->reader) : -ENOMEM;
}

void survey_close(struct survey *s)
{
	for (size_t i = 0; i < LANDMARK_COUNT; i++)
		numbers_clear(&s->landmarks[i]);
	numbers_clear(&s->whole);
	tree_free(s->tree);
	reader_free(s->reader);
	*s = (struct survey){0};
}

static bool text_is(const struct event *e, enum event_field field, const char *word)
{
	struct bytes text = event_bytes(e, field);

	return text.size == strlen(word) && !memcmp(text.data, word, text.size);
}

static bool is_denial(const struct event *e)
{
	return e->kind == EVENT_attempt || e->kind == EVENT_limit ||
	       (e->kind == EVENT_egress_verdict && !text_is(e, FIELD_verdict, "allow"));
}

static bool is_stream(const struct event *e)
{
	return e->kind == EVENT_output ||
	       (e->kind == EVENT_exec_start && event_get(e, FIELD_rows)) ||
	       (e->kind == EVENT_input && event_get(e, FIELD_rows));
}

static bool is_landmark(enum landmark which, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];

	switch (which) {
	case LANDMARK_GAP:
		return e->kind == EVENT_gap ||
		       (e->kind == EVENT_coverage && text_is(e, FIELD_state, "lost"));
	case LANDMARK_DENIAL:
		return is_denial(e);
	case LANDMARK_REDACTED:
		return event_get(e, FIELD_redacted) != NULL;
	case LANDMARK_STREAM:
		return is_stream(e);
	case LANDMARK_ATTACK:
		return attack_tags(e, tags) > 0;
	case LANDMARK_COUNT:
		break;
	}
	return false;
}

static int take(struct survey *s, const struct event *e)
{
	int r = numbers_add(&s->whole, e->seq);

	if (!s->has_origin)
		s->origin = (struct origin){e->time_ns, e->boot_ns};
	s->has_origin = true;
	s->has_end |= e->kind == EVENT_session_end;
	s->seq = e->seq;
	s->last_boot_ns = e->boot_ns > s->last_boot_ns ? e->boot_ns : s->last_boot_ns;
	lanes_add(&s->lanes, origin_elapsed(&s->origin, e), e);
	for (size_t i = 0; r == 0 && i < LANDMARK_COUNT; i++)
		if (is_landmark((enum landmark)i, e))
			r = numbers_add(&s->landmarks[i], e->seq);
	return r ? r : tree_add(s->tree, e, true);
}

/* The first record behind damage is where a person looks for it. */
static int take_damage(struct survey *s)
{
	const struct reader_damage *damage = reader_damage(s->reader);

	s->damages++;
	return numbers_add(&s->landmarks[LANDMARK_GAP], damage->after_seq + 1);
}

int survey_step(struct survey *s, uint64_t budget_ns)
{
	uint64_t end = monotonic_ns() + budget_ns;
	struct event e;
	int r = 0;

	for (unsigned int i = 1; r == 0; i++) {
		enum reader_state state = reader_next(s->reader, &e);

		if (state == READER_END)
			return 0;
		if (state == READER_RECORD) {
			r = take(s, &e);
		} else {
			r = take_damage(s);
			if (r == 0 && !reader_skip_damage(s->reader))
				return 0;
		}
		if (r == 0 && i % RECORDS_A_LOOK == 0 && monotonic_ns() >= end)
			return 1;
	}
	return r;
}
