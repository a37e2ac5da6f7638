/*
 * All that is recorded is read here byte by byte, so sixteen bytes are taken at once where the
 * processor can move bytes about within them.
 */
#include "letters.h"

#include <string.h>

static bool is_between(unsigned int c)
{
	return c <= ' ' || c == 0x7f || strchr(".\"'\\", (int)c);
}

void letters_init(struct letters *l)
{
	memset(l, 0, sizeof(*l));
	for (unsigned int c = 0; c < 256; c++) {
		bool is_upper = c >= 'A' && c <= 'Z';

		l->of[c] = (uint8_t)(is_between(c) ? 0 : is_upper ? c + 'a' - 'A' : c);
	}
	for (unsigned int gone = 0; gone < 256; gone++) {
		for (uint8_t i = 0; i < 8; i++) {
			if (!(gone & 1u << i))
				l->packed[gone][l->packed_size[gone]++] = i;
		}
	}
}

static size_t take_bytes(const struct letters *l, const uint8_t *bytes, size_t size, uint8_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++) {
		uint8_t letter = l->of[bytes[i]];

		out[count] = letter;
		count += letter != 0;
	}
	return count;
}

#ifdef __x86_64__
#include <tmmintrin.h>

/* Which of the sixteen bytes are not above @most; which are @c. */
#define AT_MOST(bytes, most) _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(most)), bytes)
#define IS(bytes, c) _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))

__attribute__((target("ssse3"))) static uint8_t *put_eight(const struct letters *l, __m128i bytes,
							   unsigned int gone, uint8_t *out)
{
	__m128i order = _mm_loadl_epi64((const __m128i *)l->packed[gone]);

	_mm_storel_epi64((__m128i *)out, _mm_shuffle_epi8(bytes, order));
	return out + l->packed_size[gone];
}

__attribute__((target("ssse3"))) static size_t
take_sixteens(const struct letters *l, const uint8_t *bytes, size_t size, uint8_t *out)
{
	uint8_t *start = out;

	for (size_t at = 0; at + 16 <= size; at += 16) {
		__m128i some = _mm_loadu_si128((const __m128i *)(bytes + at));
		__m128i dots = _mm_or_si128(IS(some, '.'), IS(some, '\\'));
		__m128i quotes = _mm_or_si128(IS(some, '"'), IS(some, '\''));
		__m128i controls = _mm_or_si128(AT_MOST(some, ' '), IS(some, 0x7f));
		__m128i between = _mm_or_si128(_mm_or_si128(dots, quotes), controls);
		__m128i upper = AT_MOST(_mm_sub_epi8(some, _mm_set1_epi8('A')), 25);
		unsigned int gone = (unsigned int)_mm_movemask_epi8(between);

		some = _mm_or_si128(some, _mm_and_si128(upper, _mm_set1_epi8(0x20)));
		out = put_eight(l, some, gone & 0xff, out);
		out = put_eight(l, _mm_srli_si128(some, 8), gone >> 8, out);
	}
	return (size_t)(out - start);
}
#endif

size_t letters_take(const struct letters *l, struct bytes text, uint8_t *out)
{
	const uint8_t *bytes = text.data;
	size_t done = 0, count = 0;

#ifdef __x86_64__
	if (__builtin_cpu_supports("ssse3")) {
		done = text.size / 16 * 16;
		count = take_sixteens(l, bytes, done, out);
	}
#endif
	return count + take_bytes(l, bytes + done, text.size - done, out + count);
}

size_t letters_place(const struct letters *l, struct bytes text, size_t letter, size_t *at_letter,
		     size_t *at)
{
	const uint8_t *bytes = text.data;

	for (;; ++*at) {
		if (!l->of[bytes[*at]])
			continue;
		if (*at_letter == letter)
			return *at;
		++*at_letter;
	}
}
