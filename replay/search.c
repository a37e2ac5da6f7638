/*
 * A session in two parts: what is indexed, of which only the stretches are read that may hold what
 * is looked for, and what is behind it, which is read whole and indexed meanwhile.
 */
#include "search.h"

#include "query.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define ENOUGH 1

/* A way through one session. */
struct pass {
	struct search *s;
	const struct manifest *manifest;
	struct reader *reader;
	struct indexed indexed;
	struct stretch *span; /* that is being made */
	struct origin origin;
	uint64_t next; /* what is before it was looked at */
	uint64_t at;   /* where the reader is; 0: nobody knows */
	uint64_t found;
};

/* ---- records ---- */

/* 0, ENOUGH or -errno. */
static int take_record(struct pass *p, const struct event *e)
{
	struct search *s = p->s;

	s->records++;
	if (!s->filter.query || !filter_match(&s->filter, &p->origin, e))
		return 0;
	if (s->limit && s->found_count == s->limit) {
		s->is_cut = true;
		return ENOUGH;
	}
	s->found_count++;
	p->found++;
	return s->found(s->context, p->manifest, &p->origin, e);
}

static int go_to(struct pass *p, uint64_t seq)
{
	int r = p->at == seq ? 0 : reader_seek(p->reader, seq);

	p->at = r < 0 ? 0 : seq;
	return r;
}

/* ---- what is indexed ---- */

static bool can_match(const struct search *s, const struct stretch *span)
{
	const struct moment *since = &s->filter.since, *until = &s->filter.until;

	if (!s->filter.query)
		return false;
	if (since->given && since->absolute && span->to_ns < since->ns)
		return false;
	if (until->given && until->absolute && span->from_ns > until->ns)
		return false;
	return query_can_match(s->filter.query, &span->grams);
}

/* The records of a stretch; where damage took its last ones, one of the next is read and put back.
 */
static int read_stretch(struct pass *p, const struct stretch *span)
{
	struct event e;
	int r = go_to(p, span->first_seq);

	while (r == 0) {
		enum reader_state at = reader_next(p->reader, &e);

		if (at == READER_END || (at == READER_STOPPED && !reader_skip_damage(p->reader)))
			break;
		if (at == READER_STOPPED)
			continue;
		p->at = e.seq > span->last_seq ? 0 : e.seq + 1;
		if (e.seq <= span->last_seq)
			r = take_record(p, &e);
		if (e.seq >= span->last_seq)
			break;
	}
	return r;
}

static int take_stretch(void *context, const struct stretch *span)
{
	struct pass *p = context;
	int r = can_match(p->s, span) ? read_stretch(p, span) : 0;

	if (r == 0)
		p->next = span->last_seq + 1;
	return r;
}

static void drop_index(struct search *s)
{
	search_index_close(s->index);
	s->index = NULL;
}

/* 0, ENOUGH or -errno. An index that turns out to be broken is done without from there on. */
static int read_indexed(struct pass *p, int dir_fd)
{
	struct search *s = p->s;
	int r;

	if (s->index && search_index_find(s->index, p->manifest->id, dir_fd, &p->indexed) < 0)
		drop_index(s);
	if (!s->index || p->indexed.next_seq == 1)
		return 0;
	p->origin = (struct origin){p->indexed.origin_time_ns, p->indexed.origin_boot_ns};
	r = search_index_walk(s->index, &p->indexed, take_stretch, p);
	if (r != -EBADMSG)
		return r;
	drop_index(s);
	p->indexed.is_whole = false;
	p->indexed.damages = 0;
	return 0;
}

/* ---- what is behind ---- */

static void index_record(struct pass *p, const struct event *e)
{
	struct search *s = p->s;

	if (!s->index)
		return;
	stretch_add(p->span, e);
	p->indexed.next_seq = e->seq + 1;
	if (!stretch_is_full(p->span))
		return;
	search_index_add(s->index, &p->indexed, p->span);
	stretch_begin(p->span, e->seq + 1);
}

static int read_behind(struct pass *p)
{
	bool has_origin = p->next > 1;
	struct event e;
	int r = 0;

	while (r == 0) {
		enum reader_state at = reader_next(p->reader, &e);

		if (at == READER_END)
			break;
		if (at == READER_STOPPED) {
			p->indexed.damages++;
			if (!reader_skip_damage(p->reader))
				break;
			continue;
		}
		if (!has_origin)
			p->origin = (struct origin){e.time_ns, e.boot_ns};
		has_origin = true;
		r = take_record(p, &e);
		if (r == 0)
			index_record(p, &e);
	}
	return r;
}

/* All of it is indexed, or nothing. */
static int read_and_index(struct pass *p)
{
	struct search *s = p->s;
	int r = p->next > 1 ? go_to(p, p->next) : 0;

	if (r < 0)
		return r;
	if (s->index)
		search_index_begin(s->index, p->manifest->id, &p->indexed);
	stretch_begin(p->span, p->next);
	r = read_behind(p);
	if (!s->index)
		return r;
	if (r != 0) {
		search_index_cancel(s->index);
		return r;
	}
	p->indexed.origin_time_ns = p->origin.time_ns;
	p->indexed.origin_boot_ns = p->origin.boot_ns;
	if (p->span->records)
		search_index_add(s->index, &p->indexed, p->span);
	search_index_commit(s->index, &p->indexed);
	return 0;
}

/* ---- sessions ---- */

static int search_session(struct search *s, int state_fd, const struct manifest *m,
			  struct stretch *span)
{
	struct pass p = {
		.s = s, .manifest = m, .span = span, .next = 1, .indexed = {.next_seq = 1}};
	cleanup(close_fd) int dir_fd = -1;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "sessions/%s", m->id);
	dir_fd = openat(state_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0 || reader_open(dir_fd, &p.reader) < 0) {
		s->unreadable++;
		return 0;
	}
	s->sessions++;
	r = read_indexed(&p, dir_fd);
	if (r == 0 && !p.indexed.is_whole)
		r = read_and_index(&p);
	s->damaged += p.indexed.damages > 0;
	s->sessions_found += p.found > 0;
	reader_free(p.reader);
	return r;
}

/* A session whose whole time lies outside of what was asked for needs no look. */
static bool session_can_match(const struct search *s, const struct manifest *m)
{
	const struct moment *since = &s->filter.since, *until = &s->filter.until;

	if (!s->filter.query)
		return true;
	if (since->given && since->absolute && m->state == SESSION_ENDED &&
	    m->ended_ns + NS_PER_S < since->ns)
		return false;
	return !(until->given && until->absolute && m->started_ns > until->ns + NS_PER_S);
}

int search_all(struct search *s, int state_fd)
{
	struct stretch span; /* the one that is being made */
	struct manifest *list;
	size_t count, unreadable;
	int r = store_list(state_fd, &list, &count, &unreadable);

	if (r < 0)
		return r;
	s->unreadable = unreadable;
	if (s->index)
		search_index_prune(s->index, list, count);
	for (size_t i = count; r == 0 && i--;) {
		if (session_can_match(s, &list[i]))
			r = search_session(s, state_fd, &list[i], &span);
	}
	store_list_free(list, count);
	return r < 0 ? r : 0;
}

void search_end(struct search *s)
{
	drop_index(s);
}
