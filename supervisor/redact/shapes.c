/*
 * The automaton (Aho and Corasick, as a full table over classes of bytes) reads each byte once and
 * needs no library; a short field costs what its bytes cost. Patterns are PCRE2, compiled to
 * machine code where the process may have such; each is tried at its keyword and nowhere else.
 */
#include "shapes.h"
#include "../record/hash.h"
#include "candidate.h"
#include "rules.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 64 /* of bytes: all that stand in keywords, and one for the rest */
#define STATES_MOST 16384
#define NONE UINT16_MAX
#define WINDOW 8600 /* no pattern reads further */
#define MATCH_LIMIT 200000
/* A pattern of a policy can take any time for what it does not match: it gets less of it. */
#define MATCH_LIMIT_GIVEN 20000
#define COST_GIVEN 16 /* matches of ours */
#define MARKER_MOST 90

struct keyword {
	uint16_t detector;
	uint8_t length;
	uint16_t next; /* with the same last state */
};

struct state {
	uint16_t fail;
	uint16_t keywords; /* that end here */
	uint16_t suffix;   /* the next state on the way of fail that ends a keyword */
	uint8_t depth;
};

struct shapes {
	uint8_t classes[256]; /* 0: in no keyword */
	uint16_t (*next)[CLASSES];
	bool *is_hit; /* a keyword ends here or at a suffix */
	struct state *states;
	size_t state_count, state_room, keyword_count, class_count;
	struct keyword *list;
	pcre2_match_context *limits, *limits_given;
	struct rules *rules; /* NULL: the table as it is */
	const struct detector *detectors;
	size_t count;
	bool is_borrowed; /* the patterns of the table belong to another one */
	pcre2_code *codes[];
};

struct shape_search {
	const struct shapes *shapes;
	pcre2_match_data *match;
	size_t allowed; /* matches in the text in hand */
	bool is_off[];
};

/* ---- the automaton ---- */

static int class_of(struct shapes *s, unsigned char c)
{
	if (!s->classes[c]) {
		if (s->class_count == CLASSES)
			return -E2BIG;
		s->classes[c] = (uint8_t)s->class_count;
		if (isalpha(c))
			s->classes[toupper(c)] = (uint8_t)s->class_count;
		s->class_count++;
	}
	return s->classes[c];
}

static int add_state(struct shapes *s, uint16_t before, int class)
{
	if (s->state_count == s->state_room)
		return -E2BIG;
	s->states[s->state_count].depth = (uint8_t)(s->states[before].depth + 1);
	s->states[s->state_count].keywords = NONE;
	s->next[before][class] = (uint16_t)s->state_count++;
	return 0;
}

static int add_keyword(struct shapes *s, size_t detector, const char *keyword)
{
	uint16_t state = 0;

	for (const char *c = keyword; *c; c++) {
		int class = class_of(s, (unsigned char)*c);

		if (class < 0)
			return class;
		if (!s->next[state][class]) {
			int r = add_state(s, state, class);

			if (r < 0)
				return r;
		}
		state = s->next[state][class];
	}
	s->list[s->keyword_count] = (struct keyword){(uint16_t)detector, (uint8_t)strlen(keyword),
						     s->states[state].keywords};
	s->states[state].keywords = (uint16_t)s->keyword_count++;
	return 0;
}

static void link_state(struct shapes *s, uint16_t state, uint16_t *queue, size_t *tail)
{
	struct state *here = &s->states[state];
	uint16_t fail = here->fail;

	here->suffix = s->states[fail].keywords != NONE ? fail : s->states[fail].suffix;
	s->is_hit[state] = here->keywords != NONE || here->suffix;
	for (size_t class = 0; class < CLASSES; class ++) {
		uint16_t to = s->next[state][class];
		uint16_t otherwise = state ? s->next[fail][class] : 0;

		if (to) {
			s->states[to].fail = state ? otherwise : 0;
			queue[(*tail)++] = to;
		} else {
			s->next[state][class] = otherwise;
		}
	}
}

