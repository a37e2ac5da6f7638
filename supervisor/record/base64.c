/*
 * Base64, both ways.
 */
#include "base64.h"

#include <errno.h>
#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t size, char *ret_text)
{
	const uint8_t *at = data;

	for (; size >= 3; size -= 3, at += 3) {
		*ret_text++ = digits[at[0] >> 2];
		*ret_text++ = digits[(at[0] & 3) << 4 | at[1] >> 4];
		*ret_text++ = digits[(at[1] & 15) << 2 | at[2] >> 6];
		*ret_text++ = digits[at[2] & 63];
	}
	if (!size)
		return;
	*ret_text++ = digits[at[0] >> 2];
	*ret_text++ = digits[(at[0] & 3) << 4 | (size > 1 ? at[1] >> 4 : 0)];
	*ret_text++ = size > 1 ? digits[(at[1] & 15) << 2] : '=';
	*ret_text++ = '=';
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

ssize_t base64_decode(const char *text, size_t length, void *ret_data)
{
	uint8_t *out = ret_data;
	size_t padding = 0;

	if (length % 4)
		return -EINVAL;
	if (length && text[length - 1] == '=')
		padding = text[length - 2] == '=' ? 2 : 1;

	for (size_t i = 0; i < length; i += 4) {
		size_t pad = i + 4 == length ? padding : 0;
		uint32_t group = 0;

		for (size_t j = 0; j < 4; j++) {
			int d = j >= 4 - pad ? 0 : digit(text[i + j]);

			if (d < 0)
				return -EINVAL;
			group = group << 6 | (uint32_t)d;
		}
		if (pad && group & ((1u << 8 * pad) - 1))
			return -EINVAL; /* bits that no byte holds */
		*out++ = group >> 16;
		if (pad < 2)
			*out++ = group >> 8;
		if (pad < 1)
			*out++ = group;
	}
	return out - (uint8_t *)ret_data;
}
