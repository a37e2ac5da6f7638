/*
 * JSON values that somebody else wrote, made canonical: checked, without blanks, on one line, and
 * with every string escaped as ours are.
 */
#include "json_put.h"
#include "printable.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define NUMBER_MAX 64

struct text {
	struct bytes bytes;
	size_t at;
	int depth;
	struct json_buffer *out;
};

static int peek(const struct text *t)
{
	return t->at < t->bytes.size ? ((const uint8_t *)t->bytes.data)[t->at] : -1;
}

static int skip_blanks(struct text *t)
{
	while (peek(t) == ' ' || peek(t) == '\t' || peek(t) == '\n' || peek(t) == '\r')
		t->at++;
	return peek(t);
}

static bool take_char(struct text *t, char c)
{
	if (peek(t) != c)
		return false;
	t->at++;
	return true;
}

static bool copy_char(struct text *t, char c)
{
	if (!take_char(t, c))
		return false;
	json_put(t->out, &c, 1);
	return true;
}

/* Four hex digits, or -1. */
static int32_t hex_unit(struct text *t)
{
	int32_t unit = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(t);

		if (c >= '0' && c <= '9')
			unit = unit << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			unit = unit << 4 | ((c | 0x20) - 'a' + 10);
		else
			return -1;
		t->at++;
	}
	return unit;
}

/* What stands after a backslash; -1 if that is no escape or half of a surrogate pair. */
static int32_t escape(struct text *t)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	int c = peek(t);
	const char *letter = c > 0 ? strchr(letters, c) : NULL;
	int32_t high, low;

	t->at++;
	if (letter)
		return meanings[letter - letters];
	if (c != 'u')
		return -1;
	high = hex_unit(t);
	if (high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || !take_char(t, '\\') || !take_char(t, 'u'))
		return -1;
	low = hex_unit(t);
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	return 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
}

static bool copy_string(struct text *t)
{
	if (!copy_char(t, '"'))
		return false;
	while (!copy_char(t, '"')) {
		int32_t code;

		if (peek(t) < 0x20)
			return false;
		if (take_char(t, '\\'))
			code = escape(t);
		else
			code = utf8_next(t->bytes, &t->at);
		if (code < 0)
			return false;
		json_put_code(t->out, code);
	}
	return true;
}

static size_t copy_digits(struct text *t)
{
	size_t count = 0;

	while (peek(t) >= '0' && peek(t) <= '9') {
		json_put(t->out, (char[]){(char)peek(t)}, 1);
		t->at++;
		count++;
	}
	return count;
}

/* Only what every reader can hold: whole numbers of 18 digits, others within a double's range. */
static bool copy_number(struct text *t)
{
	size_t start = t->out->length, from = t->at, digits;
	char number[NUMBER_MAX];
	bool is_real = false, is_zero;

	copy_char(t, '-');
	is_zero = peek(t) == '0';
	digits = copy_digits(t);
	if (!digits || digits > 18 || (is_zero && digits > 1))
		return false;
	if (copy_char(t, '.')) {
		is_real = true;
		if (!copy_digits(t))
			return false;
	}
	if (peek(t) == 'e' || peek(t) == 'E') {
		is_real = true;
		t->at++;
		json_put_literal(t->out, "e");
		if (!copy_char(t, '-'))
			copy_char(t, '+');
		if (!copy_digits(t))
			return false;
	}
	if (!is_real)
		return true;
	if (t->out->failed || t->at - from >= sizeof(number))
		return t->out->failed;
	memcpy(number, t->out->text + start, t->at - from);
	number[t->at - from] = 0;
	return isfinite(strtod(number, NULL));
}

static bool copy_word(struct text *t)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(words[i]);

		if (t->bytes.size - t->at < length ||
		    memcmp((const char *)t->bytes.data + t->at, words[i], length) != 0)
			continue;
		json_put(t->out, words[i], length);
		t->at += length;
		return true;
	}
	return false;
}

static bool copy_value(struct text *t);

static bool copy_array(struct text *t)
{
	copy_char(t, '[');
	if (skip_blanks(t) == ']')
		return copy_char(t, ']');
	do {
		if (!copy_value(t))
			return false;
		skip_blanks(t);
	} while (copy_char(t, ','));
	return copy_char(t, ']');
}

static bool copy_object(struct text *t)
{
	copy_char(t, '{');
	if (skip_blanks(t) == '}')
		return copy_char(t, '}');
	do {
		skip_blanks(t);
		if (!copy_string(t))
			return false;
		skip_blanks(t);
		if (!copy_char(t, ':') || !copy_value(t))
			return false;
		skip_blanks(t);
	} while (copy_char(t, ','));
	return copy_char(t, '}');
}

static bool copy_value(struct text *t)
{
	int c = skip_blanks(t);
	bool is_good;

	if (c == '"')
		return copy_string(t);
	if (c == '-' || (c >= '0' && c <= '9'))
		return copy_number(t);
	if (c != '{' && c != '[')
		return copy_word(t);
	if (++t->depth > DEPTH_MAX)
		return false;
	is_good = c == '{' ? copy_object(t) : copy_array(t);
	t->depth--;
	return is_good;
}

bool json_put_text(struct json_buffer *buffer, struct bytes json)
{
	struct text t = {.bytes = json, .out = buffer};
	size_t start = buffer->length;

	if (copy_value(&t) && skip_blanks(&t) < 0)
		return true;
	buffer->length = start;
	return false;
}

int json_write_text(struct json_buffer *buffer, struct bytes json)
{
	size_t start = buffer->length;
	bool is_json = json_put_text(buffer, json);
	int r = json_done(buffer, start);

	return r || is_json ? r : -EINVAL;
}

static struct bytes string_bytes(const json_t *string)
{
	return (struct bytes){json_string_value(string), json_string_length(string)};
}

static void put_value(struct json_buffer *out, const json_t *value)
{
	const char *key;
	json_t *member;
	char real[NUMBER_MAX];
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		json_put_literal(out, "{");
		i = 0;
		json_object_foreach ((json_t *)value, key, member) {
			if (i++)
				json_put_literal(out, ",");
			json_put_string(out, (struct bytes){key, strlen(key)});
			json_put_literal(out, ":");
			put_value(out, member);
		}
		json_put_literal(out, "}");
		break;
	case JSON_ARRAY:
		json_put_literal(out, "[");
		json_array_foreach (value, i, member) {
			if (i)
				json_put_literal(out, ",");
			put_value(out, member);
		}
		json_put_literal(out, "]");
		break;
	case JSON_STRING:
		json_put_string(out, string_bytes(value));
		break;
	case JSON_INTEGER:
		json_put_i64(out, json_integer_value(value));
		break;
	case JSON_REAL:
		i = json_dumpb(value, real, sizeof(real), JSON_ENCODE_ANY);
		json_put(out, real, i < sizeof(real) ? i : 0);
		break;
	case JSON_TRUE:
		json_put_literal(out, "true");
		break;
	case JSON_FALSE:
		json_put_literal(out, "false");
		break;
	case JSON_NULL:
		json_put_literal(out, "null");
	}
}

int json_write_value(struct json_buffer *buffer, const json_t *value)
{
	size_t start = buffer->length;

	put_value(buffer, value);
	return json_done(buffer, start);
}