/* Room for a state of each byte of each keyword. */
static int make_room(struct shapes *s)
{
	size_t bytes = 1;

	assert(s->count > 0); /* a policy's rules come after ours */
	for (size_t d = 0; d < s->count; d++) {
		for (size_t i = 0; i < DETECTOR_KEYWORDS && s->detectors[d].keywords[i]; i++)
			bytes += strlen(s->detectors[d].keywords[i]);
	}
	if (bytes > STATES_MOST)
		return -E2BIG;
	s->state_room = bytes;
	s->next = calloc(bytes, sizeof(*s->next));
	s->is_hit = calloc(bytes, sizeof(*s->is_hit));
	s->states = calloc(bytes, sizeof(*s->states));
	s->list = calloc(s->count * DETECTOR_KEYWORDS, sizeof(*s->list));
	return s->next && s->is_hit && s->states && s->list ? 0 : -ENOMEM;
}

static int build(struct shapes *s)
{
	int r = make_room(s);
	uint16_t *queue = r == 0 ? calloc(s->state_room, sizeof(*queue)) : NULL;
	size_t head = 0, tail = 1;

	if (r == 0 && !queue)
		r = -ENOMEM;
	s->state_count = s->class_count = 1;
	if (r == 0)
		s->states[0].keywords = NONE;
	/* From the last, so that of those with one keyword the first is tried first. */
	for (size_t d = s->count; r == 0 && d--;) {
		const char *const *keywords = s->detectors[d].keywords;

		for (size_t i = 0; r == 0 && i < DETECTOR_KEYWORDS && keywords[i]; i++)
			r = add_keyword(s, d, keywords[i]);
	}
	while (r == 0 && head < tail)
		link_state(s, queue[head++], queue, &tail);
	free(queue);
	return r;
}

/* ---- patterns ---- */

static bool is_given(const struct shapes *s, size_t detector)
{
	return s->rules && rules_code(s->rules, detector);
}

