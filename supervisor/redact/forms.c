/*
 * Each way of writing a value is a function from one byte to a few, in variants; base64, JSON and
 * the wrapped forms, which are not, stand by themselves.
 */
#include "forms.h"

#include "../record/printable.h"

#include <string.h>

const char *const form_names[FORM_COUNT] = {
	[FORM_RAW] = "raw",	    [FORM_BASE64] = "base64", [FORM_HEX] = "hex",
	[FORM_PERCENT] = "percent", [FORM_JSON] = "json",     [FORM_SHELL] = "shell",
	[FORM_HTML] = "html",	    [FORM_UTF16] = "utf16",   [FORM_CASE] = "case",
};

struct maker {
	struct bytes value;
	uint8_t *room;
	form_take *take;
	void *context;
};

static const char digits[2][17] = {"0123456789abcdef", "0123456789ABCDEF"};

static size_t put_text(uint8_t *out, const char *text)
{
	size_t size = strlen(text);

	memcpy(out, text, size);
	return size;
}

static size_t put_hex(uint8_t *out, uint8_t c, bool is_upper)
{
	out[0] = (uint8_t)digits[is_upper][c >> 4];
	out[1] = (uint8_t)digits[is_upper][c & 15];
	return 2;
}

static bool is_plain(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- byte by byte ---- */

/* Plain, \x before each, colon behind each; in both cases. */
static size_t encode_hex(uint8_t c, uint8_t *out, unsigned int variant)
{
	size_t size = variant / 2 == 1 ? put_text(out, "\\x") : 0;

	size += put_hex(out + size, c, variant & 1);
	if (variant / 2 == 2)
		out[size++] = ':';
	return size;
}

/* What RFC 3986, encodeURIComponent, Python and encodeURI leave as it is; and nothing at all. */
static size_t encode_percent(uint8_t c, uint8_t *out, unsigned int variant)
{
	static const char *const left[] = {"-._~", "-._~!'()*", "-._~/", "-._~!'()*;,/?:@&=+$#",
					   NULL};
	const char *set = left[variant / 4];

	if (set && c == ' ' && variant & 2)
		return put_text(out, "+");
	if (set && (is_plain(c) || (c && strchr(set, c)))) {
		out[0] = c;
		return 1;
	}
	out[0] = '%';
	return 1 + put_hex(out + 1, c, variant & 1);
}

/* Within '...', within "...", with backslashes, within quotes of Python or C, within $'...'. */
static size_t encode_shell(uint8_t c, uint8_t *out, unsigned int variant)
{
	static const char *const escaped[] = {"", "\"$`\\", " \t'\"$`\\!&|;<>()[]{}*?~#^,", "'\\",
					      "'\\"};

	if (variant == 0 && c == '\'')
		return put_text(out, "'\\''");
	if (variant >= 3 && c == '\n')
		return put_text(out, "\\n");
	if (variant >= 3 && c == '\t')
		return put_text(out, "\\t");
	if (c && strchr(escaped[variant], c)) {
		out[0] = '\\';
		out[1] = c;
		return 2;
	}
	out[0] = c;
	return 1;
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

static size_t encode_utf16(uint8_t c, uint8_t *out, unsigned int variant)
{
	out[variant] = c;
	out[!variant] = 0;
	return 2;
}

static size_t encode_case(uint8_t c, uint8_t *out, unsigned int variant)
{
	bool is_other = variant ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';

	out[0] = is_other ? c ^ 0x20 : c;
	return 1;
}

typedef size_t encode(uint8_t c, uint8_t *out, unsigned int variant);

static const struct {
	encode *put;
	enum form form;
	unsigned int variants;
} ways[] = {
	{encode_hex, FORM_HEX, 6},     {encode_percent, FORM_PERCENT, 18},
	{encode_shell, FORM_SHELL, 5}, {encode_html, FORM_HTML, 4},
	{encode_utf16, FORM_UTF16, 2}, {encode_case, FORM_CASE, 2},
};

static void make_by_bytes(const struct maker *m, enum form form, encode *put, unsigned int variant)
{
	const uint8_t *value = m->value.data;
	size_t size = 0;

	for (size_t i = 0; i < m->value.size; i++)
		size += put(value[i], m->room + size, variant);
	/* The colon behind the last byte may not be there. */
	if (form == FORM_HEX && variant / 2 == 2)
		size--;
	m->take(m->context, form, (struct bytes){m->room, size});
}

/* ---- JSON ---- */

static size_t put_unit(uint8_t *out, uint32_t unit)
{
	size_t size = put_text(out, "\\u");

	size += put_hex(out + size, (uint8_t)(unit >> 8), false);
	return size + put_hex(out + size, (uint8_t)unit, false);
}

static size_t put_code(uint8_t *out, uint32_t code)
{
	if (code < 0x10000)
		return put_unit(out, code);
	code -= 0x10000;
	return put_unit(out, 0xd800 + (code >> 10)) + put_unit(out + 6, 0xdc00 + (code & 0x3ff));
}

static size_t json_byte(uint8_t c, uint8_t *out, bool has_slash, bool has_html)
{
	static const char plain[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	const char *at = c ? strchr(plain, c) : NULL;

	if (c == '/' && has_slash)
		return put_text(out, "\\/");
	if (at) {
		out[0] = '\\';
		out[1] = (uint8_t)letters[at - plain];
		return 2;
	}
	if (c < 0x20 || (has_html && strchr("<>&", c)))
		return put_unit(out, c);
	out[0] = c;
	return 1;
}

/* With / escaped or not, <>& escaped or not, what is not ASCII escaped or not. */
static void make_json(const struct maker *m, unsigned int variant)
{
	const uint8_t *value = m->value.data;
	size_t size = 0, at = 0;

	while (at < m->value.size) {
		size_t start = at;
		int32_t code = utf8_next(m->value, &at);

		if (code >= 0x80 && variant & 4) {
			size += put_code(m->room + size, (uint32_t)code);
		} else if (code >= 0x80 || code < 0) {
			memcpy(m->room + size, value + start, at - start);
			size += at - start;
		} else {
			size += json_byte((uint8_t)code, m->room + size, variant & 1, variant & 2);
		}
	}
	m->take(m->context, FORM_JSON, (struct bytes){m->room, size});
}

/* ---- base64 ---- */

static const char alphabets[2][65] = {
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

/* Six bits of the value, from bit @at on. */
static unsigned int six_bits(struct bytes value, size_t at)
{
	const uint8_t *bytes = value.data;
	unsigned int pair = (unsigned int)bytes[at / 8] << 8;

	if (at / 8 + 1 < value.size)
		pair |= bytes[at / 8 + 1];
	return pair >> (10 - at % 8) & 63;
}

/*
 * The characters that the value alone decides when it stands @offset bytes behind a multiple of
 * three; with a newline after each @columns of them (0: none).
 */
static void make_base64(const struct maker *m, size_t offset, const char *alphabet, size_t columns)
{
	size_t bits = m->value.size * 8, at = (6 - offset * 8 % 6) % 6, size = 0, column = 0;

	for (; at + 6 <= bits; at += 6) {
		if (columns && column++ == columns) {
			m->room[size++] = '\n';
			column = 1;
		}
		m->room[size++] = (uint8_t)alphabet[six_bits(m->value, at)];
	}
	m->take(m->context, FORM_BASE64, (struct bytes){m->room, size});
}

/* Where lines break in a longer text is not known: pieces of the form, each for itself. */
#define WRAPPED_FROM 56
#define WRAPPED_PIECE 8

static void make_base64_pieces(const struct maker *m, size_t offset)
{
	size_t at = (6 - offset * 8 % 6) % 6;

	while (at + (size_t)6 * WRAPPED_PIECE <= m->value.size * 8) {
		for (size_t i = 0; i < WRAPPED_PIECE; i++, at += 6)
			m->room[i] = (uint8_t)alphabets[0][six_bits(m->value, at)];
		m->take(m->context, FORM_BASE64, (struct bytes){m->room, WRAPPED_PIECE});
	}
}

static void make_all_base64(const struct maker *m)
{
	for (size_t offset = 0; offset < 3; offset++) {
		make_base64(m, offset, alphabets[0], 0);
		make_base64(m, offset, alphabets[1], 0);
		if (m->value.size >= WRAPPED_FROM && m->value.size <= 8192)
			make_base64_pieces(m, offset);
	}
	if (m->value.size >= WRAPPED_FROM - 8) {
		make_base64(m, 0, alphabets[0], 64);
		make_base64(m, 0, alphabets[0], 76);
	}
}

void forms_make(struct bytes value, uint8_t *room, form_take *take, void *context)
{
	const struct maker m = {value, room, take, context};

	take(context, FORM_RAW, value);
	make_all_base64(&m);
	for (unsigned int variant = 0; variant < 8; variant++)
		make_json(&m, variant);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		for (unsigned int variant = 0; variant < ways[i].variants; variant++)
			make_by_bytes(&m, ways[i].form, ways[i].put, variant);
	}
}
