/* None of these says that a text is a secret, only that it is whole. */
#include "checksum.h"

#include <ctype.h>
#include <string.h>
#include <zlib.h>

#define SUM_DIGITS 6

bool checksum_crc32(struct bytes text)
{
	static const char alphabet[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	unsigned long want, have = 0;
	const char *sum;

	if (text.size <= SUM_DIGITS)
		return false;
	sum = (const char *)text.data + text.size - SUM_DIGITS;
	want = crc32(0, text.data, (unsigned int)text.size - SUM_DIGITS);
	for (size_t i = 0; i < SUM_DIGITS; i++) {
		const char *at = sum[i] ? strchr(alphabet, sum[i]) : NULL;

		if (!at)
			return false;
		have = have * 62 + (unsigned long)(at - alphabet);
	}
	return have == want;
}

static uint32_t bech32_step(uint32_t sum, uint32_t value)
{
	static const uint32_t generators[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
					      0x2a1462b3};
	uint32_t top = sum >> 25;

	sum = (sum & 0x1ffffff) << 5 ^ value;
	for (size_t i = 0; i < 5; i++)
		sum ^= top >> i & 1 ? generators[i] : 0;
	return sum;
}

bool checksum_bech32(struct bytes text)
{
	static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
	const unsigned char *t = text.data;
	const unsigned char *one = text.size ? memrchr(t, '1', text.size) : NULL;
	size_t prefix = one ? (size_t)(one - t) : 0;
	uint32_t sum = 1;

	if (!prefix || text.size - prefix <= SUM_DIGITS)
		return false;
	for (size_t i = 0; i < prefix; i++)
		sum = bech32_step(sum, (uint32_t)tolower(t[i]) >> 5);
	sum = bech32_step(sum, 0);
	for (size_t i = 0; i < prefix; i++)
		sum = bech32_step(sum, (uint32_t)tolower(t[i]) & 31);
	for (size_t i = prefix + 1; i < text.size; i++) {
		const char *at = t[i] ? strchr(alphabet, tolower(t[i])) : NULL;

		if (!at)
			return false;
		sum = bech32_step(sum, (uint32_t)(at - alphabet));
	}
	return sum == 1;
}

bool checksum_luhn(struct bytes text)
{
	const unsigned char *t = text.data;
	unsigned int sum = 0, digits = 0;

	for (size_t i = text.size; i--;) {
		unsigned int digit = (unsigned int)t[i] - '0';

		if (t[i] == ' ' || t[i] == '-')
			continue;
		if (digit > 9)
			return false;
		if (digits++ % 2)
			digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
		sum += digit;
	}
	return digits >= 12 && sum % 10 == 0;
}
