/*
 * Names that are asked for, one after the other: a secret may be split over them, a piece in front
 * of the same domain each time. The pieces of the last names are one text, as the items of a list
 * are; events of a name whose piece begins a secret wait for the next name, and then tell what they
 * are part of.
 */
#include "redactor.h"

#include "../record/codec.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES_MOST 8
#define NAME_ROOM 256
#define HELD_MOST 64

struct name {
	char text[NAME_ROOM];
	size_t size;
	size_t piece; /* so much of it is not the domain of the name before or behind */
	size_t from;  /* where its piece begins among all */
};

struct held {
	uint8_t *payload; /* owned */
	size_t size, name;
};

struct asked {
	struct name list[NAMES_MOST];
	size_t count;
	struct held held[HELD_MOST];
	size_t held_count;
	uint64_t boot_ns; /* of the oldest event that is held */
	char pieces[NAMES_MOST * NAME_ROOM];
	size_t size;
	struct spans spans; /* in the pieces */
};

int asked_new(struct asked **ret_asked)
{
	*ret_asked = calloc(1, sizeof(**ret_asked));
	return *ret_asked ? 0 : -ENOMEM;
}

void asked_free(struct asked *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->held_count; i++)
		free(n->held[i].payload);
	spans_free(&n->spans);
	OPENSSL_cleanse(n, sizeof(*n));
	free(n);
}

/* ---- the text of pieces ---- */

/* Bytes at the end that both have, from a label's beginning on. */
static size_t common_domain(const struct name *a, const struct name *b)
{
	size_t same = 0, domain = 0;

	while (same < a->size && same < b->size &&
	       !strncasecmp(a->text + a->size - same - 1, b->text + b->size - same - 1, 1)) {
		same++;
		if (a->text[a->size - same] == '.' || same == a->size || same == b->size)
			domain = same;
	}
	/* One that is all of a name has to begin a label in the other. */
	if (domain == a->size && domain < b->size && b->text[b->size - domain - 1] != '.')
		return 0;
	if (domain == b->size && domain < a->size && a->text[a->size - domain - 1] != '.')
		return 0;
	return domain;
}

static void join(struct asked *n)
{
	n->size = 0;
	for (size_t i = 0; i < n->count; i++) {
		struct name *name = &n->list[i];

		name->from = n->size;
		memcpy(n->pieces + n->size, name->text, name->piece);
		n->size += name->piece;
		n->pieces[n->size++] = 0;
	}
}

/* Where the name of the piece that byte @at is in stands. */
static size_t name_at(const struct asked *n, size_t at)
{
	size_t i = n->count - 1;

	while (i > 0 && n->list[i].from > at)
		i--;
	return i;
}

/*
 * Where in the pieces a secret has begun, if the last name's piece ends with one of its labels: the
 * domain is not known for sure before the next name. n->size if nowhere.
 */
static int find_begun(struct redactor *r, struct begun *ret_begun)
{
	struct asked *n = r->asked;
	struct name *last = &n->list[n->count - 1];
	size_t piece = last->piece;
	int error = 0;

	*ret_begun = (struct begun){.start = n->size};
	for (size_t end = 1; !error && end <= last->size; end++) {
		struct begun begun;

		if (end < last->size && last->text[end] != '.')
			continue;
		last->piece = end;
		join(n);
		error = secrets_begun(r->secrets, (struct bytes){n->pieces, n->size - 1}, &begun);
		if (!error && begun.letters && begun.start < ret_begun->start)
			*ret_begun = begun;
	}
	last->piece = piece;
	join(n);
	return error;
}

/* ---- giving out ---- */

/* Of n->spans what lies in the piece of @name: the name's own spans. */
static int take_spans(struct redactor *r, const struct name *name)
{
	size_t to = name->from + name->piece;

	r->named.count = 0;
	for (size_t i = 0; i < r->asked->spans.count; i++) {
		struct span span = r->asked->spans.items[i];
		int error;

		if (span.end <= name->from || span.start >= to)
			continue;
		span.is_partial |= span.start < name->from || span.end > to;
		span.start = span.start > name->from ? span.start - name->from : 0;
		span.end = (span.end < to ? span.end : to) - name->from;
		error = spans_add(&r->named, span);
		if (error)
			return error;
	}
	return 0;
}

static int give_event(struct redactor *r, const struct event *e, const struct name *name,
		      redact_emit *emit, void *context)
{
	int error = take_spans(r, name);

	if (!error)
		error = redactor_pass_named(r, e, emit, context);
	r->named.count = 0;
	return error;
}

