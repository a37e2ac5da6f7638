/*
 * Strings, numbers and times as JSON, into a buffer that is kept.
 */
#include "base64.h"
#include "json_put.h"
#include "printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void json_buffer_free(struct json_buffer *buffer)
{
	free(buffer->text);
	*buffer = (struct json_buffer){0};
}

static bool make_room(struct json_buffer *buffer, size_t more)
{
	size_t room = buffer->room ? buffer->room : 4096;
	char *text;

	if (buffer->failed || more > SIZE_MAX / 4)
		goto failed;
	while (room - buffer->length < more)
		room *= 2;
	if (room == buffer->room)
		return true;
	text = realloc(buffer->text, room);
	if (!text)
		goto failed;
	buffer->text = text;
	buffer->room = room;
	return true;
failed:
	buffer->failed = true;
	return false;
}

/* Room for @more bytes at the end, or NULL. */
static inline char *tail(struct json_buffer *buffer, size_t more)
{
	if (buffer->room - buffer->length < more && !make_room(buffer, more))
		return NULL;
	return buffer->text + buffer->length;
}

int json_done(struct json_buffer *buffer, size_t start)
{
	if (!buffer->failed)
		return 0;
	buffer->failed = false;
	buffer->length = start;
	return -ENOMEM;
}

void json_put(struct json_buffer *buffer, const char *text, size_t length)
{
	char *at = tail(buffer, length);

	if (!at)
		return;
	memcpy(at, text, length);
	buffer->length += length;
}

static const char hex_digits[] = "0123456789abcdef";

static void put_escape(struct json_buffer *buffer, uint32_t unit)
{
	char text[6] = {'\\', 'u'};

	for (int i = 0; i < 4; i++)
		text[2 + i] = hex_digits[unit >> (12 - 4 * i) & 15];
	json_put(buffer, text, sizeof(text));
}

static void put_utf8(struct json_buffer *buffer, uint32_t code)
{
	char text[4];

	if (code < 0x80) {
		text[0] = (char)code;
		json_put(buffer, text, 1);
	} else if (code < 0x800) {
		text[0] = (char)(0xc0 | code >> 6);
		text[1] = (char)(0x80 | (code & 0x3f));
		json_put(buffer, text, 2);
	} else if (code < 0x10000) {
		text[0] = (char)(0xe0 | code >> 12);
		text[1] = (char)(0x80 | (code >> 6 & 0x3f));
		text[2] = (char)(0x80 | (code & 0x3f));
		json_put(buffer, text, 3);
	} else {
		text[0] = (char)(0xf0 | code >> 18);
		text[1] = (char)(0x80 | (code >> 12 & 0x3f));
		text[2] = (char)(0x80 | (code >> 6 & 0x3f));
		text[3] = (char)(0x80 | (code & 0x3f));
		json_put(buffer, text, 4);
	}
}

/* Letters after the backslash of a short escape: those of 8 to 13. */
static const char short_escapes[] = "btn\0fr";

void json_put_code(struct json_buffer *buffer, int32_t code)
{
	if (code == '"' || code == '\\') {
		json_put(buffer, (char[]){'\\', (char)code}, 2);
	} else if (code >= 8 && code <= 13 && code != 11) {
		json_put(buffer, (char[]){'\\', short_escapes[code - 8]}, 2);
	} else if (code < 0) {
		put_utf8(buffer, 0xfffd);
	} else if (printable_code(code)) {
		put_utf8(buffer, (uint32_t)code);
	} else if (code < 0x10000) {
		put_escape(buffer, (uint32_t)code);
	} else {
		put_escape(buffer, 0xd800 + (((uint32_t)code - 0x10000) >> 10));
		put_escape(buffer, 0xdc00 + (((uint32_t)code - 0x10000) & 0x3ff));
	}
}

