/*
 * Entropy, checksums, and what people write where a secret should stand. Words count only as whole
 * words: a password may hold any of them.
 */
#include "candidate.h"
#include "checksum.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

double candidate_entropy(struct bytes text)
{
	const uint8_t *bytes = text.data;
	unsigned int counts[256] = {0};
	double entropy = 0;

	for (size_t i = 0; i < text.size; i++)
		counts[bytes[i]]++;
	for (size_t i = 0; i < 256; i++) {
		if (counts[i]) {
			double share = (double)counts[i] / (double)text.size;

			entropy -= share * log2(share);
		}
	}
	return entropy;
}

/* ---- examples and placeholders ---- */

static bool begins(struct bytes text, const char *with)
{
	size_t size = strlen(with);

	return text.size >= size && !strncasecmp(text.data, with, size);
}

static bool contains(struct bytes text, const char *what)
{
	return memmem(text.data, text.size, what, strlen(what));
}

static bool holds_example(const struct detector *d, struct bytes text)
{
	for (size_t i = 0; i < DETECTOR_EXAMPLES && d->examples[i]; i++) {
		if (contains(text, d->examples[i]))
			return true;
	}
	return false;
}

/*
 * Of documentation: what is written there of any format, and the well-known ones of each: what one
 * detector knows is no secret for another. What a policy allows holds for its rule alone.
 */
static bool is_known_example(const struct detector *d, struct bytes text)
{
	static const char *const examples[] = {
		"EXAMPLE",
		"XXXXXXXX",
		"xxxxxxxx",
		"00000000000",
		"1234567890abcdef1234567890abcdef",
		"abcdefghijklmnopqrstuvwxyz",
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		if (contains(text, examples[i]))
			return true;
	}
	for (size_t i = 0; i < detector_count; i++) {
		if (holds_example(&detectors[i], text))
			return true;
	}
	return holds_example(d, text) || begins(text, "[REDACTED");
}

/* A variable, a template, a format: $NAME ${NAME} $(...) {{...}} <...> %s %NAME% `...` */
static bool is_filled_in_later(struct bytes text)
{
	const char *t = text.data;
	char last = t[text.size - 1];

	if (t[0] == '$' && text.size > 1 && (t[1] == '{' || t[1] == '('))
		return true;
	if ((t[0] == '<' && last == '>') || (t[0] == '{' && last == '}') ||
	    (t[0] == '%' && (last == '%' || text.size <= 3 || t[1] == '(')) || t[0] == '`')
		return true;
	if (t[0] != '$')
		return false;
	for (size_t i = 1; i < text.size; i++) {
		/* $object->member ends with its hyphen here. */
		if (!isalnum((unsigned char)t[i]) && t[i] != '_' &&
		    (t[i] != '-' || i + 1 < text.size))
			return false;
	}
	return !isdigit((unsigned char)t[1]);
}

static bool is_monotonous(struct bytes text)
{
	const uint8_t *bytes = text.data;
	bool seen[256] = {false};
	size_t distinct = 0;

	for (size_t i = 0; i < text.size; i++) {
		distinct += !seen[bytes[i]];
		seen[bytes[i]] = true;
	}
	return distinct <= 2;
}

/* One of these among the words of a text makes it a placeholder. */
static bool is_placeholder_word(struct bytes word)
{
	static const char *const words[] = {
		"your",	   "yours",  "changeme", "placeholder", "example", "examples", "redacted",
		"dummy",   "insert", "replace",	 "undefined",	"null",	   "none",     "process",
		"environ", "getenv", "required", "optional",	"masked",  "hidden"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (word.size == strlen(words[i]) && !strncasecmp(word.data, words[i], word.size))
			return true;
	}
	return false;
}

/* The next run of letters of @text from *cursor on; a capital behind a small one begins another. */
static bool next_word(struct bytes text, size_t *cursor, struct bytes *ret_word)
{
	const unsigned char *t = text.data;
	size_t start;

	while (*cursor < text.size && !isalpha(t[*cursor]))
		(*cursor)++;
	start = *cursor;
	while (*cursor < text.size && isalpha(t[*cursor]) &&
	       (*cursor == start || !isupper(t[*cursor]) || !islower(t[*cursor - 1])))
		(*cursor)++;
	*ret_word = (struct bytes){t + start, *cursor - start};
	return *cursor > start;
}

/* What a synopsis says of an argument. */
static bool is_type(struct bytes text)
{
	static const char *const types[] = {"string",	"pass",	  "token",  "value", "text",
					    "file",	"path",	  "TOKEN",  "VALUE", "PASSWORD",
					    "password", "secret", "SECRET", "stdin", "strings"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (text.size == strlen(types[i]) && !memcmp(text.data, types[i], text.size))
			return true;
	}
	return false;
}

bool candidate_is_source(struct bytes text)
{
	return contains(text, "=env:") || contains(text, "=file:") || contains(text, "=fd:") ||
	       begins(text, "id=");
}

