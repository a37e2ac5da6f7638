/*
 * Fuzz: the exact net over a stream, against a reference that is slow and plain: the whole text at
 * once, the letters of each form of each secret looked for from each byte on. However the text is
 * cut into pieces, the same bytes have to be left. The input: how many pieces, where they end, then
 * the text, in which the bytes from 0xe0 on stand for pieces of a secret's forms. If the first byte
 * is odd the text is one of a terminal: more may go there than the reference knows of, but not
 * less.
 */
#include "../../supervisor/redact/redactor.h"

#include <stdlib.h>
#include <string.h>

#define PIECES 8
#define TEXT_MOST 4096
#define SECRETS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[32] = "an unguessable deployment key...";
static const struct redact_secret secrets[SECRETS] = {
	{"A", "s3cr3t/t0ken\"x", 14}, {"B", "t0ken\"x-and", 11}, {"C", "aaaaaaaab", 9}};

struct text {
	uint8_t bytes[TEXT_MOST];
	bool gone[TEXT_MOST];
	bool may_go[TEXT_MOST]; /* or not: a digit beside a form that is open there */
	bool is_of_terminal;
	size_t size;
};

/* ---- the reference ---- */

static int letter(uint8_t c)
{
	if (c <= ' ' || c == 0x7f || strchr(".\"'\\", c))
		return -1;
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* The next letter of @text from @at on; its size if there is none. */
static size_t next(const uint8_t *text, size_t size, size_t at)
{
	while (at < size && letter(text[at]) < 0)
		at++;
	return at;
}

/* Where the letters of @form end that begin at @at of the text; 0 if others stand there. */
static size_t end_of(const struct text *t, size_t at, struct bytes form)
{
	const uint8_t *f = form.data;
	size_t i = next(f, form.size, 0), end = 0;

	for (; i < form.size; i = next(f, form.size, i + 1)) {
		at = next(t->bytes, t->size, at);
		if (at == t->size || letter(t->bytes[at]) != letter(f[i]))
			return 0;
		end = ++at;
	}
	return end;
}

static size_t count_letters(struct bytes form)
{
	size_t count = 0;

	for (size_t i = 0; i < form.size; i++)
		count += letter(((const uint8_t *)form.data)[i]) >= 0;
	return count;
}

static void mark(void *context, const struct form_text *form)
{
	struct text *t = context;

	if (count_letters(form->text) < REDACT_SECRET_MIN)
		return;
	for (size_t at = 0; at < t->size; at++) {
		size_t end = letter(t->bytes[at]) < 0 ? 0 : end_of(t, at, form->text);

		if (!end)
			continue;
		memset(t->gone + at, true, end - at);
		for (size_t i = at; form->open_before && i-- > 0;) {
			t->may_go[i] = true;
			if (letter(t->bytes[i]) >= 0)
				break;
		}
		for (size_t i = end; form->open_after && i < t->size; i++) {
			t->may_go[i] = true;
			if (letter(t->bytes[i]) >= 0)
				break;
		}
	}
}

static void mark_all(struct text *t)
{
	uint8_t room[FORM_ROOM(64)];

	memset(t->gone, 0, sizeof(t->gone));
	memset(t->may_go, t->is_of_terminal, sizeof(t->may_go));
	for (size_t i = 0; i < SECRETS; i++)
		forms_make((struct bytes){secrets[i].value, secrets[i].size}, room, mark, t);
}

/* ---- what came out ---- */

struct output {
	const struct text *text;
	size_t at; /* in the text */
};

/* The text holds no '[': a marker begins with it. */
static const char *skip_markers(const char *at, const char *end)
{
	while (at < end && *at == '[') {
		at = memchr(at, ']', (size_t)(end - at));
		if (!at++)
			__builtin_trap();
	}
	return at;
}

/*
 * Each record covers the next bytes of the text. What stands in it besides markers are bytes of the
 * text in their order, and all of those that the reference leaves are among them.
 */
static int check(void *context, const struct redacted *record)
{
	struct output *out = context;
	const struct text *t = out->text;
	struct bytes data = event_bytes(&record->event, FIELD_data);
	size_t size = event_u64(&record->event, FIELD_size, data.size);
	const char *at = data.data, *end = at + data.size;

	if (event_u64(&record->event, FIELD_offset, 0) != out->at || out->at + size > t->size)
		__builtin_trap();
	for (size_t i = out->at; i < out->at + size; i++) {
		at = skip_markers(at, end);
		if (t->gone[i])
			continue;
		if (at < end && (uint8_t)*at == t->bytes[i])
			at++;
		else if (!t->may_go[i])
			__builtin_trap();
	}
	if (skip_markers(at, end) != end)
		__builtin_trap();
	out->at += size;
	return 0;
}

/* ---- the text ---- */

static void put(struct text *t, const char *bytes, size_t size)
{
	if (t->size + size > TEXT_MOST)
		return;
	memcpy(t->bytes + t->size, bytes, size);
	t->size += size;
}

/* Nothing that draws over a line, and no marker. */
static uint8_t tame(const struct text *t, uint8_t c)
{
	if (c == '[')
		return '(';
	if (t->is_of_terminal)
		return c;
	return c == 0x1b || c == 0x08 || c == '\r' || c == 0x9b ? '_' : c;
}

static void make_text(struct text *t, const uint8_t *data, size_t size)
{
	static const char *const pieces[32] = {"s3cr3t/t0ken\"x",
					       "s3cr3t",
					       "/t0ken\"x",
					       "t0ken\"x-and",
					       "-and",
					       "aaaa",
					       "aaaaaaaab",
					       "s3cr3t\\/t0ken\\\"x",
					       "s3cr3t%2Ft0ken%22x",
					       "czNjcjN0L3Qwa2VuIng",
					       "7333637233742f74306b656e2278",
					       "S3CR3T/T0KEN\"X",
					       "\n",
					       "MzY3IzdC90MGtlbiJ4",
					       "t0ken&quot;x-and",
					       "s3cr3t/t0ke",
					       "hN4Y3IzdC90MGtlbiJ4",
					       "ONZWG4RTOQXXIMDLMVXCE6A",
					       "73:33:63:72:33:74:2f:74",
					       ":30:6b:65:6e:22:78",
					       "0x73, 0x33, 0x63, 0x72, 0x33, 0x74, 0x2f, ",
					       "0x74, 0x30, 0x6b, 0x65, 0x6e, 0x22, 0x78",
					       " ",
					       "\\",
					       "..",
					       "'\\''",
					       "s3cr3t/t\"+\"0kenx",
					       "Q3M2NyM3QvdDBrZW4ieA",
					       "\n    ",
					       "s",
					       "s3",
					       "c"};

	t->size = 0;
	for (size_t i = 0; i < size; i++) {
		char c = (char)tame(t, data[i]);

		if (data[i] >= 0xe0)
			put(t, pieces[data[i] - 0xe0], strlen(pieces[data[i] - 0xe0]));
		else if (data[i] == 0xdf && t->is_of_terminal)
			put(t, "\302\233", 2); /* begins a sequence, without a '[' */
		else
			put(t, &c, 1);
	}
	/* So that nothing is begun at its end. */
	if (t->size == TEXT_MOST)
		t->size--;
	put(t, "#", 1);
}

static void pass(struct redactor *r, const struct text *t, size_t from, size_t to,
		 struct output *out)
{
	struct event e;

	event_init(&e, EVENT_output, 1, 1);
	event_put_text(&e, FIELD_stream, "stdout");
	event_put_u64(&e, FIELD_offset, from);
	event_put_bytes(&e, FIELD_data, t->bytes + from, to - from);
	if (redact_event(r, &e, check, out) < 0)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct text t;
	struct redactor *r;
	size_t at = 0;

	if (size < PIECES)
		return 0;
	t.is_of_terminal = data[0] & 1;
	make_text(&t, data + PIECES, size - PIECES);
	mark_all(&t);
	if (redactor_new(key, NULL, secrets, SECRETS, &r) < 0)
		return 0;
	struct output out = {.text = &t};
	for (size_t i = 0; i < PIECES && at < t.size; i++) {
		size_t to = at + data[i];

		if (i == PIECES - 1 || to > t.size)
			to = t.size;
		pass(r, &t, at, to, &out);
		at = to;
	}
	if (redact_flush(r, UINT64_MAX, check, &out) < 0 || out.at != t.size)
		__builtin_trap();
	redactor_free(r);
	return 0;
}