static inline bool stands_as_it_is(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

bool json_put_string(struct json_buffer *buffer, struct bytes text)
{
	const uint8_t *data = text.data;
	bool is_whole = true;

	json_put_literal(buffer, "\"");
	for (size_t cursor = 0; cursor < text.size;) {
		size_t from = cursor;
		int32_t code;

		while (cursor < text.size && stands_as_it_is(data[cursor]))
			cursor++;
		if (cursor > from)
			json_put(buffer, (const char *)data + from, cursor - from);
		if (cursor == text.size)
			break;
		code = utf8_next(text, &cursor);
		if (code < 0)
			is_whole = false;
		json_put_code(buffer, code);
	}
	json_put_literal(buffer, "\"");
	return is_whole;
}

/* Digits of @value, right-aligned in @text of 20; returns where they begin. */
static size_t decimal(uint64_t value, char *text)
{
	size_t at = 20;

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return at;
}

void json_put_u64(struct json_buffer *buffer, uint64_t value)
{
	char text[20];
	size_t at = decimal(value, text);

	if (value > INT64_MAX)
		json_put_literal(buffer, "\"");
	json_put(buffer, text + at, sizeof(text) - at);
	if (value > INT64_MAX)
		json_put_literal(buffer, "\"");
}

void json_put_i64(struct json_buffer *buffer, int64_t value)
{
	char text[20];
	size_t at = decimal(value < 0 ? -(uint64_t)value : (uint64_t)value, text);

	if (value < 0)
		json_put_literal(buffer, "-");
	json_put(buffer, text + at, sizeof(text) - at);
}

void json_put_base64(struct json_buffer *buffer, struct bytes data)
{
	size_t length = BASE64_LENGTH(data.size);
	char *at = tail(buffer, length + 2);

	if (!at)
		return;
	at[0] = '"';
	base64_encode(data.data, data.size, at + 1);
	at[length + 1] = '"';
	buffer->length += length + 2;
}

void json_put_hex(struct json_buffer *buffer, const uint8_t *data, size_t size)
{
	char *at = tail(buffer, 2 * size + 2);

	if (!at)
		return;
	*at++ = '"';
	for (size_t i = 0; i < size; i++) {
		*at++ = hex_digits[data[i] >> 4];
		*at++ = hex_digits[data[i] & 15];
	}
	*at = '"';
	buffer->length += 2 * size + 2;
}

static void put_digits(char *at, size_t width, uint64_t value)
{
	while (width) {
		at[--width] = (char)('0' + value % 10);
		value /= 10;
	}
}

void json_put_time(struct json_buffer *buffer, uint64_t time_ns)
{
	char text[] = "\"YYYY-MM-DDThh:mm:ss.nnnnnnnnnZ\"";
	uint64_t seconds = time_ns / 1000000000, days = seconds / 86400;
	/* Years are counted from March 1st of year 0, so that the leap day is a year's last. */
	uint64_t day = days + 719468, era = day / 146097, of_era = day % 146097;
	uint64_t year =
		(of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365; /* of the era */
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153; /* 0 is March */

	put_digits(text + 1, 4, era * 400 + year + (month >= 10));
	put_digits(text + 6, 2, month < 10 ? month + 3 : month - 9);
	put_digits(text + 9, 2, of_year - (153 * month + 2) / 5 + 1);
	put_digits(text + 12, 2, seconds / 3600 % 24);
	put_digits(text + 15, 2, seconds / 60 % 60);
	put_digits(text + 18, 2, seconds % 60);
	put_digits(text + 21, 9, time_ns % 1000000000);
	json_put(buffer, text, sizeof(text) - 1);
}

int json_write_string(struct json_buffer *buffer, struct bytes text)
{
	size_t start = buffer->length;

	json_put_string(buffer, text);
	return json_done(buffer, start);
}

int json_write_raw(struct json_buffer *buffer, const char *text, size_t length)
{
	size_t start = buffer->length;

	json_put(buffer, text, length);
	return json_done(buffer, start);
}
