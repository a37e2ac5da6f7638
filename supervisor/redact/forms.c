/*
 * A form is a row of digits (of 4, 5 or 6 bits), or each byte for itself in another way; JSON,
 * which looks at characters, stands by itself. Upper and lower case are not told apart.
 */
#include "forms.h"

#include "../record/printable.h"

#include <string.h>

const char *const form_names[FORM_COUNT] = {
	[FORM_RAW] = "raw",   [FORM_BASE64] = "base64",	  [FORM_BASE32] = "base32",
	[FORM_HEX] = "hex",   [FORM_PERCENT] = "percent", [FORM_JSON] = "json",
	[FORM_HTML] = "html", [FORM_SPLIT] = "split",
};

struct maker {
	struct bytes value;
	uint8_t *room;
	form_take *take;
	void *context;
};

static size_t put_text(uint8_t *out, const char *text)
{
	size_t size = strlen(text);

	memcpy(out, text, size);
	return size;
}

static size_t put_hex(uint8_t *out, uint8_t c)
{
	static const char digits[] = "0123456789abcdef";

	out[0] = (uint8_t)digits[c >> 4];
	out[1] = (uint8_t)digits[c & 15];
	return 2;
}

static void take(const struct maker *m, enum form form, size_t size)
{
	const struct form_text text = {.form = form, .text = {m->room, size}};

	m->take(m->context, &text);
}

/* ---- digits ---- */