/* Where no machine code may be made, the pattern is read: slower, and the same. */
static int compile(struct shapes *s, enum shapes_code code, const struct shapes *base)
{
	for (size_t d = 0; d < s->count; d++) {
		int error;
		size_t at;

		if (is_given(s, d))
			s->codes[d] = rules_code(s->rules, d);
		else if (base)
			s->codes[d] = base->codes[d];
		else
			s->codes[d] = rules_compile(s->detectors[d].pattern, &at, &error);
		if (!s->codes[d])
			return -EINVAL;
		if (code == SHAPES_MACHINE_CODE && (!base || is_given(s, d)))
			pcre2_jit_compile(s->codes[d], PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
	}
	return 0;
}

static int set_limits(struct shapes *s)
{
	s->limits = pcre2_match_context_create(NULL);
	s->limits_given = pcre2_match_context_create(NULL);
	if (!s->limits || !s->limits_given)
		return -ENOMEM;
	pcre2_set_match_limit(s->limits, MATCH_LIMIT);
	pcre2_set_match_limit(s->limits_given, MATCH_LIMIT_GIVEN);
	return 0;
}

void shapes_free(struct shapes *s)
{
	if (!s)
		return;
	for (size_t d = 0; !s->is_borrowed && d < s->count; d++)
		pcre2_code_free(s->codes[d]);
	pcre2_match_context_free(s->limits);
	pcre2_match_context_free(s->limits_given);
	rules_free(s->rules);
	free(s->next);
	free(s->is_hit);
	free(s->states);
	free(s->list);
	free(s);
}

/* Takes @rules over in any case. */
static int new_shapes(enum shapes_code code, const struct shapes *base, struct rules *rules,
		      struct shapes **ret_shapes)
{
	size_t count = rules ? rules_count(rules) : detector_count;
	struct shapes *s = calloc(1, sizeof(*s) + count * sizeof(s->codes[0]));
	int r;

	if (!s) {
		rules_free(rules);
		return -ENOMEM;
	}
	s->rules = rules;
	s->detectors = rules ? rules_list(rules) : detectors;
	s->count = count;
	s->is_borrowed = base;
	r = set_limits(s);
	if (r == 0)
		r = build(s);
	if (r == 0)
		r = compile(s, code, base);
	if (r < 0) {
		shapes_free(s);
		return r;
	}
	*ret_shapes = s;
	return 0;
}

int shapes_new(enum shapes_code code, struct shapes **ret_shapes)
{
	return new_shapes(code, NULL, NULL, ret_shapes);
}

int shapes_change(const struct shapes *base, const json_t *changes, struct shapes **ret_shapes,
		  char *why)
{
	struct rules *rules = NULL;
	int r = rules_new(changes, &rules, why);

	if (r == 0) {
		r = new_shapes(SHAPES_MACHINE_CODE, base, rules, ret_shapes);
		if (r < 0)
			snprintf(why, RULES_WHY,
				 "redact_rules: %s; allowed: %d characters of all keywords, of %d "
				 "kinds",
				 strerror(-r), STATES_MOST, CLASSES - 1);
	}
	return r;
}

static void add_text(struct hash *h, const char *text)
{
	hash_add(h, text, strlen(text) + 1);
}

void shapes_digest(uint8_t ret_digest[32])
{
	struct hash h;

	hash_begin(&h);
	for (size_t d = 0; d < detector_count; d++) {
		const uint8_t numbers[] = {detectors[d].check, detectors[d].floor,
					   detectors[d].back};

		add_text(&h, detectors[d].name);
		add_text(&h, detectors[d].pattern);
		for (size_t i = 0; i < DETECTOR_KEYWORDS && detectors[d].keywords[i]; i++)
			add_text(&h, detectors[d].keywords[i]);
		for (size_t i = 0; i < DETECTOR_EXAMPLES && detectors[d].examples[i]; i++)
			add_text(&h, detectors[d].examples[i]);
		hash_add(&h, numbers, sizeof(numbers));
	}
	hash_end(&h, ret_digest);
}

size_t shapes_count(const struct shapes *s)
{
	return s->count;
}

const struct detector *shapes_detector(const struct shapes *s, size_t number)
{
	return &s->detectors[number];
}

size_t shapes_by_name(const struct shapes *s, const char *name)
{
	size_t d = 0;

	while (d < s->count && strcmp(s->detectors[d].name, name) != 0)
		d++;
	return d;
}

/* ---- search ---- */

int shape_search_new(const struct shapes *s, struct shape_search **ret_search)
{
	struct shape_search *q = calloc(1, sizeof(*q) + s->count * sizeof(q->is_off[0]));

	if (!q)
		return -ENOMEM;
	q->shapes = s;
	q->match = pcre2_match_data_create(4, NULL);
	if (!q->match) {
		free(q);
		return -ENOMEM;
	}
	*ret_search = q;
	return 0;
}

void shape_search_free(struct shape_search *q)
{
	if (!q)
		return;
	pcre2_match_data_free(q->match);
	free(q);
}

const struct shapes *shape_search_shapes(const struct shape_search *q)
{
	return q->shapes;
}

void shape_search_switch_off(struct shape_search *q, size_t detector)
{
	q->is_off[detector] = true;
}

bool shape_search_is_off(const struct shape_search *q, size_t detector)
{
	return q->is_off[detector];
}

struct search {
	struct shape_search *q;
	struct bytes text;
	bool may_go_on;
	size_t held;
	shape_take *take;
	void *context;
};

/* Over budget: nothing is known of what stands here up to the end of the line, so it goes. */
static int give_up(const struct search *f, size_t detector, size_t start)
{
	const char *at = (const char *)f->text.data + start;
	size_t left = f->text.size - start;
	const char *newline = memchr(at, '\n', left);

	return f->take(f->context,
		       &(struct shape_hit){start, start + (newline ? (size_t)(newline - at) : left),
					   detector, true});
}

/* Group 1 if it is there, else the whole. */
static void span_of_match(const struct search *f, size_t detector, int groups,
			  struct shape_hit *ret_hit)
{
	const size_t *ends = pcre2_get_ovector_pointer(f->q->match);
	bool has_group = groups > 1 && ends[2] != PCRE2_UNSET && ends[3] > ends[2];

	*ret_hit = (struct shape_hit){
		.start = ends[has_group ? 2 : 0],
		.end = ends[has_group ? 3 : 1],
		.detector = detector,
	};
}

/* True if @at lies within a marker of ours: what was cut is not cut again. */
static bool is_in_marker(struct bytes text, size_t at)
{
	static const char head[] = "[REDACTED:";
	const char *t = text.data;
	size_t start = at, end, least = at > MARKER_MOST ? at - MARKER_MOST : 0, colon;

	while (start > least && t[start] != '[')
		start--;
	if (text.size - start < sizeof(head) || memcmp(t + start, head, sizeof(head) - 1) != 0)
		return false;
	end = start + sizeof(head) - 1;
	while (end < text.size && t[end] &&
	       (isalnum((unsigned char)t[end]) || strchr("_.-", t[end])))
		end++;
	colon = end++;
	if (colon >= text.size || t[colon] != ':')
		return false;
	while (end < text.size && isxdigit((unsigned char)t[end]))
		end++;
	return end == colon + 9 && end < text.size && t[end] == ']' && at < end;
}

/* A keyword of @detector begins at @at. */
static int look(struct search *f, size_t detector, size_t at)
{
	const struct shapes *s = f->q->shapes;
	const struct detector *d = &s->detectors[detector];
	bool given = is_given(s, detector);
	size_t start = at >= d->back ? at - d->back : at, size = f->text.size;
	bool is_whole = size - start <= WINDOW;
	bool may_wait = f->may_go_on && is_whole && size - start <= SHAPES_HELD_MOST;
	struct shape_hit hit;
	int r;

	if (at < d->back)
		return 0;
	if (!f->q->allowed)
		return give_up(f, detector, start);
	f->q->allowed -= given && f->q->allowed > COST_GIVEN ? COST_GIVEN : 1;
	if (!is_whole)
		size = start + WINDOW;
	r = pcre2_match(s->codes[detector], f->text.data, size, start,
			may_wait ? PCRE2_PARTIAL_HARD : 0, f->q->match,
			given ? s->limits_given : s->limits);
	if (r == PCRE2_ERROR_PARTIAL) {
		if (start < f->held)
			f->held = start;
		return 0;
	}
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r < 0)
		return give_up(f, detector, start);
	span_of_match(f, detector, r, &hit);
	if (is_in_marker(f->text, hit.start) ||
	    !candidate_is_secret(
		    d, (struct bytes){(const char *)f->text.data + hit.start, hit.end - hit.start}))
		return 0;
	return f->take(f->context, &hit);
}