static bool is_placeholder(struct bytes text)
{
	struct bytes word;
	size_t cursor = 0;

	if (candidate_is_source(text) || is_type(text) || is_filled_in_later(text) ||
	    is_monotonous(text))
		return true;
	while (next_word(text, &cursor, &word)) {
		bool is_whole = (word.data == text.data ||
				 !isdigit(((const unsigned char *)word.data)[-1])) &&
				(cursor == text.size ||
				 !isdigit(((const unsigned char *)text.data)[cursor]));

		if (is_whole && is_placeholder_word(word))
			return true;
	}
	return false;
}

/* ---- names and texts ---- */

static bool is_place(struct bytes text)
{
	static const char *const heads[] = {
		"/",	"./",	  "../",     "~/",	"http://", "https://", "file:",
		"env:", "sha1:",  "sha256:", "sha512:", "sha1-",   "sha256-",  "sha512-",
		"md5:", "vault:", "arn:",    "data:",	"@"};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		if (begins(text, heads[i]))
			return true;
	}
	return contains(text, "::") || contains(text, "->") || contains(text, "://");
}

/* Could be spoken: vowels are where they have to be. */
static bool is_spoken(struct bytes word)
{
	const char *w = word.data;
	size_t vowels = 0, run = 0, longest = 0;

	if (begins(word, "passphrase"))
		return true;

	for (size_t i = 0; i < word.size; i++) {
		if (strchr("aeiouyAEIOUY", w[i])) {
			vowels++;
			run = 0;
		} else if (++run > longest) {
			longest = run;
		}
	}
	return longest <= 4 &&
	       (word.size <= 3 || (vowels * 6 >= word.size && vowels * 10 <= word.size * 8));
}

/*
 * Words, and what parts them; *ret_digits says how many digits are among it. Where only capitals
 * part them, they have to be better ones: chance makes short words too.
 */
static bool is_words(struct bytes text, size_t *ret_digits)
{
	const unsigned char *t = text.data;
	struct bytes word;
	size_t cursor = 0, words = 0, letters = 0, shortest = SIZE_MAX;
	bool is_all_spoken = true, is_parted = false;

	*ret_digits = 0;
	for (size_t i = 0; i < text.size; i++) {
		*ret_digits += isdigit(t[i]) != 0;
		if (!isalnum(t[i]) && !strchr("_-. ,:/*[]()", t[i]))
			return false;
		is_parted |= !isalnum(t[i]);
	}
	while (next_word(text, &cursor, &word)) {
		words++;
		if (word.size < shortest)
			shortest = word.size;
		letters += word.size;
		is_all_spoken &= is_spoken(word);
	}
	if (is_parted || words <= 1)
		return words == 0 || (is_all_spoken && letters >= 3 * words);
	return is_all_spoken && shortest >= 3 && letters * 2 >= 9 * words;
}

/* Numbers, dates, versions, addresses, identities: digits and what parts them; UUIDs. */
static bool is_number(struct bytes text)
{
	const char *t = text.data;
	size_t digits = 0;

	for (size_t i = 0; i < text.size; i++) {
		if (!strchr("0123456789.:-_+/TZ ,", t[i]))
			return false;
		digits += isdigit((unsigned char)t[i]) != 0;
	}
	return digits > 0;
}

static bool is_password(struct bytes text)
{
	size_t digits;

	if (is_place(text) || is_placeholder(text))
		return false;
	return !is_words(text, &digits) || digits > 0;
}

static bool is_generic(struct bytes text)
{
	size_t digits;

	if (is_place(text) || is_placeholder(text) || is_number(text))
		return false;
	return !is_words(text, &digits) || digits > 3;
}

static bool is_mixed(struct bytes text)
{
	const unsigned char *t = text.data;
	size_t upper = 0, lower = 0, digits = 0;

	for (size_t i = 0; i < text.size; i++) {
		upper += isupper(t[i]) != 0;
		lower += islower(t[i]) != 0;
		digits += isdigit(t[i]) != 0;
	}
	return upper && lower && digits && is_generic(text);
}

/* ---- user and password ---- */

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* base64 of printable text with a colon in it, neither at the beginning nor at the end. */
static bool is_basic(struct bytes text)
{
	const char *t = text.data;
	uint32_t bits = 0;
	size_t have = 0, size = 0, colon = 0;

	for (size_t i = 0; i < text.size && t[i] != '='; i++) {
		int digit = base64_digit(t[i]);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;

		uint8_t c = (uint8_t)(bits >> have);
		if (c < 0x20 || c == 0x7f)
			return false;
		if (c == ':' && !colon)
			colon = size;
		size++;
	}
	return colon > 0 && colon + 1 < size;
}

bool candidate_is_secret(const struct detector *d, struct bytes text)
{
	double floor = d->floor / 10.0;

	if (!text.size || is_known_example(d, text))
		return false;
	if (d->check == CHECK_CRC32 && checksum_crc32(text))
		return true;
	if (d->floor && candidate_entropy(text) < floor)
		return false;
	switch (d->check) {
	case CHECK_BECH32:
		return checksum_bech32(text);
	case CHECK_LUHN:
		return checksum_luhn(text);
	case CHECK_BASIC:
		return is_basic(text);
	case CHECK_VALUE:
		return !is_placeholder(text);
	case CHECK_PASSWORD:
		return is_password(text);
	case CHECK_GENERIC:
		return is_generic(text);
	case CHECK_MIXED:
		return is_mixed(text);
	default:
		return true;
	}
}
