/*
 * Exact search after Wu and Manber: every text that is looked for has at least eight bytes, so a
 * window of eight is moved along, and the last three bytes in it tell how far it can jump. With the
 * few hundred literals of a session most of a text is not even read, the tables are built in
 * microseconds, and no session waits for a compiler of patterns.
 */
#include "secrets.h"
#include "../record/hash.h"
#include "parts.h"
#include "vault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE 32
#define NAME_MOST 64
#define SECRETS_MOST 4096
#define LITERALS_MOST (1u << 20)
#define BYTES_MOST (64u << 20)
#define WINDOW REDACT_SECRET_MIN
#define BLOCK 3
#define JUMP_BITS 16
#define BUCKET_BITS 12
#define NONE UINT32_MAX
/* A longer text is looked for in pieces, so that little has to be held back. */
#define LITERAL_MOST 1024
#define PIECE 512

struct secret {
	char name[NAME_MOST + 1];
	uint32_t tag;
};

struct literal {
	uint32_t at, size;   /* in the vault */
	uint32_t next;	     /* of those with the same end of their first window */
	uint32_t next_first; /* of those with the same first byte */
	uint16_t secret;
	uint8_t form;
	bool is_piece;
};

struct secrets {
	uint8_t *vault; /* the key, then the literals */
	size_t vault_size, used;
	struct secret *items;
	size_t count;
	struct literal *literals;
	size_t literal_count, longest;
	uint32_t first[256];
	uint32_t buckets[1 << BUCKET_BITS];
	uint8_t jumps[1 << JUMP_BITS];
};

void secrets_free(struct secrets *s)
{
	if (!s)
		return;
	vault_free(s->vault, s->vault_size);
	free(s->literals);
	free(s->items);
	free(s);
}

/* A name goes into the record: only what can do nothing there stays of it. */
static void take_name(struct secret *secret, const char *name)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "_.-";
	size_t length = strnlen(name, NAME_MOST);

	for (size_t i = 0; i < length; i++)
		secret->name[i] = strchr(good, name[i]) ? name[i] : '_';
}

/* ---- tables ---- */

static uint32_t hash_block(const uint8_t *at, unsigned int bits)
{
	uint32_t block = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;

	return block * 0x9e3779b1u >> (32 - bits);
}

static const uint8_t *literal_text(const struct secrets *s, const struct literal *l)
{
	return s->vault + l->at;
}

static bool is_known(const struct secrets *s, struct bytes text, uint32_t bucket)
{
	for (uint32_t i = s->buckets[bucket]; i != NONE; i = s->literals[i].next) {
		const struct literal *l = &s->literals[i];

		if (l->size == text.size && !memcmp(literal_text(s, l), text.data, text.size))
			return true;
	}
	return false;
}

static void add_literal(struct secrets *s, size_t secret, enum form form, struct bytes text,
			bool is_piece)
{
	const uint8_t *bytes = text.data;
	uint32_t bucket = hash_block(bytes + WINDOW - BLOCK, BUCKET_BITS), number;

	if (is_known(s, text, bucket))
		return;
	number = (uint32_t)s->literal_count++;
	s->literals[number] = (struct literal){
		.at = (uint32_t)s->used,
		.size = (uint32_t)text.size,
		.next = s->buckets[bucket],
		.next_first = s->first[*bytes],
		.secret = (uint16_t)secret,
		.form = form,
		.is_piece = is_piece,
	};
	s->buckets[bucket] = s->first[*bytes] = number;
	memcpy(s->vault + s->used, bytes, text.size);
	s->used += text.size;
	if (text.size > s->longest)
		s->longest = text.size;
	for (size_t i = 0; i + BLOCK <= WINDOW; i++) {
		uint8_t *jump = &s->jumps[hash_block(bytes + i, JUMP_BITS)];

		if (*jump > WINDOW - BLOCK - i)
			*jump = (uint8_t)(WINDOW - BLOCK - i);
	}
}

/* ---- from secrets to literals: counted first, then made ---- */

