/*
 * Fuzz: the exact net over a stream, against a reference that is slow and plain: the whole text at
 * once, each form of each secret looked for at each byte. However the text is cut into pieces, the
 * same bytes have to be left. The input: how many pieces, where they end, then the text, in which
 * the bytes from 0xf0 on stand for pieces of a secret's forms.
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
	size_t size;
};

/* ---- the reference ---- */

struct marking {
	struct text *text;
};

static void mark(void *context, enum form form, struct bytes literal)
{
	struct text *t = ((struct marking *)context)->text;

	(void)form;
	if (literal.size < REDACT_SECRET_MIN)
		return;
	for (size_t at = 0; at + literal.size <= t->size; at++) {
		if (!memcmp(t->bytes + at, literal.data, literal.size))
			memset(t->gone + at, true, literal.size);
	}
}

static void mark_all(struct text *t)
{
	uint8_t room[FORM_ROOM(64)];

	memset(t->gone, 0, sizeof(t->gone));
	for (size_t i = 0; i < SECRETS; i++)
		forms_make((struct bytes){secrets[i].value, secrets[i].size}, room, mark,
			   &(struct marking){t});
}

/* ---- what came out ---- */

struct output {
	const struct text *text;
	size_t at; /* in the text */
};

/* Each record covers the next bytes of the text; what stands in it besides markers is just what the
 * reference leaves. */
static int check(void *context, const struct redacted *record)
{
	struct output *out = context;
	struct bytes data = event_bytes(&record->event, FIELD_data);
	size_t size = event_u64(&record->event, FIELD_size, data.size), left = 0;
	const char *at = data.data, *end = at + data.size;

	if (event_u64(&record->event, FIELD_offset, 0) != out->at)
		__builtin_trap();
	if (out->at + size > out->text->size)
		__builtin_trap();
	for (size_t i = out->at; i < out->at + size; i++) {
		if (out->text->gone[i]) {
			/* The text holds no '[': a marker begins with it. */
			if (at < end && *at == '[') {
				at = memchr(at, ']', (size_t)(end - at));
				if (!at++)
					__builtin_trap();
			}
			continue;
		}
		while (at < end && *at == '[') {
			at = memchr(at, ']', (size_t)(end - at));
			if (!at++)
				__builtin_trap();
		}
		if (at >= end || (uint8_t)*at++ != out->text->bytes[i])
			__builtin_trap();
		left++;
	}
	while (at < end && *at == '[') {
		at = memchr(at, ']', (size_t)(end - at));
		if (!at++)
			__builtin_trap();
	}
	if (at != end)
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

static void make_text(struct text *t, const uint8_t *data, size_t size)
{
	static const char *const pieces[] = {"s3cr3t/t0ken\"x",
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
					     "s3cr3t/t0ke"};

	t->size = 0;
	for (size_t i = 0; i < size; i++) {
		char c = (char)(data[i] == '[' ? '(' : data[i]);

		if (data[i] >= 0xf0)
			put(t, pieces[data[i] - 0xf0], strlen(pieces[data[i] - 0xf0]));
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