/* Give out what is held of the names before @end. */
static int give_held(struct redactor *r, size_t end, redact_emit *emit, void *context)
{
	struct asked *n = r->asked;
	size_t given = 0;
	int error = 0;

	while (!error && given < n->held_count && n->held[given].name < end) {
		struct held *held = &n->held[given];
		const char *why;
		struct event e;

		error = codec_decode((struct bytes){held->payload, held->size}, &e, &why);
		if (!error)
			error = give_event(r, &e, &n->list[held->name], emit, context);
		if (error)
			break;
		OPENSSL_cleanse(held->payload, held->size);
		free(held->payload);
		given++;
	}
	n->held_count -= given;
	memmove(n->held, n->held + given, n->held_count * sizeof(*n->held));
	return error;
}

/* Names before @first are over. */
static void drop(struct asked *n, size_t first)
{
	n->count -= first;
	memmove(n->list, n->list + first, n->count * sizeof(*n->list));
	for (size_t i = 0; i < n->held_count; i++)
		n->held[i].name -= first;
	join(n);
}

/* ---- holding ---- */

static int hold(struct asked *n, const struct event *e)
{
	struct held *held = &n->held[n->held_count];

	held->payload = malloc(codec_bound(e));
	if (!held->payload)
		return -ENOMEM;
	held->size = codec_encode(e, e->seq, held->payload);
	held->name = n->count - 1;
	if (n->held_count++ == 0)
		n->boot_ns = e->boot_ns;
	return 0;
}

static bool is_last(const struct asked *n, struct bytes name)
{
	const struct name *last;

	if (!n->count)
		return false;
	last = &n->list[n->count - 1];
	return last->size == name.size && !strncasecmp(last->text, name.data, name.size);
}

static void add(struct asked *n, struct bytes text)
{
	struct name *before = n->count ? &n->list[n->count - 1] : NULL;
	struct name *name = &n->list[n->count++];
	size_t domain;

	memcpy(name->text, text.data, text.size);
	name->size = name->piece = text.size;
	domain = before ? common_domain(before, name) : 0;
	name->piece -= domain;
	if (before && before->piece > before->size - domain)
		before->piece = before->size - domain;
	join(n);
}

static int look(struct redactor *r)
{
	struct asked *n = r->asked;

	n->spans.count = 0;
	return n->size ? secrets_find(r->secrets, (struct bytes){n->pieces, n->size}, &n->spans)
		       : 0;
}

/* Nothing more is waited for: what has begun and can hardly be chance goes. */
static int give_all(struct redactor *r, redact_emit *emit, void *context)
{
	struct asked *n = r->asked;
	struct begun begun = {0};
	int error = n->count ? find_begun(r, &begun) : 0;

	if (!error)
		error = look(r);
	if (!error && n->count && begun.letters >= REDACT_SECRET_MIN && begun.start < n->size)
		error = spans_merge(&n->spans, begun.span);
	if (!error)
		error = give_held(r, n->count, emit, context);
	if (!error)
		n->count = n->size = 0;
	return error;
}

/* The first name that is still needed: where something has begun, or what the last one is part of.
 */
static size_t first_needed(const struct asked *n, const struct begun *begun)
{
	size_t first = begun->letters ? name_at(n, begun->start) : n->count - 1;

	for (size_t i = n->spans.count; i-- > 0;) {
		const struct span *span = &n->spans.items[i];

		if (name_at(n, span->end - 1) >= first && name_at(n, span->start) < first)
			first = name_at(n, span->start);
	}
	return first;
}

int asked_pass(struct redactor *r, const struct event *e, redact_emit *emit, void *context)
{
	struct asked *n = r->asked;
	struct bytes text = event_bytes(e, FIELD_name);
	struct begun begun;
	int error = 0;

	if (n->count == NAMES_MOST || n->held_count == HELD_MOST)
		error = give_all(r, emit, context);
	if (!error && !is_last(n, text))
		add(n, text);
	if (!error)
		error = find_begun(r, &begun);
	if (!error)
		error = look(r);
	if (error)
		return error;

	size_t first = first_needed(n, &begun);
	bool has_to_wait = begun.letters >= BEGUN_LEAST;

	error = give_held(r, has_to_wait ? first : n->count, emit, context);
	if (!error && has_to_wait)
		error = hold(n, e);
	else if (!error)
		error = give_event(r, e, &n->list[n->count - 1], emit, context);
	if (!error)
		drop(n, first);
	return error;
}

int asked_flush(struct redactor *r, uint64_t now_ns, redact_emit *emit, void *context)
{
	struct asked *n = r->asked;

	if (!n->held_count || now_ns - n->boot_ns < REDACT_HOLD_MOST_NS)
		return 0;
	arena_reset(r->arena);
	return give_all(r, emit, context);
}

size_t asked_held(const struct asked *n)
{
	return n->held_count;
}