struct filling {
	struct secrets *s; /* NULL: count only */
	size_t secret;
	struct bytes value; /* the part whose forms are made */
	uint8_t *room;
	size_t literals, bytes;
};

static void take_literal(struct filling *f, enum form form, struct bytes text, bool is_piece)
{
	f->literals++;
	f->bytes += text.size;
	if (f->s)
		add_literal(f->s, f->secret, form, text, is_piece);
}

static void take_form(void *context, enum form form, struct bytes text)
{
	struct filling *f = context;
	const uint8_t *bytes = text.data;
	size_t at = 0;

	if (text.size < WINDOW)
		return;
	/* Most forms of a plain value are the value. */
	if (form != FORM_RAW && text.size == f->value.size &&
	    !memcmp(bytes, f->value.data, text.size))
		return;
	while (text.size - at > LITERAL_MOST) {
		take_literal(f, form, (struct bytes){bytes + at, PIECE}, true);
		at += PIECE;
	}
	take_literal(f, form, (struct bytes){bytes + at, text.size - at},
		     at > 0 || (form == FORM_BASE64 && text.size == WINDOW));
}

static void take_part(void *context, struct bytes part)
{
	struct filling *f = context;

	f->value = part;
	forms_make(part, f->room, take_form, f);
}

static void fill(struct filling *f, const struct redact_secret *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		f->secret = i;
		parts_of_secret((struct bytes){list[i].value, list[i].size}, REDACT_SECRET_MIN,
				take_part, f);
	}
}

/* Room for what was counted, and then what is to be found in it. */
static int make_literals(struct secrets *s, const uint8_t key[32], const struct redact_secret *list,
			 struct filling *f)
{
	int r;

	if (f->literals > LITERALS_MOST || f->bytes > BYTES_MOST)
		return -E2BIG;
	r = vault_new(KEY_SIZE + f->bytes, &s->vault, &s->vault_size);
	if (r < 0)
		return r;
	s->items = calloc(s->count + 1, sizeof(*s->items));
	s->literals = calloc(f->literals + 1, sizeof(*s->literals));
	if (!s->items || !s->literals)
		return -ENOMEM;
	memcpy(s->vault, key, KEY_SIZE);
	s->used = KEY_SIZE;
	for (size_t i = 0; i < s->count; i++) {
		take_name(&s->items[i], list[i].name);
		s->items[i].tag = secrets_tag(s, (struct bytes){list[i].value, list[i].size});
	}
	f->s = s;
	fill(f, list, s->count);
	vault_shrink(s->vault, &s->vault_size, s->used);
	return 0;
}

int secrets_new(const uint8_t key[32], const struct redact_secret *list, size_t count,
		struct secrets **ret_secrets)
{
	struct filling f = {0};
	struct secrets *s;
	size_t longest = 0, room_size;
	int r;

	if (count > SECRETS_MOST)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		if (list[i].size < REDACT_SECRET_MIN)
			return -EINVAL;
		if (list[i].size > BYTES_MOST / FORM_FACTOR)
			return -E2BIG;
		if (list[i].size > longest)
			longest = list[i].size;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->count = count;
	memset(s->first, 0xff, sizeof(s->first));
	memset(s->buckets, 0xff, sizeof(s->buckets));
	memset(s->jumps, WINDOW - BLOCK + 1, sizeof(s->jumps));
	r = vault_new(FORM_ROOM(longest), &f.room, &room_size);
	if (r == 0) {
		fill(&f, list, count);
		r = make_literals(s, key, list, &f);
		vault_free(f.room, room_size);
	}
	if (r < 0) {
		secrets_free(s);
		return r;
	}
	*ret_secrets = s;
	return 0;
}

size_t secrets_count(const struct secrets *s)
{
	return s->count;
}

size_t secrets_literals(const struct secrets *s)
{
	return s->literal_count;
}

size_t secrets_longest(const struct secrets *s)
{
	return s->longest;
}

const char *secrets_name(const struct secrets *s, size_t secret)
{
	return s->items[secret].name;
}