/* All keywords that end with the byte before @end. */
static int look_at_keywords(struct search *f, uint16_t state, size_t end)
{
	const struct shapes *s = f->q->shapes;

	for (; state; state = s->states[state].suffix) {
		for (uint16_t k = s->states[state].keywords; k != NONE; k = s->list[k].next) {
			const struct keyword *keyword = &s->list[k];
			int r;

			if (f->q->is_off[keyword->detector])
				continue;
			r = look(f, keyword->detector, end - keyword->length);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* From where on the end of the text is needed: a line that goes on, and a keyword that does. */
static size_t context_of(const struct search *f, size_t depth)
{
	const char *text = f->text.data;
	size_t at = f->text.size, least = at > SHAPES_CONTEXT_MOST ? at - SHAPES_CONTEXT_MOST : 0;

	while (at > least && text[at - 1] != '\n')
		at--;
	return f->text.size - at < depth ? f->text.size - depth : at;
}

int shapes_find(struct shape_search *q, struct bytes text, bool may_go_on, size_t *ret_held,
		size_t *ret_context, shape_take *take, void *context)
{
	const struct shapes *s = q->shapes;
	struct search f = {q, text, may_go_on, text.size, take, context};
	const uint8_t *bytes = text.data;
	uint16_t state = 0;

	q->allowed = 256 + text.size / 4;
	for (size_t i = 0; i < text.size; i++) {
		state = s->next[state][s->classes[bytes[i]]];
		if (s->is_hit[state]) {
			int r = look_at_keywords(&f, state, i + 1);

			if (r < 0)
				return r;
		}
	}
	if (ret_held)
		*ret_held = f.held;
	if (ret_context)
		*ret_context = context_of(&f, s->states[state].depth);
	return 0;
}
