/*
 * Takes out of a text what is different in every run.
 */
#include "facts.h"

#include <ctype.h>
#include <string.h>

/* The length of the row of hex digits at @at; whether it has both digits and letters. */
static size_t hex_row(const char *at, const char *end, bool *ret_is_mixed)
{
	bool digit = false, letter = false;
	size_t length = 0;

	for (; at + length < end && isxdigit((unsigned char)at[length]); length++) {
		digit |= at[length] <= '9';
		letter |= at[length] > '9';
	}
	*ret_is_mixed = digit && letter;
	return length;
}

static size_t digit_row(const char *at, const char *end)
{
	size_t length = 0;

	while (at + length < end && at[length] >= '0' && at[length] <= '9')
		length++;
	return length;
}

/* The length of what is to be left out at @at, and the sign for it. */
static size_t made_up(const char *from, const char *at, const char *end, char *ret_sign)
{
	static const char *const places[] = {"/tmp/", "/var/tmp/"};
	bool mixed, begins = at == from || !isalnum((unsigned char)at[-1]);
	size_t length;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		size_t size = strlen(places[i]);

		if ((size_t)(at - from) != size || memcmp(from, places[i], size) != 0)
			continue;
		*ret_sign = '*';
		for (length = 0; at + length < end && at[length] != '/';)
			length++;
		return length;
	}
	*ret_sign = '#';
	length = hex_row(at, end, &mixed);
	if (begins && mixed && length >= 8)
		return length;
	length = digit_row(at, end);
	return length >= 3 ? length : 0;
}

size_t normalise(struct bytes text, char *ret_text, size_t room)
{
	const char *from = text.data, *at = from, *end = from + text.size;
	size_t size = 0;

	while (at < end && size < room) {
		char sign;
		size_t length = made_up(from, at, end, &sign);

		ret_text[size++] = length ? sign : *at;
		at += length ? length : 1;
	}
	return size;
}
