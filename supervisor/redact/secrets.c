/*
 * From secrets to what is looked for: their parts, in each form, as letters. What has too few
 * letters for that (eight bytes, but half of them blanks) is looked for as it is.
 */
#include "../record/hash.h"
#include "parts.h"
#include "secrets_internal.h"
#include "vault.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE 32
#define SECRETS_MOST 4096
#define LITERALS_MOST (1u << 20)
#define BYTES_MOST (64u << 20)
/* A longer text is looked for in pieces, so that little has to be held back. */
#define LITERAL_MOST 1024
#define PIECE 512

_Static_assert(LITERAL_LEAST == REDACT_SECRET_MIN, "every secret can be looked for");

void secrets_free(struct secrets *s)
{
	if (!s)
		return;
	vault_free(s->vault, s->vault_size);
	literals_free(s->words);
	literals_free(s->signs);
	reading_free(&s->shown);
	reading_free(&s->drawn);
	if (s->room)
		OPENSSL_cleanse(s->room, s->room_size);
	free(s->room);
	spans_free(&s->hits);
	free(s->items);
	OPENSSL_cleanse(s, sizeof(*s));
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

/* ---- counted first, then made ---- */

struct filling {
	struct secrets *s; /* its lists are NULL: count only */
	size_t secret;
	uint8_t *room;	  /* for a form */
	uint8_t *letters; /* for its letters */
	size_t words, signs, bytes;
};

static void add(struct filling *f, struct literals *to, struct literal literal, const uint8_t *text)
{
	struct secrets *s = f->s;

	f->bytes += literal.size;
	if (!to)
		return;
	literal.at = (uint32_t)s->used;
	memcpy(s->vault + s->used, text, literal.size);
	if (literals_add(to, literal))
		s->used += literal.size;
}

/* Letters of a form: all, or piece by piece. */
static void add_letters(struct filling *f, const struct form_text *form, size_t size)
{
	struct literal literal = {
		.secret = (uint16_t)f->secret,
		.form = form->form,
		.is_piece = size > LITERAL_MOST,
		.open_before = form->open_before,
	};
	size_t at = 0;

	for (; size - at > LITERAL_MOST; at += PIECE) {
		literal.size = PIECE;
		add(f, f->s->words, literal, f->letters + at);
		f->words++;
		literal.open_before = false;
	}
	literal.size = (uint32_t)(size - at);
	literal.source_size = literal.is_piece ? 0 : (uint32_t)form->text.size;
	literal.open_after = form->open_after;
	add(f, f->s->words, literal, f->letters + at);
	f->words++;
}

static void take_form(void *context, const struct form_text *form)
{
	struct filling *f = context;
	size_t size = letters_take(&f->s->letters, form->text, f->letters);

	if (size >= LITERAL_LEAST) {
		add_letters(f, form, size);
		return;
	}
	if (form->form != FORM_RAW || form->text.size > LITERAL_MOST)
		return;

	struct literal literal = {
		.secret = (uint16_t)f->secret,
		.form = FORM_RAW,
		.size = (uint32_t)form->text.size,
		.source_size = (uint32_t)form->text.size,
	};

	add(f, f->s->signs, literal, form->text.data);
	f->signs++;
}

static void take_part(void *context, struct bytes part)
{
	struct filling *f = context;

	forms_make(part, f->room, take_form, f);
}

static void fill(struct filling *f, const struct redact_secret *list)
{
	for (size_t i = 0; i < f->s->count; i++) {
		f->secret = i;
		parts_of_secret((struct bytes){list[i].value, list[i].size}, REDACT_SECRET_MIN,
				take_part, f);
	}
}

static int make_room(struct secrets *s, const struct filling *f)
{
	int r;

	if (f->words + f->signs > LITERALS_MOST || f->bytes > BYTES_MOST)
		return -E2BIG;
	r = vault_new(KEY_SIZE + f->bytes, &s->vault, &s->vault_size);
	if (r == 0 && f->words)
		r = literals_new(s->vault, f->words, &s->words);
	if (r == 0 && f->signs)
		r = literals_new(s->vault, f->signs, &s->signs);
	s->items = calloc(s->count + 1, sizeof(*s->items));
	return r == 0 && !s->items ? -ENOMEM : r;
}

static int make_literals(struct secrets *s, const uint8_t key[32], const struct redact_secret *list,
			 struct filling *f)
{
	int r;

	fill(f, list);
	r = make_room(s, f);
	if (r < 0)
		return r;
	memcpy(s->vault, key, KEY_SIZE);
	s->used = KEY_SIZE;
	for (size_t i = 0; i < s->count; i++) {
		take_name(&s->items[i], list[i].name);
		s->items[i].tag = secrets_tag(s, (struct bytes){list[i].value, list[i].size});
	}
	fill(f, list);
	vault_shrink(s->vault, &s->vault_size, s->used);
	return 0;
}

/* ---- names ---- */

static int holds_secret(struct secrets *s, const char *text, bool *ret_holds)
{
	struct spans spans = {0};
	int r = secrets_find(s, (struct bytes){text, strlen(text)}, &spans);

	*ret_holds = spans.count > 0;
	spans_free(&spans);
	return r;
}

/* A secret that stands in a name would come back with each marker: such a name becomes a number. */
static int check_names(struct secrets *s)
{
	char marker[NAME_MOST + 16];
	bool holds;
	int r;

	r = s->count ? holds_secret(s, "[REDACTED:", &holds) : (holds = false, 0);
	if (r == 0 && holds)
		r = -EKEYREJECTED;
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		snprintf(marker, sizeof(marker), "[REDACTED:%s:", s->items[i].name);
		r = holds_secret(s, marker, &holds);
		if (r == 0 && holds)
			snprintf(s->items[i].name, sizeof(s->items[i].name), "%zu", i + 1);
	}
	return r;
}

/* ---- life ---- */

static int check_list(const struct redact_secret *list, size_t count, size_t *ret_longest)
{
	size_t longest = 0;

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
	*ret_longest = longest;
	return 0;
}

int secrets_new(const uint8_t key[32], const struct redact_secret *list, size_t count,
		struct secrets **ret_secrets)
{
	size_t longest, room_size = 0, form_size;
	struct filling f = {0};
	int r = check_list(list, count, &longest);

	if (r < 0)
		return r;
	f.s = calloc(1, sizeof(*f.s));
	if (!f.s)
		return -ENOMEM;
	f.s->count = count;
	letters_init(&f.s->letters);
	form_size = FORM_ROOM(longest);
	if (count > 0)
		r = vault_new(2 * form_size + LETTERS_SLACK, &f.room, &room_size);
	if (r == 0) {
		f.letters = count > 0 ? f.room + form_size : NULL;
		r = make_literals(f.s, key, list, &f);
	}
	if (f.room)
		vault_free(f.room, room_size);
	if (r == 0)
		r = check_names(f.s);
	if (r < 0) {
		secrets_free(f.s);
		return r;
	}
	*ret_secrets = f.s;
	return 0;
}

size_t secrets_count(const struct secrets *s)
{
	return s->count;
}

size_t secrets_literals(const struct secrets *s)
{
	return literals_count(s->words) + literals_count(s->signs);
}

size_t secrets_longest(const struct secrets *s)
{
	size_t words = literals_longest(s->words), signs = literals_longest(s->signs);

	return words > signs ? words : signs;
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
