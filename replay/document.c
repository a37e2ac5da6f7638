/*
 * A comma here and a colon there.
 */
#include "document.h"

#include "units.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put(struct document *d, const char *text, size_t length)
{
	if (!d->error)
		d->error = json_write_raw(&d->buffer, text, length);
}

static void put_string(struct document *d, struct bytes text)
{
	if (!d->error)
		d->error = json_write_string(&d->buffer, text);
}

static void begin(struct document *d, const char *key)
{
	if (d->wants_comma)
		put(d, ", ", 2);
	d->wants_comma = true;
	if (!key)
		return;
	put_string(d, (struct bytes){key, strlen(key)});
	put(d, ": ", 2);
}

void document_open(struct document *d, const char *key, char kind)
{
	begin(d, key);
	put(d, &kind, 1);
	d->wants_comma = false;
}

void document_close(struct document *d, char kind)
{
	put(d, kind == '{' ? "}" : "]", 1);
	d->wants_comma = true;
}

void document_u64(struct document *d, const char *key, uint64_t number)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%" PRIu64, number);

	begin(d, key);
	put(d, text, (size_t)length);
}

void document_bool(struct document *d, const char *key, bool value)
{
	begin(d, key);
	put(d, value ? "true" : "false", value ? 4 : 5);
}

void document_null(struct document *d, const char *key)
{
	begin(d, key);
	put(d, "null", 4);
}

static bool is_utf8(struct bytes text)
{
	for (size_t cursor = 0; cursor < text.size;) {
		if (utf8_next(text, &cursor) < 0)
			return false;
	}
	return true;
}

/* The bytes of @text, exactly, as a sibling of what was shown of them. */
static void put_exact(struct document *d, const char *key, struct bytes text)
{
	size_t length = BASE64_LENGTH(text.size);
	cleanup(free) char *base64 = malloc(length + 1);
	char name[64];

	if (!base64) {
		d->error = d->error ? d->error : -ENOMEM;
		return;
	}
	base64_encode(text.data, text.size, base64);
	snprintf(name, sizeof(name), "%s_b64", key);
	begin(d, name);
	put_string(d, (struct bytes){base64, length});
}

void document_text(struct document *d, const char *key, struct bytes text)
{
	begin(d, key);
	put_string(d, text);
	if (key && !is_utf8(text))
		put_exact(d, key, text);
}

void document_string(struct document *d, const char *key, const char *text)
{
	if (text)
		document_text(d, key, (struct bytes){text, strlen(text)});
	else
		document_null(d, key);
}

void document_raw(struct document *d, const char *key, struct bytes json)
{
	const char *text = json.data;

	while (json.size && text[json.size - 1] == '\n')
		json.size--;
	begin(d, key);
	put(d, text, json.size);
}

void document_time(struct document *d, const char *key, uint64_t wall_ns)
{
	char text[64];
	FILE *out;

	if (!wall_ns) {
		document_null(d, key);
		return;
	}
	out = fmemopen(text, sizeof(text), "w");
	if (!out) {
		d->error = d->error ? d->error : -ENOMEM;
		return;
	}
	write_wall_clock(out, wall_ns, 9);
	fclose(out);
	document_string(d, key, text);
}

void document_flush(struct document *d, FILE *out)
{
	if (!d->error && fwrite(d->buffer.text, 1, d->buffer.length, out) != d->buffer.length)
		d->error = -EIO;
	d->buffer.length = 0;
}

int document_finish(struct document *d, FILE *out)
{
	int r;

	put(d, "\n", 1);
	document_flush(d, out);
	r = d->error;
	json_buffer_free(&d->buffer);
	*d = (struct document){0};
	return r;
}