void secrets_digest(const struct secrets *s, struct bytes data,
		    uint8_t ret_digest[EVENT_DIGEST_SIZE])
{
	hash_keyed((struct bytes){s->vault, KEY_SIZE}, data, ret_digest);
}

uint32_t secrets_tag(const struct secrets *s, struct bytes data)
{
	uint8_t digest[EVENT_DIGEST_SIZE];

	secrets_digest(s, data, digest);
	return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 |
	       digest[3];
}

/* ---- search ---- */

static struct span span_of(const struct secrets *s, const struct literal *l, size_t at)
{
	return (struct span){
		.start = at,
		.end = at + l->size,
		.rule = l->secret,
		.tag = s->items[l->secret].tag,
		.form = form_names[l->form],
		.is_piece = l->is_piece,
	};
}

/* The longest literal that stands at @at of @text, or NULL; of equals the first secret's. */
static const struct literal *match_at(const struct secrets *s, struct bytes text, size_t at)
{
	const uint8_t *data = (const uint8_t *)text.data + at;
	const struct literal *longest = NULL;
	uint32_t i = s->buckets[hash_block(data + WINDOW - BLOCK, BUCKET_BITS)];

	for (; i != NONE; i = s->literals[i].next) {
		const struct literal *l = &s->literals[i];

		if (l->size > text.size - at || (longest && l->size <= longest->size) ||
		    memcmp(literal_text(s, l), data, l->size) != 0)
			continue;
		longest = l;
	}
	return longest;
}

static int add_match(const struct secrets *s, const struct literal *l, size_t at,
		     struct spans *spans)
{
	struct span *last = spans->count ? &spans->items[spans->count - 1] : NULL;
	bool goes_on =
		last && at == last->end && last->is_piece && l->is_piece && last->rule == l->secret;

	if (!last || (at >= last->end && !goes_on))
		return spans_add(spans, span_of(s, l, at));
	if (at + l->size > last->end)
		last->end = at + l->size;
	return 0;
}

int secrets_find(const struct secrets *s, struct bytes text, struct spans *spans)
{
	const uint8_t *data = text.data;

	if (!s->literal_count)
		return 0;
	for (size_t end = WINDOW; end <= text.size;) {
		uint8_t jump = s->jumps[hash_block(data + end - BLOCK, JUMP_BITS)];
		const struct literal *l;
		int r = 0;

		if (jump) {
			end += jump;
			continue;
		}
		l = match_at(s, text, end - WINDOW);
		if (l)
			r = add_match(s, l, end - WINDOW, spans);
		if (r < 0)
			return r;
		end++;
	}
	return 0;
}

/* A literal of which @text from @at on is the beginning, or NULL. */
static const struct literal *begun_at(const struct secrets *s, struct bytes text, size_t at)
{
	const uint8_t *data = (const uint8_t *)text.data + at;
	size_t left = text.size - at;
	bool is_long = left >= WINDOW;
	uint32_t i = is_long ? s->buckets[hash_block(data + WINDOW - BLOCK, BUCKET_BITS)]
			     : s->first[*data];

	while (i != NONE) {
		const struct literal *l = &s->literals[i];

		if (l->size > left && !memcmp(literal_text(s, l), data, left))
			return l;
		i = is_long ? l->next : l->next_first;
	}
	return NULL;
}

size_t secrets_begun(const struct secrets *s, struct bytes text, struct span *ret_span)
{
	const uint8_t *data = text.data;
	size_t at = text.size >= s->longest ? text.size - s->longest + 1 : 0;

	if (!s->literal_count)
		return text.size;
	for (; at < text.size; at++) {
		const struct literal *l;

		if (text.size - at >= WINDOW) {
			uint8_t jump = s->jumps[hash_block(data + at + WINDOW - BLOCK, JUMP_BITS)];

			if (jump) {
				at += jump - 1;
				continue;
			}
		}
		l = begun_at(s, text, at);
		if (!l)
			continue;
		*ret_span = span_of(s, l, at);
		ret_span->end = text.size;
		ret_span->is_partial = true;
		return at;
	}
	return text.size;
}
