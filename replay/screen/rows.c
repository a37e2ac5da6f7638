/*
 * Which records are lines of the list, and where the person is among them.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a person hides with one key: what every program does all the time. */
#define NOISE                                                                                      \
	"(kind:process.fork or kind:checkpoint or kind:session.pause or kind:session.resume or "   \
	"(kind:process.exit exit:0) or (kind:net.unix act:pair) or unix.path:*/nscd/socket)"

uint64_t rows_next(const struct screen *s, uint64_t seq)
{
	if (s->is_filtered)
		return numbers_next(&s->filter.found, seq);
	uint64_t first, removed = pages_removed(s->pages, &first);

	/* All that was removed is one line. */
	if (seq + 1 >= first && seq + 1 < removed)
		return removed;
	return seq < s->last ? seq + 1 : 0;
}

uint64_t rows_before(const struct screen *s, uint64_t seq)
{
	if (s->is_filtered)
		return numbers_before(&s->filter.found, seq);
	uint64_t first, removed = pages_removed(s->pages, &first);

	if (seq > first && seq <= removed)
		return first - 1;
	return seq > s->last ? s->last : seq > 1 ? seq - 1 : 0;
}

void rows_go(struct screen *s, uint64_t seq)
{
	uint64_t row = rows_next(s, seq ? seq - 1 : 0);

	if (!row)
		row = rows_before(s, seq);
	if (row)
		s->cursor = row;
}

void rows_settle(struct screen *s)
{
	if (!s->settles || !s->is_filtered)
		return;
	if (numbers_has(&s->filter.found, s->cursor)) {
		s->settles = false;
	} else if (numbers_next(&s->filter.found, s->cursor)) {
		s->cursor = numbers_next(&s->filter.found, s->cursor);
		s->settles = false;
	} else if (scan_is_through(&s->filter, s->last)) {
		rows_go(s, s->cursor);
		s->settles = false;
	}
}

/* "(text) not NOISE": what the scan looks for. NULL: everything. */
static char *whole_query(const struct screen *s, bool *ret_failed)
{
	char *text = NULL;
	int n = 0;

	if (s->hides_noise && s->filter_text.size)
		n = asprintf(&text, "(%s) and not " NOISE, s->filter_text.text);
	else if (s->hides_noise)
		n = asprintf(&text, "not " NOISE);
	else if (s->filter_text.size)
		n = asprintf(&text, "%s", s->filter_text.text);
	*ret_failed = n < 0;
	return n > 0 ? text : NULL;
}

int rows_filter(struct screen *s)
{
	struct query_error error;
	struct query *alone = NULL;
	bool failed;
	char *text;
	int r;

	/* By itself first, so that an error is told by its place in what was typed. */
	r = query_parse(s->filter_text.text, &alone, &error);
	query_free(alone);
	if (r == -EINVAL) {
		say(s, true, "filter, character %zu: %s", error.position + 1, error.why);
		return 0;
	}
	text = whole_query(s, &failed);
	if (failed || r < 0)
		return -ENOMEM;
	s->is_filtered = s->settles = text != NULL;
	if (!text) {
		scan_close(&s->filter);
		return 0;
	}
	r = scan_open(&s->filter, s->session->dir_fd, text, s->cursor > 500 ? s->cursor - 500 : 1,
		      &error);
	free(text);
	if (r == -EINVAL) {
		say(s, true, "filter: %s", error.why);
		s->is_filtered = false;
		return 0;
	}
	return r;
}

int rows_narrow(struct screen *s, const char *term, bool opposite)
{
	bool has_more = s->filter_text.size > 0;
	char *text;
	int n;

	/* Parentheses, because the text may have an "or" in it. */
	if (has_more && strstr(s->filter_text.text, " or "))
		n = asprintf(&text, "(%s) %s%s", s->filter_text.text, opposite ? "not " : "", term);
	else
		n = asprintf(&text, "%s%s%s%s", s->filter_text.text, has_more ? " " : "",
			     opposite ? "not " : "", term);
	if (n < 0)
		return -ENOMEM;
	if (strlen(text) > PROMPT_MAX)
		say(s, true, "the filter would be too long");
	else
		prompt_set(&s->filter_text, text);
	free(text);
	return rows_filter(s);
}

int rows_search(struct screen *s, const char *text)
{
	struct query_error error;
	int r;

	if (!*text) {
		scan_close(&s->search);
		s->search_step = 0;
		return 0;
	}
	r = scan_open(&s->search, s->session->dir_fd, text, s->cursor, &error);
	if (r == -EINVAL) {
		say(s, true, "search, character %zu: %s", error.position + 1, error.why);
		return 0;
	}
	return r < 0 ? r : rows_find(s, 1);
}

/* Holes are found by every scan; a search wants what it asked for, and what the filter shows. */
static uint64_t found_beside(struct screen *s, int direction)
{
	uint64_t seq = s->cursor;

	for (;;) {
		struct event e;

		seq = direction > 0 ? numbers_next(&s->search.found, seq)
				    : numbers_before(&s->search.found, seq);
		if (!seq || ((!s->is_filtered || numbers_has(&s->filter.found, seq)) &&
			     pages_get(s->pages, seq, &e, NULL) &&
			     query_match(s->search.query, &s->origin, &e)))
			return seq;
	}
}

void rows_find_again(struct screen *s)
{
	uint64_t seq = s->search_step ? found_beside(s, s->search_step) : 0;

	if (!s->search_step)
		return;
	if (seq) {
		s->cursor = seq;
		s->search_step = 0;
		say(s, false, "found");
	} else if (scan_is_through(&s->search, s->last)) {
		s->search_step = 0;
		say(s, true, "nothing more is found");
	}
}

int rows_find(struct screen *s, int direction)
{
	if (!scan_is_open(&s->search)) {
		say(s, true, "nothing was searched for yet: press /");
		return 0;
	}
	s->search_step = direction;
	rows_find_again(s);
	return 0;
}
