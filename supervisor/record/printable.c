/*
 * Decodes UTF-8 strictly and writes session-made text so that it can be read and can do nothing.
 */
#include "printable.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct range {
	int32_t first, last;
};

/*
 * What never stands in a line as it is: controls, and characters of Unicode's categories Cf, Zl and
 * Zp, fillers that look like nothing, private use, and noncharacters. In order.
 */
static const struct range unprintable[] = {
	{0x0000, 0x001f},   {0x007f, 0x009f},	{0x00ad, 0x00ad},    {0x034f, 0x034f},
	{0x0600, 0x0605},   {0x061c, 0x061c},	{0x06dd, 0x06dd},    {0x070f, 0x070f},
	{0x0890, 0x0891},   {0x08e2, 0x08e2},	{0x115f, 0x1160},    {0x17b4, 0x17b5},
	{0x180b, 0x180f},   {0x200b, 0x200f},	{0x2028, 0x202e},    {0x2060, 0x206f},
	{0x3164, 0x3164},   {0xd800, 0xf8ff},	{0xfdd0, 0xfdef},    {0xfe00, 0xfe0f},
	{0xfeff, 0xfeff},   {0xffa0, 0xffa0},	{0xfff0, 0xfffb},    {0xfffe, 0xffff},
	{0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1345f},  {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0xe0000, 0x10ffff},
};

bool printable_code(int32_t code)
{
	size_t low = 0, high = sizeof(unprintable) / sizeof(*unprintable);

	if (code < 0)
		return false;
	if (code >= 0x20 && code < 0x7f)
		return true;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code > unprintable[middle].last)
			low = middle + 1;
		else if (code < unprintable[middle].first)
			high = middle;
		else
			return false;
	}
	return true;
}

int32_t utf8_next(struct bytes text, size_t *cursor)
{
	static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *at = (const uint8_t *)text.data + *cursor;
	size_t left = text.size - *cursor, length;
	int32_t code;

	(*cursor)++;
	if (at[0] < 0x80)
		return at[0];
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		length = 2;
	else if (at[0] >= 0xe0 && at[0] <= 0xef)
		length = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		length = 4;
	else
		return -1;
	if (length > left)
		return -1;

	code = at[0] & (0xff >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return -1;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return -1;
	*cursor += length - 1;
	return code;
}

struct printable printable_for(FILE *out, size_t limit)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *locale = NULL;

	for (size_t i = 0; i < 3 && (!locale || !*locale); i++)
		locale = getenv(names[i]);
	return (struct printable){
		.ascii = isatty(fileno(out)) &&
			 (!locale || (!strcasestr(locale, "utf-8") && !strcasestr(locale, "utf8"))),
		.limit = limit,
	};
}

struct bytes bytes_of(const char *text)
{
	return (struct bytes){text, text ? strlen(text) : 0};
}

enum need { NEED_NOTHING, NEED_QUOTES, NEED_ESCAPES };

/* Characters that a shell takes as they are, and that cannot be taken for the end of a word. */
static bool is_plain(int32_t code)
{
	if (code > 0x7f)
		return code != 0xa0 && code != 0x1680 && !(code >= 0x2000 && code <= 0x200a) &&
		       code != 0x202f && code != 0x205f && code != 0x3000;
	return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
	       (code >= '0' && code <= '9') || (code > 0 && strchr("_@%+=:,./-", code));
}

static bool needs_escape(const struct printable *p, int32_t code)
{
	return !printable_code(code) || (p->ascii && code > 0x7e);
}

static enum need word_need(const struct printable *p, struct bytes text)
{
	enum need need = text.size ? NEED_NOTHING : NEED_QUOTES;

	for (size_t cursor = 0; cursor < text.size;) {
		int32_t code = utf8_next(text, &cursor);

		if (code == '\'' || needs_escape(p, code))
			return NEED_ESCAPES;
		if (!is_plain(code))
			need = NEED_QUOTES;
	}
	return need;
}

static void write_escape(FILE *out, struct bytes text, size_t from, int32_t code)
{
	static const char letters[] = "abtnvfr"; /* 7 to 13 */

	if (code < 0)
		fprintf(out, "\\x%02x", ((const uint8_t *)text.data)[from]);
	else if (code >= 7 && code <= 13)
		fprintf(out, "\\%c", letters[code - 7]);
	else if (code < 0x80)
		fprintf(out, "\\x%02x", (unsigned int)code);
	else if (code <= 0xffff)
		fprintf(out, "\\u%04x", (unsigned int)code);
	else
		fprintf(out, "\\U%08x", (unsigned int)code);
}

/* Write the characters of @text; @doubled are those that get a backslash before them. */
static void write_characters(FILE *out, const struct printable *p, struct bytes text,
			     const char *doubled)
{
	for (size_t cursor = 0; cursor < text.size;) {
		size_t from = cursor;
		int32_t code = utf8_next(text, &cursor);

		if (needs_escape(p, code)) {
			write_escape(out, text, from, code);
			continue;
		}
		if (code < 0x80 && strchr(doubled, code))
			fputc_unlocked('\\', out);
		fwrite_unlocked((const char *)text.data + from, 1, cursor - from, out);
	}
}

/* What is left of @text under the limit: it ends between two characters. */
static struct bytes limited(const struct printable *p, struct bytes text)
{
	size_t size = p->limit;

	if (!p->limit || text.size <= p->limit)
		return text;
	while (size > 0 && p->limit - size < 3 &&
	       (((const uint8_t *)text.data)[size] & 0xc0) == 0x80)
		size--;
	return (struct bytes){text.data, size};
}

static void write_rest(FILE *out, struct bytes all, struct bytes shown)
{
	if (shown.size < all.size)
		fprintf(out, "[+%zu bytes]", all.size - shown.size);
}

void printable_word(FILE *out, const struct printable *p, struct bytes text)
{
	struct bytes shown = limited(p, text);

	switch (word_need(p, shown)) {
	case NEED_NOTHING:
		fwrite_unlocked(shown.data, 1, shown.size, out);
		break;
	case NEED_QUOTES:
		fputc_unlocked('\'', out);
		fwrite_unlocked(shown.data, 1, shown.size, out);
		fputc_unlocked('\'', out);
		break;
	case NEED_ESCAPES:
		fputs_unlocked("$'", out);
		write_characters(out, p, shown, "\\'");
		fputc_unlocked('\'', out);
		break;
	}
	write_rest(out, text, shown);
}

void printable_text(FILE *out, const struct printable *p, struct bytes text)
{
	struct bytes shown = limited(p, text);

	write_characters(out, p, shown, "\\");
	write_rest(out, text, shown);
}