static const struct digits {
	enum form form;
	unsigned int bits;
	unsigned int alignments; /* bytes after which digits and bytes begin together again */
	const char *alphabet;
} all_digits[] = {
	{FORM_BASE64, 6, 3, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789+/"},
	{FORM_BASE64, 6, 3, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789-_"},
	{FORM_BASE32, 5, 5, "abcdefghijklmnopqrstuvwxyz234567"},
	{FORM_HEX, 4, 1, "0123456789abcdef"},
};

/* So many bits of the value, from bit @at on. */
static unsigned int some_bits(struct bytes value, size_t at, unsigned int bits)
{
	const uint8_t *bytes = value.data;
	unsigned int pair = (unsigned int)bytes[at / 8] << 8;

	if (at / 8 + 1 < value.size)
		pair |= bytes[at / 8 + 1];
	return pair >> (16 - bits - at % 8) & ((1u << bits) - 1);
}

/* The digits that the value alone decides when it stands @offset bytes behind an alignment. */
static void make_digits(const struct maker *m, const struct digits *d, unsigned int offset)
{
	size_t all = m->value.size * 8, size = 0;
	size_t at = (d->bits - offset * 8 % d->bits) % d->bits;
	struct form_text text = {.form = d->form, .open_before = at > 0};

	for (; at + d->bits <= all; at += d->bits)
		m->room[size++] = (uint8_t)d->alphabet[some_bits(m->value, at, d->bits)];
	text.open_after = at < all;
	text.text = (struct bytes){m->room, size};
	m->take(m->context, &text);
}

/* ---- byte by byte ---- */

/* As in \x73\x33, 73:33 and 0x73, 0x33. */
static size_t encode_hex(uint8_t c, uint8_t *out, unsigned int variant)
{
	static const char *const before[] = {"\\x", "", "0x"}, *const after[] = {"", ":", ","};
	size_t size = put_text(out, before[variant]);

	size += put_hex(out + size, c);
	return size + put_text(out + size, after[variant]);
}

static bool is_plain(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What RFC 3986, encodeURIComponent, Python and encodeURI leave as it is; and nothing at all. A
 * blank is %20 or +. */
static size_t encode_percent(uint8_t c, uint8_t *out, unsigned int variant)
{
	static const char *const left[] = {"-._~", "-._~!'()*", "-._~/", "-._~!'()*;,/?:@&=+$#",
					   NULL};
	const char *set = left[variant / 2];

	if (set && c == ' ' && variant & 1)
		return put_text(out, "+");
	if (set && (is_plain(c) || (c && strchr(set, c)))) {
		out[0] = c;
		return 1;
	}
	out[0] = '%';
	return 1 + put_hex(out + 1, c);
}

static size_t encode_html(uint8_t c, uint8_t *out, unsigned int variant)
{
	static const char *const quotes[] = {"&#39;", "&apos;", "&#x27;", "&#39;"};

	switch (c) {
	case '&':
		return put_text(out, "&amp;");
	case '<':
		return put_text(out, "&lt;");
	case '>':
		return put_text(out, "&gt;");
	case '"':
		return put_text(out, variant == 3 ? "&#34;" : "&quot;");
	case '\'':
		return put_text(out, quotes[variant]);
	default:
		out[0] = c;
		return 1;
	}
}

typedef size_t encode(uint8_t c, uint8_t *out, unsigned int variant);

static const struct {
	encode *put;
	enum form form;
	unsigned int variants;
} ways[] = {
	{encode_hex, FORM_HEX, 3},
	{encode_percent, FORM_PERCENT, 9},
	{encode_html, FORM_HTML, 4},
};

static void make_by_bytes(const struct maker *m, enum form form, encode *put, unsigned int variant)
{
	const uint8_t *value = m->value.data;
	size_t size = 0;

	for (size_t i = 0; i < m->value.size; i++)
		size += put(value[i], m->room + size, variant);
	/* What parts the bytes may not be there behind the last one. */
	if (form == FORM_HEX && variant > 0)
		size--;
	take(m, form, size);
}

/* ---- JSON, and what shells and languages have in common with it ---- */

static size_t put_unit(uint8_t *out, uint32_t unit)
{
	size_t size = put_text(out, "\\u");

	size += put_hex(out + size, (uint8_t)(unit >> 8));
	return size + put_hex(out + size, (uint8_t)unit);
}

static size_t put_code(uint8_t *out, uint32_t code)
{
	if (code < 0x10000)
		return put_unit(out, code);
	code -= 0x10000;
	return put_unit(out, 0xd800 + (code >> 10)) + put_unit(out + 6, 0xdc00 + (code & 0x3ff));
}

static size_t json_byte(uint8_t c, uint8_t *out, bool has_html)
{
	static const char plain[] = "\b\f\n\r\t", letters[] = "bfnrt";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at) {
		out[0] = (uint8_t)letters[at - plain];
		return 1;
	}
	if (c < 0x20 || (has_html && strchr("<>&", c)))
		return put_unit(out, c);
	out[0] = c;
	return 1;
}

/* With <>& escaped or not, what is not ASCII escaped or not. */
static void make_json(const struct maker *m, unsigned int variant)
{
	const uint8_t *value = m->value.data;
	size_t size = 0, at = 0;

	while (at < m->value.size) {
		size_t start = at;
		int32_t code = utf8_next(m->value, &at);

		if (code >= 0x80 && variant & 2) {
			size += put_code(m->room + size, (uint32_t)code);
		} else if (code >= 0x80 || code < 0) {
			memcpy(m->room + size, value + start, at - start);
			size += at - start;
		} else {
			size += json_byte((uint8_t)code, m->room + size, variant & 1);
		}
	}
	take(m, FORM_JSON, size);
}

void forms_make(struct bytes value, uint8_t *room, form_take *take_form, void *context)
{
	const struct maker m = {value, room, take_form, context};
	const struct form_text raw = {.form = FORM_RAW, .text = value};

	take_form(context, &raw);
	for (size_t i = 0; i < sizeof(all_digits) / sizeof(*all_digits); i++) {
		for (unsigned int offset = 0; offset < all_digits[i].alignments; offset++)
			make_digits(&m, &all_digits[i], offset);
	}
	for (unsigned int variant = 0; variant < 4; variant++)
		make_json(&m, variant);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		for (unsigned int variant = 0; variant < ways[i].variants; variant++)
			make_by_bytes(&m, ways[i].form, ways[i].put, variant);
	}
}
